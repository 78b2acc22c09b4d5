"""The networks in PyTorch, eager or compiled. Uses torch's fused attention and fused Adam, which
are its fastest on CPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from networks import Array, Layer, Network

Values = dict[str, Any]
ONE = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "sigmoid": torch.sigmoid,
}
ONE |= {"sqrt": torch.sqrt, "square": torch.square}
TWO = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}


def attention(o: dict[str, Any], *inputs: Any) -> Any:
    split = (o["batch"], o["length"], o["heads"], o["width"] // o["heads"])
    parts = [each.view(split).transpose(1, 2) for each in inputs]
    mixed = functional.scaled_dot_product_attention(*parts)
    return mixed.transpose(1, 2).reshape(o["batch"], o["length"], o["width"])


class Module(torch.nn.Module):
    def __init__(self, net: Network) -> None:
        super().__init__()
        self.layers = net.layers
        for name, value in net.weights.items():
            if name in net.moving:
                self.register_buffer(name, torch.from_numpy(value.copy()))
            else:
                self.register_parameter(name, torch.nn.Parameter(torch.from_numpy(value.copy())))

    def forward(self, *inputs: Any) -> Any:
        names = [name for layer in self.layers for name in layer.inputs]
        made = {layer.name for layer in self.layers}
        values: Values = dict(
            zip(dict.fromkeys(name for name in names if name not in made), inputs)
        )
        for layer in self.layers:
            values[layer.name] = self._layer(layer, *(values[name] for name in layer.inputs))
        return values[self.layers[-1].name]

    def _layer(self, layer: Layer, *x: Any) -> Any:
        o, weights = layer.options, [getattr(self, name) for name in layer.weights]
        if layer.kind in ONE:
            return ONE[layer.kind](*x)
        if layer.kind in TWO:
            return TWO[layer.kind](*x, *([o["constant"]] if "constant" in o else []))
        if layer.kind == "dense":
            return functional.linear(*x, *weights)
        if layer.kind == "convolution":
            return functional.conv2d(*x, *weights, stride=o["stride"], padding=o["pad"])
        if layer.kind == "batch_norm":
            gamma, beta, mean, variance = weights
            return functional.batch_norm(*x, mean, variance, gamma, beta, self.training, 0.1, 1e-5)
        if layer.kind == "layer_norm":
            return functional.layer_norm(*x, weights[0].shape, *weights, 1e-5)
        if layer.kind == "max_pool":
            return functional.max_pool2d(*x, o["kernel"], o["stride"], o["pad"])
        if layer.kind == "global_average":
            return functional.adaptive_avg_pool2d(*x, 1).reshape(o["shape"])
        if layer.kind == "flatten":
            return x[0].reshape(o["shape"])
        if layer.kind == "attention":
            return attention(o, *x)
        raise ValueError(f"no torch version of layer '{layer.kind}'")


def _ready(net: Network, threads: int) -> tuple[Module, list[Any]]:
    torch.set_num_threads(threads)
    return Module(net), [torch.from_numpy(value) for value in net.inputs.values()]


def inference(net: Network, threads: int, precision: str) -> Callable[[], Array]:
    """With bfloat16, the whole model uses it: weights, activations and the result."""
    module, inputs = _ready(net, threads)
    dtype = getattr(torch, precision)
    module.eval().to(dtype)

    def run() -> Array:
        with torch.inference_mode():
            return (  # type: ignore[no-any-return]
                module(*(each.to(dtype) for each in inputs)).float().numpy()
            )

    return run


def training(
    net: Network, threads: int, precision: str, compiled: bool = False
) -> Callable[[], float]:
    module, inputs = _ready(net, threads)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3, fused=True)
    loss_of = getattr(functional, {"mean_squared_error": "mse_loss"}.get(net.loss, net.loss))
    forward = torch.compile(module) if compiled else module
    target = torch.from_numpy(net.target)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            loss = loss_of(forward(*inputs), target)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def version() -> str:
    return f"torch {torch.__version__}"
