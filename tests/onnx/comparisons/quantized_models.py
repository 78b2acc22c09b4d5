"""Compares quantized and half-precision models: Tenon and onnxruntime must agree.

    python tests/onnx/comparisons/quantized_models.py TENON [--keep FOLDER] [NAME]...

TENON is the program. Runs the operators of com.microsoft that onnxruntime's quantizer writes, with
their optional inputs and layouts, and small networks that it quantizes in all its forms: operators
on integers (QOperator), quantize and dequantize nodes (QDQ), dynamic, 8 and 16 bits, per channel;
also networks converted to float16. An integer may differ by one where a value lies between two
steps. Exits with 1 if a model differs or is rejected.
"""

import argparse
import logging
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxconverter_common import float16
from onnxruntime import quantization as q
from onnxruntime.quantization.shape_inference import quant_pre_process
from program_outputs import found
from quantized_nodes import model_of, node, nodes, rng

# ---- networks that the quantizer rewrites


def real(*shape, size=1.0):
    return (rng.normal(size=shape) * size).astype(np.float32)


def plain(kind, inputs, outputs="y", **attributes):
    made = node(kind, inputs.split(), outputs, domain="", **attributes)
    made.name = f"{kind}_{outputs}"
    return made


def image_network(opset=17):
    """Convolutions, poolings, a residual sum, concatenation, a dense layer and softmax."""
    weights = {
        "w1": real(8, 3, 3, 3, size=0.3),
        "b1": real(8, size=0.1),
        "w2": real(8, 4, 3, 3, size=0.2),
        "w3": real(8, 8, 1, 1, size=0.3),
        "w4": real(10, 64, size=0.2),
        "b4": real(10, size=0.1),
        "half": np.array(0.5, np.float32),
        "shape": np.array([-1, 64], np.int64),
    }
    made = [
        plain("Conv", "x w1 b1", "c1", pads=[1, 1, 1, 1]),
        plain("Relu", "c1", "r1"),
        plain("MaxPool", "r1", "p1", kernel_shape=[2, 2], strides=[2, 2]),
        plain("Conv", "p1 w2", "c2", pads=[1, 1, 1, 1], group=2),
        plain("LeakyRelu", "c2", "l2", alpha=0.1),
        plain("Conv", "l2 w3", "c3"),
        plain("Sigmoid", "c3", "s3"),
        plain("Mul", "c3 s3", "m3"),
        plain("Add", "m3 p1", "a3"),
        plain("AveragePool", "a3", "p3", kernel_shape=[2, 2], strides=[2, 2]),
        plain("Concat", "p3 p3", "cat", axis=1),
        plain("GlobalAveragePool", "cat", "g"),
        plain("Mul", "p3 half", "h"),
        plain("Transpose", "h", "t", perm=[0, 2, 3, 1]),
        plain("Reshape", "t shape", "flat"),
        plain("Gemm", "flat w4 b4", "logits", transB=1),
        plain("Softmax", "logits", "y", axis=1),
    ]
    shown = {"x": real(4, 3, 8, 8)}
    return model_of(made, shown, ["y", "g"], weights, opset), shown


def sequence_network(opset=17):
    """An LSTM, then a product."""
    weights = {
        "w": real(1, 32, 6, size=0.3),
        "r": real(1, 32, 8, size=0.3),
        "b": real(1, 64, size=0.1),
        "m": real(8, 5, size=0.4),
    }
    made = [
        plain("LSTM", "x w r b", "all last", hidden_size=8),
        plain("Squeeze", "last axis", "z"),
        plain("MatMul", "z m", "y"),
    ]
    weights["axis"] = np.array([0], np.int64)
    shown = {"x": real(5, 3, 6)}
    return model_of(made, shown, ["y"], weights, opset), shown


def table_network(opset=17):
    """Products of matrices, Gather, Split, Pad, Clip and ArgMax."""
    weights = {
        "w1": real(6, 8, size=0.4),
        "w2": real(8, 6, size=0.4),
        "table": real(10, 6),
        "low": np.array(-0.5, np.float32),
        "high": np.array(1.5, np.float32),
        "pads": np.array([0, 1, 0, 0], np.int64),
        "halves": np.array([2, 4], np.int64),
    }
    made = [
        plain("Gather", "table i", "x"),
        plain("MatMul", "x w1", "h"),
        plain("Clip", "h low high", "d"),
        plain("MatMul", "d w2", "o"),
        plain("Split", "o halves", "left right", axis=1),
        plain("Pad", "right pads", "y"),
        plain("ArgMax", "o", "k", axis=1, keepdims=0),
    ]
    shown = {"i": rng.integers(0, 10, 7)}
    return model_of(made, shown, ["y", "left", "k"], weights, opset), shown


def decoder_network(opset=17):
    """Transposed convolution, normalization, Resize, Slice and TopK."""
    weights = {
        "w1": real(3, 6, 3, 3, size=0.3),
        "b1": real(6, size=0.1),
        "scale": 1 + real(6, size=0.1),
        "offset": real(6, size=0.1),
        "sizes": np.array([1, 1, 2, 2], np.float32),
        "w2": real(4, 6, 3, 3, size=0.2),
        "gamma": 1 + real(16, size=0.1),
        "beta": real(16, size=0.1),
        "begin": np.array([0], np.int64),
        "end": np.array([16], np.int64),
        "axis": np.array([3], np.int64),
        "k": np.array([3], np.int64),
    }
    made = [
        plain("ConvTranspose", "x w1 b1", "t", strides=[2, 2], pads=[1, 1, 1, 1]),
        plain("InstanceNormalization", "t scale offset", "n"),
        plain("Resize", "n  sizes", "r", mode="nearest"),
        plain("Conv", "r w2", "c", pads=[1, 1, 1, 1]),
        plain("Slice", "c begin end axis", "s"),
        plain("LayerNormalization", "s gamma beta", "y"),
        plain("TopK", "s k", "top at"),
    ]
    made[2].input[:] = ["n", "", "sizes"]
    shown = {"x": real(2, 3, 5, 5)}
    return model_of(made, shown, ["y", "top"], weights, opset), shown


class Reader(q.CalibrationDataReader):
    """The input of the comparison, and others like it."""

    def __init__(self, shown):
        others = [
            {
                name: x if x.dtype.kind == "i" else x + real(*x.shape, size=0.3)
                for name, x in shown.items()
            }
            for _ in range(4)
        ]
        self.left = [shown, *others]

    def get_next(self):
        return self.left.pop() if self.left else None


TYPES = {
    "u8": q.QuantType.QUInt8,
    "i8": q.QuantType.QInt8,
    "u16": q.QuantType.QUInt16,
    "i16": q.QuantType.QInt16,
}
FORMS = [
    # form, data, weights, per channel, opset
    ("qoperator", "u8", "i8", False, 17),
    ("qoperator", "u8", "u8", False, 13),
    ("qoperator", "i8", "i8", False, 17),
    ("qoperator", "u8", "i8", True, 17),
    ("qoperator", "i8", "i8", True, 13),
    ("qdq", "u8", "i8", False, 17),
    ("qdq", "i8", "i8", True, 17),
    ("qdq", "u8", "u8", True, 13),
    ("qdq", "u16", "i8", False, 17),
    ("qdq", "i16", "i8", True, 21),
    ("qdq", "u16", "u16", False, 21),
    ("qdq", "i16", "i16", True, 17),
    ("contrib", "u8", "i8", True, 17),
    ("contrib", "i16", "i8", False, 17),
    ("dynamic", "", "i8", False, 17),
    ("dynamic", "", "u8", True, 17),
]
NETWORKS = {
    "image": image_network,
    "sequence": sequence_network,
    "table": table_network,
    "decoder": decoder_network,
}


def quantized(network, form, data, weight, per_channel, opset):
    model, shown = network(opset)
    with tempfile.TemporaryDirectory() as folder:
        real_path, path = f"{folder}/real.onnx", f"{folder}/quantized.onnx"
        onnx.save(model, real_path)
        options = {"weight_type": TYPES[weight], "per_channel": per_channel, "reduce_range": True}
        if form == "dynamic":
            q.quantize_dynamic(real_path, path, **options)
        else:
            prepared = f"{folder}/prepared.onnx"
            quant_pre_process(real_path, prepared, skip_symbolic_shape=True)
            q.quantize_static(
                prepared,
                path,
                Reader(shown),
                quant_format=q.QuantFormat.QOperator if form == "qoperator" else q.QuantFormat.QDQ,
                activation_type=TYPES[data],
                extra_options={"UseQDQContribOps": form == "contrib"},
                **options,
            )
        return onnx.load(path), shown


def networks():
    """Names and functions that make a model and its inputs."""
    for name, network in NETWORKS.items():
        for form in FORMS:
            if name == "decoder" and form[-1] < 17:
                continue  # LayerNormalization is newer
            kind, data, weight, per_channel, opset = form
            each = "channels" if per_channel else "tensor"
            yield f"{name}_{kind}_{data}{weight}_{each}_{opset}", partial(quantized, network, *form)
        for keeps_io in (False, True) if name != "decoder" else (False,):  # a bug of the converter
            key = f"{name}_float16_{'mixed' if keeps_io else 'whole'}"
            yield key, partial(halved, network, keeps_io)


def halved(network, keeps_io):
    """Converted to float16, with float32 inputs and outputs or without."""
    model, shown = network()
    blocked = ["Sigmoid", "Gather"] if keeps_io else []
    made = float16.convert_float_to_float16(
        onnx.shape_inference.infer_shapes(model),
        keep_io_types=keeps_io,
        op_block_list=float16.DEFAULT_OP_BLOCK_LIST + blocked,
    )
    if not keeps_io:
        shown = {
            name: x.astype(np.float16) if x.dtype == np.float32 else x for name, x in shown.items()
        }
    return made, shown


# ---- comparison


def expected(model, inputs):
    """onnxruntime's outputs without the optimizations that compute something else: by default, it
    rounds 16-bit data to 8 bits for products with 8-bit weights."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


def limit_of(name, is_single):
    """For floats, relative to the largest number."""
    if is_single:
        return 1e-5
    if "_float16_" in name:
        return 1e-3  # onnxruntime leaves out some of the roundings between nodes
    if name.startswith("sequence_dynamic"):
        return 2e-2  # onnxruntime also rounds the data and the state of DynamicQuantizeLSTM
    return 3e-3 if "16" in name else 2e-2  # a few steps of the output, if nodes before it differ


def differs(wanted, got, limit):
    """Returns the difference as text, or nothing. Few 8-bit integers may differ by a step."""
    if wanted.shape != got.shape or wanted.dtype != got.dtype:
        return f"is {got.dtype} {got.shape} instead of {wanted.dtype} {wanted.shape}"
    away = np.abs(wanted.astype(np.float64) - got.astype(np.float64))
    if wanted.dtype.kind == "f":
        worst = away.max(initial=0) / max(1.0, float(np.abs(wanted).max(initial=0)))
        return f"differs by {worst:.1e}" if not worst <= limit else None
    if wanted.dtype.itemsize > 1:
        return f"differs by {away.max():.0f}" if away.any() else None
    if away.max(initial=0) > 1 or np.count_nonzero(away) > 1 + 0.03 * away.size:
        return f"{np.count_nonzero(away)} of {away.size} elements differ, by up to {away.max():.0f}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tenon")
    parser.add_argument("--keep", type=Path, help="write models and arrays to this folder")
    parser.add_argument("names", nargs="*", help="parts of the names of models to run")
    options = parser.parse_intermixed_args()
    logging.disable(logging.WARNING)  # the quantizer's advice
    singles = {name: lambda made=made: made for name, made in nodes()}
    failed = right = 0
    with tempfile.TemporaryDirectory() as made:
        for name, make in [*singles.items(), *networks()]:
            if options.names and not any(part in name for part in options.names):
                continue
            folder = (options.keep or Path(made)) / name
            folder.mkdir(parents=True, exist_ok=True)
            model, inputs = make()
            path = folder / "model.onnx"
            onnx.save(model, path)
            limit = limit_of(name, name in singles)
            try:
                wanted, got = expected(model, inputs), found(options.tenon, path, model, inputs)
                differences = [differs(*pair, limit) for pair in zip(wanted, got, strict=True)]
                said = next(filter(None, differences), None)
            except RuntimeError as error:
                said = f"rejected: {error}"
            failed += said is not None
            right += said is None
            print(f"{name:40} {'right' if said is None else said}")
    print(f"{right} models agree, {failed} differ or are rejected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
