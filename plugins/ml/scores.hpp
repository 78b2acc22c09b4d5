// Scores of ONNX's traditional classifiers and regressions: transforms, and the class of the
// highest one. Follows onnxruntime where ONNX leaves the result open.
#pragma once
#include <cmath>
#include <limits>
#include <tenon/operator.hpp>

enum class ScoreTransform { none, softmax, logistic, softmax_zero, probit };

/// Called in describe(). ONNX's post_transform has the same names.
template <class Class>
constexpr auto& describe_transform(auto& op, ScoreTransform Class::*member) {
  return op
      .param("post_transform", member,
             "applied to the scores: nothing; softmax; 1 / (1 + exp(-s)); softmax of the scores "
             "that are not 0; or the quantile of the normal distribution, for s in (0, 1)")
      .one_of({{"none", ScoreTransform::none},
               {"softmax", ScoreTransform::softmax},
               {"logistic", ScoreTransform::logistic},
               {"softmax_zero", ScoreTransform::softmax_zero},
               {"probit", ScoreTransform::probit}});
}

namespace scores {

inline float logistic(float score) {
  const float positive = 1 / (1 + std::exp(-std::abs(score)));
  return score < 0 ? 1 - positive : positive;
}

/// The quantile of the normal distribution by Winitzki's approximation of the inverse error
/// function, as in onnxruntime: its error is up to 0.002.
inline float probit(float score) {
  const float x = 2 * score - 1, log = std::log((1 - x) * (1 + x));
  const float v = 2 / (3.14159265f * 0.147f) + 0.5f * log;
  const float root = std::sqrt(-v + std::sqrt(v * v - 1 / 0.147f * log));
  return 1.41421356f * (x < 0 ? -root : root);
}

/// exp(s) / sum(exp(s)); `keeps_zero`: scores of 0 stay 0 and do not count.
inline void softmax(float* scores, std::int64_t count, bool keeps_zero) {
  float largest = std::numeric_limits<float>::lowest(), sum = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = scores[i] > largest ? scores[i] : largest;
  const float of_zero = std::exp(-largest);
  for (std::int64_t i = 0; i < count; ++i) {
    if (keeps_zero && std::abs(scores[i]) <= 1e-7f) {
      scores[i] *= of_zero;
      continue;
    }
    scores[i] = std::exp(scores[i] - largest);
    sum += scores[i];
  }
  for (std::int64_t i = 0; i < count; ++i) scores[i] /= sum;
}

/// Transforms the scores of one row, of which there are at least two.
inline void transform(ScoreTransform how, float* scores, std::int64_t count) {
  switch (how) {
    case ScoreTransform::none:
      return;
    case ScoreTransform::softmax:
      return softmax(scores, count, false);
    case ScoreTransform::softmax_zero:
      return softmax(scores, count, true);
    case ScoreTransform::logistic:
      for (std::int64_t i = 0; i < count; ++i) scores[i] = logistic(scores[i]);
      return;
    case ScoreTransform::probit:
      for (std::int64_t i = 0; i < count; ++i) scores[i] = probit(scores[i]);
      return;
  }
}

/// How one score becomes those of two classes.
enum class Pair { complement, opposite };

/// Writes both scores for that of the second class. onnxruntime transforms them by `logistic` and
/// `probit` only.
inline void write_pair(ScoreTransform how, Pair pair, float score, float* to) {
  if (how == ScoreTransform::probit) {
    to[0] = probit(score), to[1] = 0;  // which onnxruntime leaves undefined
  } else if (how == ScoreTransform::logistic) {
    to[0] = logistic(-score), to[1] = logistic(score);
  } else if (pair == Pair::complement) {
    to[0] = 1 - score, to[1] = score;
  } else {
    to[0] = -score, to[1] = score;
  }
}

/// Index of the highest score, the first of equal ones.
inline std::int64_t highest(const float* scores, std::int64_t count) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < count; ++i)
    if (scores[i] > scores[best]) best = i;
  return best;
}

}  // namespace scores

/// The transform by itself, for regressions.
struct TransformScores : tenon::Operator {
  ScoreTransform post_transform = ScoreTransform::none;

  static constexpr void describe(auto& op) {
    op.doc("post_transform of a regression's scores; ONNX's post_transform");
    op.types({tenon::f32});
    op.input("scores", "[rows, targets]");
    op.output("output", "same shape as scores");
    describe_transform(op, &TransformScores::post_transform);
    op.inplace("scores", "output");
    op.example({{"scores", {2, 3}}}, {{"post_transform", "softmax"}});
  }
  void infer(tenon::Infer& io) const {
    const auto scores = io.input(0).shape;
    io.set_output(0, scores, tenon::f32);
    if (scores.has_rank())
      io.require(scores.rank() == 2, "scores is ", scores, ", but needs to be [rows, targets]");
  }
  void forward(const tenon::Call& call) const {
    const auto shape = call.output_type(0).shape;
    const auto* const from = call.input<float>(0).data();
    auto* const to = call.output<float>(0).data();
    const auto width = shape[1];
    call.parallel_for(shape[0], 1024, [=, this](std::int64_t begin, std::int64_t end) {
      if (from != to) std::copy(from + begin * width, from + end * width, to + begin * width);
      for (auto row = begin; row < end; ++row) {
        // onnxruntime transforms a single target by probit only
        if (width == 1 && post_transform != ScoreTransform::probit) return;
        scores::transform(post_transform, to + row * width, width);
      }
    });
  }
};

/// A linear classifier's classes.
struct ClassifyScores : tenon::Operator {
  ScoreTransform post_transform = ScoreTransform::none;

  static constexpr void describe(auto& op) {
    op.doc(
        "classes and class scores from raw scores, as ONNX's LinearClassifier determines them: the "
        "class of the highest score; if there is a single score, the second class if it is "
        "positive");
    op.types({tenon::f32});
    op.input("scores", "[rows, n]");
    op.input("classes", "[classes]; n, or 2 (n may be 1): label of each class").types({tenon::i64});
    op.output("label", "int64 [rows]; label of the row's class");
    op.output("class_scores",
              "[rows, n] transformed scores; [rows, 2] if n is 1 and there are 2 classes");
    describe_transform(op, &ClassifyScores::post_transform);
    op.example({{"scores", {2, 3}}, {"classes", {3}, tenon::i64, {4, 5, 6}}}, {});
    op.example({{"scores", {2, 1}}, {"classes", {2}, tenon::i64, {0, 1}}}, {});
  }
  void infer(tenon::Infer& io) const {
    const auto scores = io.input(0).shape, classes = io.input(1).shape;
    io.set_output(0, tenon::Shape(), tenon::i64);
    io.set_output(1, tenon::Shape(), tenon::f32);
    if (scores.has_rank())
      io.require(scores.rank() == 2, "scores is ", scores, ", but needs to be [rows, n]");
    if (classes.has_rank())
      io.require(classes.rank() == 1, "classes is ", classes, ", but needs to be [classes]");
    if (!scores.has_rank()) return;
    io.set_output(0, {scores[0]});
    if (scores[1] == tenon::unknown || !classes.known()) return;
    io.require(scores[1] >= 1 && (scores[1] == 1 || classes[0] == scores[1]), "scores is ", scores,
               " and classes ", classes, ": needs one score per class, or a single score");
    io.set_output(1, {scores[0], scores[1] == 1 && classes[0] == 2 ? 2 : scores[1]});
  }
  void forward(const tenon::Call& call) const {
    const auto* const from = call.input<float>(0).data();
    const auto* const classes = call.input<std::int64_t>(1).data();
    auto* const label =
        call.write(0) == tenon::Write::none ? nullptr : call.output<std::int64_t>(0).data();
    auto* const to = call.write(1) == tenon::Write::none ? nullptr : call.output<float>(1).data();
    const auto shape = call.input_type(0).shape;
    const auto n = shape[1], count = call.input_type(1).shape[0];
    const auto width = n == 1 && count == 2 ? 2 : n;
    call.parallel_for(shape[0], 1024, [=, this](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row) {
        const float* const scores = from + row * n;
        if (label && n > 1) label[row] = classes[scores::highest(scores, n)];
        if (label && n == 1) label[row] = count == 2 ? classes[*scores > 0] : *scores > 0;
        if (!to) continue;
        float* const out = to + row * width;
        if (width != n) {
          scores::write_pair(post_transform, scores::Pair::complement, *scores, out);
          continue;
        }
        std::copy(scores, scores + n, out);
        if (n > 1 || post_transform == ScoreTransform::probit)
          scores::transform(post_transform, out, n);
      }
    });
  }
};
