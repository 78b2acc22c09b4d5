// Registers the operators of this plugin.
#include "encoders.hpp"
#include "ngrams.hpp"
#include "scores.hpp"
#include "svm.hpp"
#include "tree_ensemble.hpp"
#include "tree_ensemble_classifier.hpp"

TENON_OPERATOR(classify_scores, ClassifyScores)
TENON_OPERATOR(label_encoder, LabelEncoder)
TENON_OPERATOR(normalizer, Normalizer)
TENON_OPERATOR(svm_classifier, SvmClassifier)
TENON_OPERATOR(svm_regressor, SvmRegressor)
TENON_OPERATOR(tfidf_vectorizer, TfidfVectorizer)
TENON_OPERATOR(transform_scores, TransformScores)
TENON_OPERATOR(tree_ensemble, TreeEnsemble)
TENON_OPERATOR(tree_ensemble_classifier, TreeEnsembleClassifier)
