"""Compares exported ONNX models with Tenon's results: onnx.checker must accept each model, and
onnxruntime and onnx.reference must compute the same, also for zeros of both signs, infinities, nan
and the limits of all ranges.

    compare_exports.py FOLDER [WORDS]

FOLDER contains OPSET/NAME.onnx, and arrays in_NAME and out_NAME in NAME.npz and NAME.extreme.npz,
as written by test_onnx:

    TENON_EXPORT_TO=FOLDER build/tests/test_onnx -tc='*written for other programs*'

WORDS selects models by a part of their names. Needs the packages onnx, onnxruntime and ml_dtypes.
Models with nodes that only Tenon implements are checked but not run. KNOWN lists differences that
are not Tenon's fault, with the reasons. Exits with 1 if anything else differs.
"""

import collections
import concurrent.futures
import dataclasses
import pathlib
import sys
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

# Errors of onnxruntime and onnx.reference for valid models that they do not support.
LIMITS = (
    "NOT_IMPLEMENTED",
    "No implementation for",
    "is not currently registered or supported",
    "does not support double yet",
)
# Relative to the larger of the number and 1; for float64 limited by attributes, which are float32.
TOLERANCES = {"float64": 1e-6, "float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2}


@dataclasses.dataclass
class Known:
    """A difference that is not Tenon's fault, and its reason."""

    operator: str  # name in Tenon
    who: str
    why: str
    words: str = ""  # part of the message
    dtypes: str = ""  # any if empty
    extreme: bool = True  # only with extreme inputs
    opsets: range = range(13, 100)
    having: str = ""  # an attribute or its value

    def explains(
        self, path: pathlib.Path, model: onnx.ModelProto, who: str, extreme: bool, words: str
    ) -> bool:
        operator, _, dtype = path.stem.rsplit("_", 2)
        return (
            (operator, who) == (self.operator, self.who)
            and (extreme or not self.extreme)
            and self.words in words
            and (not self.dtypes or dtype in self.dtypes.split())
            and int(path.parent.name) in self.opsets
            and (not self.having or self.having in onnx.printer.to_text(model.graph))
        )


ORT, REFERENCE = "onnxruntime", "onnx.reference"
HALVES = "float16 bfloat16"
KNOWN = (
    Known(
        "attention", ORT, "nan for infinite scores: Tenon skips keys of weight 0", "nan instead of"
    ),
    Known(
        "attention",
        REFERENCE,
        "nan for infinite scores: Tenon skips keys of weight 0",
        "nan instead of",
    ),
    Known(
        "attention",
        REFERENCE,
        "applies softcap after the mask",
        "instead of",
        "",
        False,
        having="softcap",
    ),
    Known(
        "attention",
        ORT,
        "returns masked scores as the lowest finite number",
        "instead of -inf",
        "",
        False,
    ),
    Known(
        "avg_pool", ORT, "compares pads with kernels without dilations", "PoolAttributes", "", False
    ),
    Known(
        "avg_pool",
        REFERENCE,
        "ignores nan when counting padding",
        "instead of nan",
        having="dilations",
    ),
    Known(
        "batch_norm",
        REFERENCE,
        "updates mean and variance before opset 14",
        "",
        "",
        False,
        range(13, 14),
    ),
    Known("celu", ORT, "0 for -0", "0.0 instead of -0.0"),
    Known("celu", ORT, "divides by an alpha of 0", "", "", False, having="alpha: float = 0"),
    Known("celu", REFERENCE, "divides by an alpha of 0", "", "", False, having="alpha: float = 0"),
    Known(
        "clip",
        ORT,
        "expands Clip to Where, which opset 13 lacks for bfloat16",
        "Where",
        "bfloat16",
        False,
        range(13, 16),
    ),
    Known(
        "conv_transpose",
        REFERENCE,
        "uses the first group's data for every group",
        "instead of",
        "",
        False,
        having="group: int = 2",
    ),
    Known("convolution", ORT, "multiplies the padding by infinite weights", "nan instead of"),
    Known("convolution", REFERENCE, "multiplies the padding by infinite weights", "nan instead of"),
    Known("cumsum", ORT, "starts the sum with -0; Tenon starts with 0", "-0.0 instead of 0.0"),
    Known(
        "cumsum", REFERENCE, "starts the sum with -0; Tenon starts with 0", "-0.0 instead of 0.0"
    ),
    Known(
        "deform_conv", REFERENCE, "converts infinite offsets to integers", "cannot convert float"
    ),
    Known(
        "det",
        REFERENCE,
        "numpy has no half-precision determinants",
        "Issues with types",
        HALVES,
        False,
    ),
    Known(
        "det",
        REFERENCE,
        "numpy has no half-precision determinants",
        "float64 (2,) instead of",
        HALVES,
        False,
    ),
    Known(
        "dft",
        REFERENCE,
        "sums in another order: gives inf instead of nan or vice versa",
        "instead of nan",
    ),
    Known(
        "dft",
        REFERENCE,
        "sums in another order: the sign of a zero differs",
        "1 of 20 differ, (0, 0, 1): 0.0 instead of -0.0",
        "float16",
        False,
    ),
    Known(
        "dft",
        ORT,
        "sums in another order: gives inf instead of nan or vice versa",
        "instead of nan",
    ),
    Known("elu", ORT, "returns either 0 or -0", "0.0 instead of -0.0"),
    Known("elu", REFERENCE, "returns either 0 or -0", "0.0 instead of"),
    Known("fused_convolution", ORT, "multiplies the padding by infinite weights", "nan instead of"),
    Known(
        "fused_convolution",
        REFERENCE,
        "multiplies the padding by infinite weights",
        "nan instead of",
    ),
    Known(
        "gather_along",
        REFERENCE,
        "restricts the sizes of other axes",
        "Except for dimension",
        "",
        False,
    ),
    Known(
        "grid_sample",
        ORT,
        "supports only 4 and 5 dimensions",
        "Only 4-D or 5-D tensor is supported",
        "",
        False,
    ),
    Known("grid_sample", ORT, "samples at infinite positions", "instead of 0.0"),
    Known(
        "grid_sample",
        REFERENCE,
        "lacks the mode names before opset 20",
        "GridSample interpolation only",
        "",
        False,
        range(13, 20),
    ),
    Known(
        "grid_sample", REFERENCE, "converts infinite positions to integers", "cannot convert float"
    ),
    Known("gru", ORT, "loses nan and inf in activations", "instead of nan"),
    Known("gru", ORT, "does not support layout 1", "Batchwise recurrent operations", "", False),
    Known("gru", REFERENCE, "ignores clip", "instead of", "", False, having="clip"),
    Known("leaky_relu", REFERENCE, "returns either 0 or -0", "0.0 instead of"),
    Known("lstm", ORT, "loses nan and inf in activations", "instead of nan"),
    Known("lstm", ORT, "does not support layout 1", "Batchwise recurrent operations", "", False),
    Known("lstm", REFERENCE, "ignores clip", "instead of", "", False, having="clip"),
    Known(
        "lstm", REFERENCE, "ignores input_forget", "instead of", "", False, having="input_forget"
    ),
    Known("max_pool", ORT, "ignores nan, which Tenon treats as the largest", "instead of nan"),
    Known("max_pool", ORT, "returns either 0 or -0", "-0.0 instead of 0.0"),
    Known(
        "max_pool", REFERENCE, "ignores nan, which Tenon treats as the largest", "instead of nan"
    ),
    Known("max_unpool", ORT, "supports only pads smaller than the kernel", "unpool.h", "", False),
    Known("maximum", ORT, "returns either 0 or -0", "-0.0 instead of 0.0"),
    Known("maximum", REFERENCE, "returns either 0 or -0", "-0.0 instead of 0.0"),
    Known("min", REFERENCE, "returns either 0 or -0", "-0.0 instead of 0.0"),
    Known("minimum", ORT, "returns either 0 or -0", "-0.0 instead of 0.0"),
    Known("minimum", REFERENCE, "returns either 0 or -0", "-0.0 instead of 0.0"),
    Known("mod", ORT, "its Where gives 0 for -0", "0.0 instead of -0.0", "", False),
    Known(
        "non_max_suppression",
        REFERENCE,
        "rejects a selection of no boxes",
        "Issues with types",
        "",
        False,
    ),
    Known("one_hot", REFERENCE, "multiplies values that are not selected by 0", "nan instead of"),
    Known("one_hot", REFERENCE, "subtracts booleans", "Issues with types", "", False),
    Known(
        "pad",
        REFERENCE,
        "lacks negative widths with axes",
        "can't contain negative values",
        "",
        False,
    ),
    Known("pad", ORT, "wraps elements that negative widths cropped", "", "", False, having="wrap"),
    Known("pad", ORT, "rejects reflections that negative widths allow", "Pad reflect", "", False),
    Known(
        "pow",
        ORT,
        "integer overflow and negative exponents are undefined",
        "-9223372036854775808 instead of",
        "int64",
    ),
    Known(
        "pow",
        ORT,
        "integer overflow and negative exponents are undefined",
        "-2147483648 instead of",
        "int32",
    ),
    Known("pow", REFERENCE, "rejects negative exponents of integers", "negative integer powers"),
    Known("prelu", ORT, "its Where gives 0 for -0", "0.0 instead of -0.0"),
    Known(
        "quantize", REFERENCE, "rounds the quotient once", "instead of", "", False, range(23, 100)
    ),
    Known("relu", REFERENCE, "0 for -0", "0.0 instead of -0.0"),
    Known("resize", ORT, "truncates fractions of integers", "", "int8 uint8 int32", False),
    Known("resize", ORT, "multiplies by weights of 0", "nan", "float16 float32"),
    Known(
        "resize",
        REFERENCE,
        "replaces nan and inf by finite numbers, and multiplies by weights of 0",
        "instead of",
    ),
    Known("resize", REFERENCE, "computes weights in float32", "", "float64", False),
    Known("resize", ORT, "supports fewer modes and scales", "upsamplebase.h", "", False),
    Known(
        "resize",
        ORT,
        "ambiguous specification: all programs differ",
        "",
        "",
        False,
        having="tf_crop_and_resize",
    ),
    Known("resize", REFERENCE, "requires a roi", "roi cannot be None", "", False),
    Known(
        "resize",
        REFERENCE,
        "lacks tf_half_pixel_for_nn",
        "Invalid coordinate_transformation_mode",
        "",
        False,
    ),
    Known("rnn", ORT, "loses nan and inf in activations", "instead of nan"),
    Known("rnn", ORT, "does not support layout 1", "Batchwise recurrent operations", "", False),
    Known("rnn", REFERENCE, "ignores clip", "instead of", "", False, having="clip"),
    Known(
        "roi_align",
        REFERENCE,
        "moves regions by half a pixel",
        "instead of",
        "",
        False,
        range(13, 16),
    ),
    Known("rotary_embedding", REFERENCE, "adds to 0", "0.0 instead of -0.0"),
    Known("selu", ORT, "0 for -0", "0.0 instead of -0.0"),
    Known("selu", ORT, "returns either 0 or -0", "-0.0 instead of 0.0"),
    Known("selu", REFERENCE, "returns either 0 or -0", "0.0 instead of"),
    Known(
        "shrink",
        ORT,
        "computes in float32, which cannot represent the largest integers",
        "",
        "float64 int32 int64 uint32 uint64",
    ),
    Known(
        "shrink",
        REFERENCE,
        "computes in float64, which cannot represent the largest integers",
        "",
        "int64 uint64",
    ),
    Known("sign", ORT, "0 for nan", "0.0 instead of nan", HALVES),
    Known("sign", REFERENCE, "-0 for -0", "-0.0 instead of 0.0", "bfloat16"),
    Known(
        "softmax_cross_entropy",
        ORT,
        "expands to operators it lacks for bfloat16",
        "INVALID_GRAPH",
        "bfloat16",
        False,
    ),
    Known(
        "softplus",
        ORT,
        "computes it as ln(e^x + 1)",
        "inf instead of",
        "float16 float64",
        True,
        range(18, 19),
    ),
    Known("unique", REFERENCE, "fails for no columns", "out of bounds", "", False),
    Known("where", ORT, "0 for -0", "0.0 instead of -0.0"),
)


def arrays_of(path: pathlib.Path, model: onnx.ModelProto) -> tuple[dict, dict]:
    """Inputs and outputs by name. numpy keeps bfloat16 as two bytes."""
    with np.load(path) as stored:
        all_ = {name: stored[name] for name in stored}
    all_ = {
        name: array.view(ml_dtypes.bfloat16) if array.dtype.kind == "V" else array
        for name, array in all_.items()
    }
    expected = [info.name for info in model.graph.output]
    return {i.name: all_[f"in_{i.name}"] for i in model.graph.input}, {
        name: all_[f"out_{name}"] for name in expected
    }


def by_onnxruntime(path: pathlib.Path):
    """onnx.reference cannot return bfloat16 as numpy arrays, so the model casts such outputs to
    float32.
    """
    model = onnx.load(path)
    for output in model.graph.output:
        if output.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
            model.graph.node.add(op_type="Cast", input=[output.name], output=[f"{output.name} "])
            model.graph.node[-1].attribute.add(
                name="to", type=onnx.AttributeProto.INT, i=onnx.TensorProto.FLOAT
            )
            output.name += " "
            output.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )

    def run(names, inputs):
        values = {name: ort_value(array) for name, array in inputs.items()}
        found = [value.numpy() for value in session.run_with_ort_values(None, values)]
        halves = [output.name.endswith(" ") for output in session.get_outputs()]
        return [
            array.astype(ml_dtypes.bfloat16) if half else array
            for array, half in zip(found, halves)
        ]

    return run


def ort_value(array: np.ndarray):
    if array.dtype == ml_dtypes.bfloat16:
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
            array, onnx.TensorProto.BFLOAT16
        )
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def by_reference(path: pathlib.Path):
    return ReferenceEvaluator(str(path)).run


def difference(found, expected: np.ndarray) -> str:
    """Returns the difference; empty if equal except for rounding."""
    found = np.asarray(found)
    if expected.dtype == ml_dtypes.bfloat16 and found.dtype == np.uint16:
        found = found.view(ml_dtypes.bfloat16)
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype} {found.shape} instead of {expected.dtype} {expected.shape}"
    if expected.dtype.kind in "biu":
        same = found == expected
    else:
        tolerance = TOLERANCES.get(expected.dtype.name, 1e-4)  # also for complex numbers
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        left, right = found.astype(wide), expected.astype(wide)
        same = np.isclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)
        same &= (left != 0) | (right != 0) | (np.signbit(left.real) == np.signbit(right.real))
    if same.all():
        return ""
    places = np.argwhere(~same)[:4]
    texts = [
        f"{tuple(int(i) for i in place)}: {found[tuple(place)]} instead of {expected[tuple(place)]}"
        for place in places
    ]
    return f"{np.count_nonzero(~same)} of {same.size} differ, " + ", ".join(texts)


def only_ours(model: onnx.ModelProto) -> bool:
    functions = {(function.domain, function.name) for function in model.functions}
    nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    return any(node.domain and (node.domain, node.op_type) not in functions for node in nodes)


def compare(path: pathlib.Path) -> list[tuple[str, str]]:
    """Returns (kind, message) for each comparison; the kinds are same, ours, random, not there,
    known and WRONG.
    """
    warnings.simplefilter("ignore")
    onnxruntime.set_default_logger_severity(4)
    label = f"{path.parent.name}/{path.stem}"
    model = onnx.load(path)
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:
        if "Field 'shape' of 'type'" not in str(error):  # an output of unknown rank
            return [("WRONG", f"{label}: checker: {error}")]
    if only_ours(model):
        return [("ours", label)]
    results = []
    sets = [f"{path.parent.parent}/{path.stem}{kind}.npz" for kind in ("", ".extreme")]
    for who, start in (("onnxruntime", by_onnxruntime), ("onnx.reference", by_reference)):
        run = None
        for arrays in sets:
            if not pathlib.Path(arrays).exists():
                results.append(("no inputs", label))
                continue
            inputs, expected = arrays_of(pathlib.Path(arrays), model)
            try:
                run = run or start(path)
                found = run(list(expected), inputs)
                differences = [
                    difference(one, expected[name]) for one, name in zip(found, expected)
                ]
                words = "; ".join(filter(None, differences))
            except Exception as error:
                if any(limit in str(error) for limit in LIMITS):
                    results.append(("not there", label))
                    continue
                words = f"{type(error).__name__}: {error}"
            extreme = arrays != sets[0]
            known = any(one.explains(path, model, who, extreme, words) for one in KNOWN)
            kind = "same" if not words else "known" if known else "WRONG"
            results.append(
                (
                    kind,
                    f"{label}{' extreme' if extreme else ''}: {who}: {words}".replace("\n", " ")[
                        :600
                    ],
                )
            )
    return results


def main() -> int:
    words = sys.argv[2] if len(sys.argv) > 2 else ""
    paths = [
        path for path in sorted(pathlib.Path(sys.argv[1]).glob("*/*.onnx")) if words in path.stem
    ]
    counts = collections.Counter()
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for results in pool.map(compare, paths, chunksize=8):
            for kind, text in results:
                counts[kind] += 1
                if kind == "WRONG":
                    print(text)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 1 if counts["WRONG"] or not counts["same"] else 0


if __name__ == "__main__":
    sys.exit(main())
