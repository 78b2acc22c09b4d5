"""Models of single nodes of com.microsoft, as onnxruntime's quantizer and optimizer write them,
with their optional inputs and layouts: for quantized_models.py."""

import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper

MICROSOFT = "com.microsoft"
rng = np.random.default_rng(0)


def model_of(nodes, inputs, outputs, weights=(), opset=17):
    """Inputs and weights are arrays by name; outputs are names."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [
            value(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in inputs.items()
        ],
        [value(name, T.UNDEFINED, None) for name in outputs],
        [numpy_helper.from_array(x, name) for name, x in dict(weights).items()],
    )
    for output in graph.output:
        output.ClearField("type")
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def node(kind, inputs, outputs="y", domain=MICROSOFT, **attributes):
    return helper.make_node(kind, inputs, outputs.split(), domain=domain, **attributes)


def integers(dtype, *shape):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def single(kind, dtype, tensors, scale_of_y=None, zero_of_y=0, order=None, **attributes):
    """A node whose inputs are tensors, each (integers, scale, zero point or None), and the output's
    scale and zero point."""
    inputs, weights, names = {}, {}, []
    for i, (x, scale, zero) in enumerate(tensors):
        inputs[f"x{i}"] = x
        weights[f"s{i}"] = np.array(scale, np.float32)
        names += [f"x{i}", f"s{i}"]
        names.append("" if zero is None else f"z{i}")
        if zero is not None:
            weights[f"z{i}"] = np.array(zero, x.dtype)
    if scale_of_y is not None:
        weights["s"] = np.array(scale_of_y, np.float32)
        last = ["s", ""]
        if zero_of_y is not None:
            weights["z"] = np.array(zero_of_y, dtype)
            last[1] = "z"
        names = order(names, last) if order else names + last
    while names and not names[-1]:
        names.pop()
    return model_of([node(kind, names, **attributes)], inputs, ["y"], weights), inputs


def first(names, last):
    return last + names


def nodes():
    """Names and functions that make a model and its inputs."""
    for dtype in (np.uint8, np.int8):
        zero = 7 if dtype is np.uint8 else -7
        name = np.dtype(dtype).name

        def of(*shape, scale=0.0213, zero_of=zero, dtype=dtype):
            return integers(dtype, *shape), scale, zero_of

        a, b, image = of(2, 3, 4), of(3, 1, scale=0.0317, zero_of=0), of(2, 5, 6, 7)
        yield f"add_{name}", single("QLinearAdd", dtype, [a, b], 0.0457, zero)
        yield f"mul_{name}", single("QLinearMul", dtype, [a, b], 0.0531, zero)
        yield f"sigmoid_{name}", single("QLinearSigmoid", dtype, [a], 1 / 256, zero)
        c = of(3, 5, zero_of=None)
        yield f"sigmoid_no_zero_{name}", single("QLinearSigmoid", dtype, [c], 1 / 256, zero)
        yield f"leaky_relu_{name}", single("QLinearLeakyRelu", dtype, [a], 0.02, zero)
        yield f"leaky_relu_alpha_{name}", single("QLinearLeakyRelu", dtype, [a], 0.03, 0, alpha=0.3)
        yield (
            f"concat_{name}",
            single("QLinearConcat", dtype, [a, of(2, 5, 4, scale=0.1)], 0.06, 3, first, axis=1),
        )
        for opset, axis in ((11, 1), (11, 2), (13, -1), (13, 1)):
            yield (
                f"softmax_{opset}_{axis}_{name}",
                single("QLinearSoftmax", dtype, [a], 1 / 256, zero, opset=opset, axis=axis),
            )
        yield f"softmax_{name}", single("QLinearSoftmax", dtype, [a], 1 / 128, zero, opset=11)
        for last in (0, 1):
            for count in (0, 1):
                yield (
                    f"average_pool_{last}{count}_{name}",
                    single(
                        "QLinearAveragePool",
                        dtype,
                        [image],
                        0.0317,
                        zero,
                        kernel_shape=[3, 2],
                        strides=[2, 2],
                        pads=[1, 0, 1, 1],
                        count_include_pad=count,
                        channels_last=last,
                    ),
                )
            yield (
                f"average_pool_ceil_{last}_{name}",
                single(
                    "QLinearAveragePool",
                    dtype,
                    [image],
                    0.0317,
                    0,
                    kernel_shape=[2, 3],
                    strides=[2, 2],
                    ceil_mode=1,
                    channels_last=last,
                ),
            )
            yield (
                f"average_pool_same_{last}_{name}",
                single(
                    "QLinearAveragePool",
                    dtype,
                    [image],
                    0.0227,
                    zero,
                    kernel_shape=[2, 3],
                    strides=[2, 2],
                    auto_pad="SAME_UPPER",
                    channels_last=last,
                ),
            )
            yield (
                f"global_average_pool_{last}_{name}",
                single("QLinearGlobalAveragePool", dtype, [image], 0.01, zero, channels_last=last),
            )
        yield f"where_{name}", where(dtype, zero)
        yield f"max_pool_nhwc_{name}", max_pool_nhwc(dtype)
        yield from gemms(dtype, zero, name)
        yield from convolutions(dtype, zero, name)
        yield from products(dtype, zero, name)
        yield f"embed_{name}", embeddings(dtype, False)
        yield f"embed_mask_{name}", embeddings(dtype, True)


def where(dtype, zero):
    model, inputs = single(
        "QLinearWhere",
        dtype,
        [(integers(dtype, 3, 4), 0.02, zero), (integers(dtype, 2, 1, 4), 0.03, 0)],
        0.05,
        zero,
        order=lambda names, last: ["c", *names, *last],
    )
    inputs["c"] = rng.random((2, 3, 1)) < 0.5
    model.graph.input.append(helper.make_tensor_value_info("c", T.BOOL, [2, 3, 1]))
    return model, inputs


def max_pool_nhwc(dtype):
    inputs = {"x": integers(dtype, 2, 6, 7, 3)}
    made = node("NhwcMaxPool", ["x"], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    return model_of([made], inputs, ["y"]), inputs


def gemms(dtype, zero, name):
    for trans, weight, per_column, has_c, to_float in (
        (0, np.int8, 0, 1, 0),
        (1, np.int8, 1, 1, 0),
        (0, np.uint8, 1, 0, 0),
        (1, np.int8, 0, 1, 1),
        (0, np.int8, 1, 1, 1),
    ):
        if dtype is np.int8 and weight is np.uint8:
            continue  # onnxruntime has no such product
        a = integers(dtype, *((6, 4) if trans else (4, 6)))
        b = np.clip(integers(weight, *((5, 6) if trans else (6, 5))), -63, 63)
        count = 5 if per_column else 1
        weights = {
            "as": np.array(0.02, np.float32),
            "az": np.array(zero, dtype),
            "b": b,
            "bs": (rng.random(count) * 0.02 + 0.01).astype(np.float32),
            "bz": np.full(count, 0 if weight is np.int8 else 30, weight),
            "c": rng.integers(-3000, 3000, 5).astype(np.int32),
            "ys": np.array(0.04, np.float32),
            "yz": np.array(zero, dtype),
        }
        if not per_column:
            weights |= {key: weights[key].reshape(()) for key in ("bs", "bz")}
        names = ["a", "as", "az", "b", "bs", "bz", "c" if has_c else ""]
        names += [] if to_float else ["ys", "yz"]
        made = node("QGemm", names, transA=trans, transB=trans, alpha=0.5 if trans else 1.0)
        key = f"gemm_{trans}{np.dtype(weight).name}{per_column}{has_c}{to_float}_{name}"
        inputs = {"a": a}
        yield key, (model_of([made], inputs, ["y"], weights), inputs)


def convolutions(dtype, zero, name):
    for last in (0, 1):
        for per_channel in (0, 1):
            shape = (2, 7, 8, 4) if last else (2, 4, 7, 8)
            count = 6 if per_channel else 1
            weights = {
                "xs": np.array(0.02, np.float32),
                "xz": np.array(zero, dtype),
                "w": np.clip(integers(np.int8, 6, 2, 3, 3), -63, 63),
                "ws": (rng.random(count) * 0.02 + 0.01).astype(np.float32),
                "wz": np.zeros(count, np.int8),
                "ys": np.array(0.1, np.float32),
                "yz": np.array(zero, dtype),
                "b": rng.integers(-3000, 3000, 6).astype(np.int32),
            }
            names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
            made = node(
                "QLinearConv",
                names,
                group=2,
                pads=[1, 0, 1, 2],
                strides=[2, 1],
                channels_last=last,
            )
            inputs = {"x": integers(dtype, *shape)}
            key = f"conv_{last}{per_channel}_{name}"
            yield key, (model_of([made], inputs, ["y"], weights), inputs)


def products(dtype, zero, name):
    real = rng.normal(size=(2, 4, 6)).astype(np.float32)
    for per_column in (0, 1):
        count = 5 if per_column else 1
        weights = {
            "b": np.clip(integers(np.int8, 6, 5), -63, 63),
            "as": np.array(0.02, np.float32),
            "bs": (rng.random(count) * 0.02 + 0.01).astype(np.float32),
            "az": np.array(zero, dtype),
            "bz": rng.integers(-9, 9, count).astype(np.int8),
            "bias": rng.normal(size=5).astype(np.float32),
        }
        if not per_column:
            weights |= {key: weights[key].reshape(()) for key in ("bs", "bz")}
        inputs = {"a": integers(dtype, 2, 4, 6)}
        for names in (["a", "b", "as", "bs"], ["a", "b", "as", "bs", "az", "bz", "bias"]):
            made = node("MatMulIntegerToFloat", names)
            key = f"matmul_to_float_{per_column}{len(names)}_{name}"
            yield key, (model_of([made], inputs, ["y"], weights), inputs)
        if dtype is np.uint8:
            for names in (["a", "b", "bs"], ["a", "b", "bs", "bz", "bias"]):
                made = node("DynamicQuantizeMatMul", names)
                key = f"dynamic_matmul_{per_column}{len(names)}"
                yield key, (model_of([made], {"a": real}, ["y"], weights), {"a": real})
        if dtype is np.uint8:  # onnxruntime has no other attention
            yield from attentions(dtype, zero, name, per_column)


def attentions(dtype, zero, name, per_column):
    count = 24 if per_column else 1
    weights = {
        "w": np.clip(integers(np.int8, 8, 24), -63, 63),
        "b": rng.normal(size=24).astype(np.float32),
        "xs": np.array(0.02, np.float32),
        "ws": (rng.random(count) * 0.02 + 0.01).astype(np.float32),
        "mask": np.array([3, 2], np.int32),
        "xz": np.array(zero, dtype),
        "wz": np.zeros(count, np.int8),
        "past": rng.normal(size=(2, 2, 2, 3, 4)).astype(np.float32),
    }
    if not per_column:
        weights |= {key: weights[key].reshape(()) for key in ("ws", "wz")}
    inputs = {"x": integers(dtype, 2, 4, 8)}
    base = ["x", "w", "b", "xs", "ws"]
    for key, names, outputs, attributes in (
        ("plain", base, "y", {}),
        ("mask", [*base, "mask", "xz", "wz"], "y", {}),
        ("causal", [*base, "", "xz", "wz"], "y", {"unidirectional": 1}),
        ("past", [*base, "", "xz", "wz", "past"], "y present", {"unidirectional": 1}),
    ):
        made = node("QAttention", names, outputs, num_heads=2, **attributes)
        model = model_of([made], inputs, outputs.split(), weights)
        yield f"attention_{key}_{per_column}_{name}", (model, inputs)


def embeddings(dtype, masked):
    tables = {"word": (20, 8), "position": (6, 8), "segment": (2, 8), "gamma": (8,), "beta": (8,)}
    weights = {name: integers(dtype, *shape) for name, shape in tables.items()}
    scales = {f"{name}_s": np.array(0.01 * i + 0.01, np.float32) for i, name in enumerate(tables)}
    zeros = {f"{name}_z": np.array(3 * i, dtype) for i, name in enumerate(tables)}
    inputs = {
        "ids": rng.integers(0, 20, (2, 5)).astype(np.int32),
        "segments": rng.integers(0, 2, (2, 5)).astype(np.int32),
    }
    if masked:
        inputs["mask"] = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    names = ["ids", "segments", *tables, "mask" if masked else "", *scales, *zeros]
    made = node("QEmbedLayerNormalization", names, "y index", epsilon=1e-5)
    return model_of([made], inputs, ["y", "index"], weights | scales | zeros), inputs
