"""Compares models of scikit-learn, xgboost and lightgbm: Tenon and onnxruntime must agree.

    python tests/onnx/comparisons/traditional_models.py TENON [--keep FOLDER] [NAME]...

TENON is the program. It also exports each model again, and onnxruntime must compute the same with
the exported model. Needs onnxruntime, scikit-learn, xgboost, lightgbm, skl2onnx and onnxmltools,
which convert the models. Labels must be equal, and other numbers within 1e-5 of the largest. Exits
with 1 if a model differs, or is rejected although it has no free text.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import lightgbm
import numpy as np
import onnxruntime
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as Columns
from program_outputs import found
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

LIMIT = 1e-5
FREE_TEXT = {"tfidf"}  # models that split texts into words, which Tenon rejects
SPECIES = ["setosa", "versicolor", "virginica"]
GRADES = ["bad", "good"]

rng = np.random.default_rng(0)


def data(name):
    """Features in float32, and labels or targets."""
    if name == "whole":  # small integers as features
        x = rng.integers(0, 5, (300, 4))
        return x, (x.sum(1) > 8).astype(np.int64)
    x, y = getattr(datasets, "load_" + name)(return_X_y=True)
    return x.astype(np.float32), y


def sklearn_model(model, name, options=None, dtype=np.float32, labels=None):
    x, y = data(name)
    if labels is not None:
        y = np.array(labels)[y]
    model.fit(x, y)
    if name == "whole":
        kinds = [("X", Int64TensorType([None, x.shape[1]]))]
        return to_onnx(model, initial_types=kinds, options=options), {"X": x[:40]}
    x = x.astype(dtype)
    if options is None and hasattr(model, "predict_proba"):
        options = {"zipmap": False}
    return to_onnx(model, x[:1], options=options), {"X": x[:40]}


def missing_values(model):
    x, y = data("wine")
    x[rng.random(x.shape) < 0.1] = np.nan
    model.fit(x, y)
    return to_onnx(model, x[:1], options={"zipmap": False}), {"X": x[:60]}


def xgb(model, name):
    x, y = data(name)
    if name == "breast_cancer":
        x[rng.random(x.shape) < 0.05] = np.nan
    model.fit(x, y)
    made = convert_xgboost(model, initial_types=[("X", Columns([None, x.shape[1]]))])
    return made, {"X": x[:60]}


def lgbm(model, name):
    x, y = data(name)
    if name == "breast_cancer":
        x[rng.random(x.shape) < 0.05] = np.nan
    model.fit(x, y)
    kinds = [("X", Columns([None, x.shape[1]]))]
    return convert_lightgbm(model, initial_types=kinds, zipmap=False), {"X": x[:60]}


def table(has_text):
    """Columns of several types, each an input."""
    count = 200
    columns = {
        "size": rng.normal(size=(count, 1)).astype(np.float32),
        "weight": rng.normal(size=(count, 1)).astype(np.float32),
        "color": rng.choice(["red", "green", "blue"], (count, 1)),
    }
    columns["size"][::7] = np.nan
    kinds = [("size", FloatTensorType([None, 1])), ("weight", FloatTensorType([None, 1]))]
    numeric = make_pipeline(SimpleImputer(), StandardScaler())
    steps = [("numbers", numeric, [0, 1])]
    if has_text:
        kinds.append(("color", StringTensorType([None, 1])))
        steps.append(("color", OneHotEncoder(handle_unknown="ignore"), [2]))
    names = [name for name, _ in kinds]
    x = np.concatenate([columns[name].astype(object) for name in names], 1)
    y = (columns["weight"][:, 0] > 0).astype(np.int64)
    model = make_pipeline(ColumnTransformer(steps), RandomForestClassifier(10, random_state=0))
    model.fit(x, y)
    made = to_onnx(model, initial_types=kinds, options={"zipmap": False})
    tested = {name: columns[name][:40] for name in names}
    if has_text:
        tested["color"][3] = "purple"  # which the encoder ignores
    return made, tested


def text_columns(encoder, labels=None):
    """Several columns of text, each an input, and texts as labels."""
    count = 200
    columns = {
        "color": rng.choice(["red", "green", "blue"], (count, 1)),
        "size": rng.choice(["S", "M", "L", "red"], (count, 1)),
    }
    x = np.concatenate(list(columns.values()), 1).astype(object)
    y = (x[:, 0] == "red").astype(np.int64)
    if labels is not None:
        y = np.array(labels)[y]
    model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=3)).fit(x, y)
    kinds = [(name, StringTensorType([None, 1])) for name in columns]
    made = to_onnx(model, initial_types=kinds, options={"zipmap": False})
    return made, {name: column[:40] for name, column in columns.items()}


def text_matrix(encoder):
    """A matrix of text as the only input."""
    x = rng.choice(["red", "green", "blue", "ü"], (200, 3)).astype(object)
    model = encoder.fit(x)
    made = to_onnx(model, initial_types=[("X", StringTensorType([None, 3]))])
    return made, {"X": x[:40].astype(str)}


def tfidf():
    words = np.array(["good", "bad", "tree", "leaf", "root"])
    texts = [" ".join(rng.choice(words, 6)) for _ in range(80)]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model.fit(texts, ["good" in text for text in texts])
    kinds = [("text", StringTensorType([None, 1]))]
    made = to_onnx(model, initial_types=kinds, options={"zipmap": False})
    return made, {"text": np.array(texts[:10]).reshape(-1, 1)}


def isolation_forest():
    x, _ = data("wine")
    model = IsolationForest(n_estimators=50, random_state=0).fit(x)
    made = to_onnx(model, x[:1], target_opset={"": 15, "ai.onnx.ml": 3})
    return made, {"X": x[:40]}


def one_class():
    x, _ = data("iris")
    return to_onnx(OneClassSVM(gamma=0.1).fit(x), x[:1]), {"X": x[:40]}


def counts():
    x = rng.integers(0, 9, (300, 6)).astype(np.float32)
    model = MultinomialNB().fit(x, rng.integers(0, 3, 300))
    return to_onnx(model, x[:1], options={"zipmap": False}), {"X": x[:40]}


def transformer(model, name):
    x, y = data(name)
    model.fit(x, y)
    return to_onnx(model, x[:1]), {"X": x[:40]}


def scaled(*steps):
    return make_pipeline(StandardScaler(), *steps)


def logistic(**parameters):
    return LogisticRegression(max_iter=500, **parameters)


def forest(kind, count=20, **parameters):
    return kind(n_estimators=count, random_state=0, **parameters)


def bins():
    return KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf")


VOTERS = [("tree", DecisionTreeClassifier(max_depth=3)), ("line", logistic())]

MODELS = {
    "ada": lambda: sklearn_model(forest(AdaBoostClassifier), "breast_cancer"),
    "bagging": lambda: sklearn_model(
        BaggingClassifier(DecisionTreeClassifier(max_depth=4), 5, random_state=0), "wine"
    ),
    "binarizer": lambda: sklearn_model(make_pipeline(Binarizer(threshold=2.0), logistic()), "iris"),
    "dt_cls": lambda: sklearn_model(DecisionTreeClassifier(max_depth=4), "breast_cancer"),
    "extra_trees_multi": lambda: sklearn_model(forest(ExtraTreesClassifier, 50), "digits"),
    "gb_cls": lambda: sklearn_model(forest(GradientBoostingClassifier), "breast_cancer"),
    "gnb": lambda: sklearn_model(GaussianNB(), "iris"),
    "gpr": lambda: transformer(GaussianProcessRegressor(), "iris"),
    "imputer": lambda: missing_values(make_pipeline(SimpleImputer(), scaled(logistic()))),
    "isoforest": isolation_forest,
    "kbins": lambda: sklearn_model(make_pipeline(bins(), logistic()), "iris"),
    "kmeans": lambda: transformer(KMeans(n_clusters=4, n_init=1, random_state=0), "iris"),
    "knn": lambda: sklearn_model(KNeighborsClassifier(), "iris"),
    "knn_reg": lambda: transformer(KNeighborsRegressor(), "diabetes"),
    "lasso_minmax": lambda: transformer(
        make_pipeline(MinMaxScaler(), Lasso(alpha=0.1)), "diabetes"
    ),
    "lgbm_cls": lambda: lgbm(lightgbm.LGBMClassifier(n_estimators=30, verbose=-1), "breast_cancer"),
    "lgbm_multi": lambda: lgbm(lightgbm.LGBMClassifier(n_estimators=20, verbose=-1), "wine"),
    "lgbm_reg": lambda: lgbm(lightgbm.LGBMRegressor(n_estimators=30, verbose=-1), "diabetes"),
    "linreg": lambda: transformer(LinearRegression(), "diabetes"),
    "linreg_f64": lambda: sklearn_model(LinearRegression(), "diabetes", dtype=np.float64),
    "logreg": lambda: sklearn_model(scaled(logistic()), "breast_cancer"),
    "logreg_multi": lambda: sklearn_model(logistic(), "iris"),
    "logreg_strlabel": lambda: sklearn_model(logistic(), "iris", labels=SPECIES),
    "logreg_binary_strlabel": lambda: sklearn_model(
        scaled(logistic()), "breast_cancer", labels=GRADES
    ),
    "logreg_zipmap_strlabel": lambda: sklearn_model(logistic(), "iris", options={}, labels=SPECIES),
    "svc_strlabel": lambda: sklearn_model(scaled(SVC()), "wine", labels=SPECIES),
    "svc_binary_strlabel": lambda: sklearn_model(scaled(SVC()), "breast_cancer", labels=GRADES),
    "svc_proba_strlabel": lambda: sklearn_model(
        scaled(SVC(probability=True, random_state=0)), "breast_cancer", labels=GRADES
    ),
    "rf_strlabel": lambda: sklearn_model(
        forest(RandomForestClassifier, 20), "iris", labels=SPECIES
    ),
    "rf_binary_strlabel": lambda: sklearn_model(
        forest(RandomForestClassifier, 20), "breast_cancer", labels=GRADES
    ),
    "gb_strlabel": lambda: sklearn_model(
        forest(GradientBoostingClassifier), "breast_cancer", labels=GRADES
    ),
    "ada_strlabel": lambda: sklearn_model(forest(AdaBoostClassifier), "iris", labels=SPECIES),
    "knn_strlabel": lambda: sklearn_model(KNeighborsClassifier(), "iris", labels=SPECIES),
    "gnb_strlabel": lambda: sklearn_model(GaussianNB(), "iris", labels=SPECIES),
    "mlp_strlabel": lambda: sklearn_model(
        scaled(MLPClassifier(hidden_layer_sizes=(16,), max_iter=50)), "iris", labels=SPECIES
    ),
    "voting_strlabel": lambda: sklearn_model(
        VotingClassifier(VOTERS, voting="soft", flatten_transform=False), "wine", labels=SPECIES
    ),
    "text_onehot": lambda: text_columns(OneHotEncoder(handle_unknown="ignore")),
    "text_onehot_strlabel": lambda: text_columns(
        OneHotEncoder(handle_unknown="ignore"), labels=GRADES
    ),
    "text_ordinal": lambda: text_columns(OrdinalEncoder()),
    "text_matrix_onehot": lambda: text_matrix(OneHotEncoder()),
    "text_matrix_ordinal": lambda: text_matrix(OrdinalEncoder()),
    "logreg_zipmap": lambda: sklearn_model(scaled(logistic()), "wine", options={}),
    "mlp_cls": lambda: sklearn_model(
        scaled(MLPClassifier(hidden_layer_sizes=(16,), max_iter=50)), "digits"
    ),
    "mlp_reg": lambda: transformer(
        scaled(MLPRegressor(hidden_layer_sizes=(16,), max_iter=50)), "diabetes"
    ),
    "mnb": counts,
    "normalizer": lambda: sklearn_model(make_pipeline(Normalizer(), logistic()), "iris"),
    "oneclass": one_class,
    "onehot_int": lambda: sklearn_model(
        make_pipeline(OneHotEncoder(handle_unknown="ignore"), logistic()),
        "whole",
        options={"zipmap": False},
    ),
    "ordinal": lambda: sklearn_model(OrdinalEncoder(), "whole"),
    "pca": lambda: transformer(scaled(PCA(2)), "iris"),
    "rf_cls": lambda: sklearn_model(forest(RandomForestClassifier, 30), "breast_cancer"),
    "rf_cls_f64": lambda: sklearn_model(
        forest(RandomForestClassifier, 30), "wine", dtype=np.float64
    ),
    "rf_reg": lambda: transformer(forest(RandomForestRegressor, 30), "diabetes"),
    "ridge_poly": lambda: transformer(make_pipeline(PolynomialFeatures(2), Ridge()), "diabetes"),
    "robust_quant": lambda: sklearn_model(
        make_pipeline(RobustScaler(), QuantileTransformer(n_quantiles=20), logistic()), "iris"
    ),
    "svc_rbf": lambda: sklearn_model(scaled(SVC(probability=True, random_state=0)), "wine"),
    "svd": lambda: transformer(TruncatedSVD(3), "digits"),
    "svr": lambda: transformer(scaled(SVR()), "diabetes"),
    "table": lambda: table(True),
    "table_num": lambda: table(False),
    "tfidf": tfidf,
    "voting": lambda: sklearn_model(
        VotingClassifier(VOTERS, voting="soft", flatten_transform=False), "wine"
    ),
    "xgb_cls": lambda: xgb(xgboost.XGBClassifier(n_estimators=20), "breast_cancer"),
    "xgb_multi": lambda: xgb(xgboost.XGBClassifier(n_estimators=10), "wine"),
    "xgb_reg": lambda: xgb(xgboost.XGBRegressor(n_estimators=30), "diabetes"),
}


def expected(model, inputs):
    """onnxruntime's outputs, with maps as matrices."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    outputs = session.run(None, inputs)
    return [
        np.array([list(row.values()) for row in value]) if isinstance(value, list) else value
        for value in outputs
    ]


def exported(program, path, model, inputs):
    """onnxruntime's outputs for the model that Tenon exports; None if it has operators of Tenon."""
    to = path.with_name("exported.onnx")
    command = [program, "export", str(path), "-o", str(to)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stderr.strip().splitlines()[0])
    if b"\x0a\x05tenon\x10" in to.read_bytes():  # an opset of the domain tenon
        return None
    return expected(to.read_bytes(), inputs)


def difference(wanted, got):
    """Largest difference relative to the largest number; infinite for other labels or shapes."""
    if wanted.shape != got.shape:
        return np.inf
    if wanted.dtype.kind in "iubOU":
        return 0.0 if np.array_equal(wanted, got) else np.inf
    scale = max(1.0, float(np.nanmax(np.abs(wanted), initial=0)))
    same = (wanted == got) | (np.isnan(wanted) & np.isnan(got))
    with np.errstate(invalid="ignore"):
        return float(np.max(np.where(same, 0, np.abs(wanted - got)), initial=0)) / scale


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tenon")
    parser.add_argument("--keep", type=Path, help="write models and arrays to this folder")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    failed = right = written = 0
    with tempfile.TemporaryDirectory() as made:
        for name, make in MODELS.items():
            if options.names and name not in options.names:
                continue
            folder = (options.keep or Path(made)) / name
            folder.mkdir(parents=True, exist_ok=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model, inputs = make()
            path = folder / "model.onnx"
            path.write_bytes(model.SerializeToString())
            try:
                got = found(options.tenon, path, model, inputs)
            except RuntimeError as error:
                print(f"{name:20} rejected: {error}")
                failed += name not in FREE_TEXT
                continue
            wanted = expected(path.read_bytes(), inputs)
            worst = max(map(difference, wanted, got))
            is_right = worst <= LIMIT
            again = exported(options.tenon, path, model, inputs)
            written += again is not None
            again_worst = 0.0 if again is None else max(map(difference, wanted, again))
            is_right = is_right and again_worst <= LIMIT
            right += is_right
            failed += not is_right
            how = "only Tenon runs its export" if again is None else f"exported {again_worst:.1e}"
            print(f"{name:24} {'right' if is_right else 'WRONG'} {worst:.1e} {how}")
    print(f"{right} models agree, {failed} differ or are rejected; {written} exports for others")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
