"""Networks as graph.json and .npy files, for Tenon. graph_json.py FOLDER writes each network to a
subfolder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from networks import NETWORKS, Layer, Network

Node = dict[str, Any]
SAME = {"relu", "gelu", "tanh", "exp", "sigmoid", "sqrt", "square", "add", "sub", "mul", "div"}


def node(name: str, op: str, *inputs: str, **attributes: Any) -> Node:
    return {
        "name": name,
        "op": op,
        "inputs": list(inputs),
        **({"attrs": attributes} if attributes else {}),
    }


def attention(layer: Layer) -> list[Node]:
    o, name = layer.options, layer.name
    split = [o["batch"], o["length"], o["heads"], o["width"] // o["heads"]]
    nodes = []
    for part, value in zip(("query", "key", "value"), layer.inputs):
        nodes += [
            node(f"{name}_{part}_parts", "reshape", value, shape=split),
            node(f"{name}_{part}_heads", "transpose", f"{name}_{part}_parts", axes=[0, 2, 1, 3]),
        ]
    return nodes + [
        node(
            f"{name}_products",
            "matmul",
            f"{name}_query_heads",
            f"{name}_key_heads",
            transpose_b=True,
        ),
        node(f"{name}_scaled", "mul", f"{name}_products", f"{name}_scale"),
        node(f"{name}_shares", "softmax", f"{name}_scaled"),
        node(f"{name}_mixed", "matmul", f"{name}_shares", f"{name}_value_heads"),
        node(f"{name}_rows", "transpose", f"{name}_mixed", axes=[0, 2, 1, 3]),
        node(name, "reshape", f"{name}_rows", shape=[o["batch"], o["length"], o["width"]]),
    ]


def nodes_of(layer: Layer) -> list[Node]:
    o, name, inputs = layer.options, layer.name, (*layer.inputs, *layer.weights)
    if layer.kind in SAME:
        return [node(name, layer.kind, *inputs, *([f"{name}_constant"] if "constant" in o else []))]
    if layer.kind == "dense":
        return [node(name, "fully_connected", *inputs, num_hidden=o["units"], flatten=False)]
    if layer.kind == "convolution":
        sizes = {each: [o[each]] * 2 for each in ("kernel", "stride", "pad")}
        return [
            node(
                name,
                "convolution",
                *inputs,
                num_filter=o["filters"],
                no_bias=len(layer.weights) < 2,
                **sizes,
            )
        ]
    if layer.kind == "batch_norm":  # the moving mean and variance are states named after it
        return [node(name, "batch_norm", *inputs[:3])]
    if layer.kind == "layer_norm":
        return [node(name, "layer_norm", *inputs)]
    if layer.kind == "max_pool":
        return [
            node(
                name,
                "max_pool",
                *inputs,
                **{each: [o[each]] * 2 for each in ("kernel", "stride", "pad")},
            )
        ]
    if layer.kind == "global_average":
        return [
            node(f"{name}_pooled", "global_avg_pool", *inputs),
            node(name, "reshape", f"{name}_pooled", shape=o["shape"]),
        ]
    if layer.kind == "flatten":
        return [node(name, "reshape", *inputs, shape=o["shape"])]
    if layer.kind == "attention":
        return attention(layer)
    raise ValueError(f"no Tenon version of layer '{layer.kind}'")


def constants_of(layer: Layer) -> dict[str, Node]:
    if layer.kind == "attention":
        width = layer.options["width"] // layer.options["heads"]
        return {f"{layer.name}_scale": {"values": width**-0.5}}
    return (
        {f"{layer.name}_constant": {"values": layer.options["constant"]}}
        if "constant" in layer.options
        else {}
    )


def write(net: Network, folder: Path, training: bool = False) -> Path:
    """Returns graph.json and the weights. training: with a loss between the output and the input
    `target`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in {**net.weights, **net.inputs}.items():
        np.save(folder / f"{name}.npy", value)
    inputs = {
        name: {"dtype": str(value.dtype), "shape": list(value.shape)}
        for name, value in net.inputs.items()
    }
    nodes = [each for layer in net.layers for each in nodes_of(layer)]
    outputs = {"output": net.output}
    if training and net.target is not None:
        inputs["target"] = {"dtype": str(net.target.dtype), "shape": list(net.target.shape)}
        loss = {"cross_entropy": "softmax_cross_entropy"}.get(net.loss, net.loss)
        nodes.append(node("loss", loss, net.output, "target"))
        outputs["loss"] = "loss"
    files = {name: {"npy": f"{name}.npy"} for name in net.weights}
    text = {
        "tenon": 1,
        "name": net.name,
        "inputs": inputs,
        "variables": {name: file for name, file in files.items() if name not in net.moving},
        "states": {name: file for name, file in files.items() if name in net.moving},
        "constants": {
            name: value for layer in net.layers for name, value in constants_of(layer).items()
        },
        "nodes": nodes,
        "outputs": outputs,
    }
    path = folder / "graph.json"
    path.write_text(json.dumps({key: value for key, value in text.items() if value}, indent=1))
    return path


if __name__ == "__main__":
    for name, make in NETWORKS.items():
        print(write(make(), Path(sys.argv[1]) / name))
