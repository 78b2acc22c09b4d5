"""The networks as ONNX models, in ONNX Runtime (only float32 here) and OpenVINO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.shape_inference
from onnx import helper, numpy_helper

from networks import Array, Layer, Network

SAME = {
    "relu": "Relu",
    "gelu": "Gelu",
    "tanh": "Tanh",
    "exp": "Exp",
    "sigmoid": "Sigmoid",
    "sqrt": "Sqrt",
    "add": "Add",
}
SAME |= {
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "flatten": "Reshape",
    "global_average": "GlobalAveragePool",
}


class Model:
    def __init__(self, net: Network) -> None:
        self.nodes: list[Any] = []
        self.weights = dict(net.weights)
        for layer in net.layers:
            self.layer(layer)

    def node(self, op: str, output: str, *inputs: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, list(inputs), [output], output, **attributes))
        return output

    def constant(self, name: str, value: Any, dtype: Any = np.int64) -> str:
        self.weights[name] = np.array(value, dtype)
        return name

    def layer(self, layer: Layer) -> None:
        o, name, x = layer.options, layer.name, layer.inputs
        if layer.kind == "dense":  # in products with three axes, the second operand is a matrix
            self.weights[f"{name}_weight"] = np.ascontiguousarray(self.weights[f"{name}_weight"].T)
            self.node(
                "Add",
                name,
                self.node("MatMul", f"{name}_product", *x, layer.weights[0]),
                layer.weights[1],
            )
        elif layer.kind == "convolution":
            sizes = {"strides": [o["stride"]] * 2, "pads": [o["pad"]] * 4}
            self.node("Conv", name, *x, *layer.weights, kernel_shape=[o["kernel"]] * 2, **sizes)
        elif layer.kind == "batch_norm":
            self.node("BatchNormalization", name, *x, *layer.weights, epsilon=1e-5)
        elif layer.kind == "layer_norm":
            self.node("LayerNormalization", name, *x, *layer.weights, epsilon=1e-5)
        elif layer.kind == "max_pool":
            sizes = {"strides": [o["stride"]] * 2, "pads": [o["pad"]] * 4}
            self.node("MaxPool", name, *x, kernel_shape=[o["kernel"]] * 2, **sizes)
        elif layer.kind == "attention":
            self.attention(layer)
        elif layer.kind == "square":
            self.node("Mul", name, *x, *x)
        elif layer.kind == "global_average":
            self.node(
                "Reshape",
                name,
                self.node("GlobalAveragePool", f"{name}_pooled", *x),
                self.constant(f"{name}_shape", o["shape"]),
            )
        elif layer.kind == "flatten":
            self.node("Reshape", name, *x, self.constant(f"{name}_shape", o["shape"]))
        else:
            more = (
                [self.constant(f"{name}_constant", o["constant"], np.float32)]
                if "constant" in o
                else []
            )
            self.node(SAME[layer.kind], name, *x, *more)

    def attention(self, layer: Layer) -> None:
        o, name = layer.options, layer.name
        width = o["width"] // o["heads"]
        split = self.constant(f"{name}_split", [o["batch"], o["length"], o["heads"], width])
        axes = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        query, key, value = (
            self.node(
                "Transpose", f"{x}_heads", self.node("Reshape", f"{x}_parts", x, split), perm=perm
            )
            for x, perm in zip(layer.inputs, axes)
        )
        scale = self.constant(f"{name}_scale", width**-0.5, np.float32)
        products = self.node(
            "Mul", f"{name}_scaled", self.node("MatMul", f"{name}_products", query, key), scale
        )
        mixed = self.node(
            "MatMul",
            f"{name}_mixed",
            self.node("Softmax", f"{name}_shares", products, axis=-1),
            value,
        )
        rows = self.node("Transpose", f"{name}_rows", mixed, perm=[0, 2, 1, 3])
        self.node(
            "Reshape",
            name,
            rows,
            self.constant(f"{name}_joined", [o["batch"], o["length"], o["width"]]),
        )

    def bytes(self, net: Network) -> bytes:
        number = onnx.TensorProto.FLOAT
        inputs = [
            helper.make_tensor_value_info(name, number, value.shape)
            for name, value in net.inputs.items()
        ]
        outputs = [helper.make_tensor_value_info(net.output, number, None)]
        weights = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, net.name, inputs, outputs, weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        model = onnx.shape_inference.infer_shapes(model)
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def in_onnxruntime(net: Network, threads: int) -> Callable[[], Array]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(
        Model(net).bytes(net), options, providers=["CPUExecutionProvider"]
    )
    inputs = dict(net.inputs)
    return lambda: session.run(None, inputs)[0]  # type: ignore[no-any-return]


def in_openvino(net: Network, threads: int, precision: str) -> Callable[[], Array]:
    import openvino

    hint = {"float32": "f32", "bfloat16": "bf16"}[precision]

    core = openvino.Core()
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": hint,
    }
    compiled = core.compile_model(core.read_model(Model(net).bytes(net)), "CPU", settings)
    request = compiled.create_infer_request()
    for name, value in net.inputs.items():
        request.set_tensor(name, openvino.Tensor(value, shared_memory=True))

    def run() -> Array:
        request.infer()
        return request.get_output_tensor(0).data  # type: ignore[no-any-return]

    return run


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: f"{name} {version(name)}" for name in ("onnxruntime", "openvino")}
