"""The networks, each defined once as a list of layers with weights. Every program builds its own
version from these.

A layer's name is the name of its output. Weights and inputs are random numpy arrays, the same in
every process.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass
class Layer:
    kind: str
    name: str
    inputs: tuple[str, ...]
    weights: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Network:
    """inputs: the arrays of a run. loss: in training only, between the last layer and the input of
    this name.
    """

    name: str
    inputs: dict[str, Array] = field(default_factory=dict)
    weights: dict[str, Array] = field(default_factory=dict)
    moving: set[str] = field(default_factory=set)
    layers: list[Layer] = field(default_factory=list)
    loss: str = ""
    target: Array | None = None

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(zlib.crc32(self.name.encode()))

    @property
    def output(self) -> str:
        return self.layers[-1].name

    def input(self, name: str, *shape: int) -> str:
        self.inputs[name] = self.random.standard_normal(shape, np.float32)
        return name

    def layer(self, kind: str, name: str, *inputs: str, **options: Any) -> str:
        self.layers.append(Layer(kind, name, inputs, (), options))
        return name

    def _weighted(
        self, kind: str, name: str, x: str, weights: dict[str, Array], **options: Any
    ) -> str:
        names = tuple(f"{name}_{each}" for each in weights)
        self.weights.update(zip(names, weights.values()))
        self.layers.append(Layer(kind, name, (x,), names, options))
        return name

    def _normal(self, *shape: int, scale: float) -> Array:
        return (self.random.standard_normal(shape, np.float32) * np.float32(scale)).astype(
            np.float32
        )

    def _near(self, value: float, count: int) -> Array:
        return (value + 0.2 * self.random.uniform(-1, 1, count)).astype(np.float32)

    def dense(self, name: str, x: str, units: int, features: int, gain: float = 2) -> str:
        """x @ weight.T + bias over the last axis."""
        weight = self._normal(units, features, scale=(gain / features) ** 0.5)
        return self._weighted(
            "dense", name, x, {"weight": weight, "bias": self._near(0, units)}, units=units
        )

    def convolution(
        self,
        name: str,
        x: str,
        filters: int,
        channels: int,
        kernel: int,
        stride: int = 1,
        pad: int = 0,
        bias: bool = False,
    ) -> str:
        weights = {
            "weight": self._normal(
                filters, channels, kernel, kernel, scale=(2 / (channels * kernel**2)) ** 0.5
            )
        }
        if bias:
            weights["bias"] = self._near(0, filters)
        return self._weighted(
            "convolution", name, x, weights, filters=filters, kernel=kernel, stride=stride, pad=pad
        )

    def batch_norm(self, name: str, x: str, channels: int) -> str:
        """The last two weights are the moving mean and variance."""
        near = {"gamma": 1, "beta": 0, "moving_mean": 0, "moving_var": 1}
        self.moving |= {f"{name}_moving_mean", f"{name}_moving_var"}
        return self._weighted(
            "batch_norm",
            name,
            x,
            {each: self._near(value, channels) for each, value in near.items()},
        )

    def layer_norm(self, name: str, x: str, features: int) -> str:
        return self._weighted(
            "layer_norm",
            name,
            x,
            {"gamma": self._near(1, features), "beta": self._near(0, features)},
        )

    def loss_of_classes(self, batch: int, classes: int) -> Network:
        self.loss, self.target = "cross_entropy", self.random.integers(0, classes, batch, np.int64)
        return self

    def loss_of_values(self, *shape: int) -> Network:
        self.loss, self.target = (
            "mean_squared_error",
            self.random.standard_normal(shape, np.float32),
        )
        return self


def mlp(batch: int = 128) -> Network:
    net = Network("mlp")
    x = net.input("image", batch, 784)
    x = net.layer("relu", "relu1", net.dense("fc1", x, 512, 784))
    x = net.layer("relu", "relu2", net.dense("fc2", x, 512, 512))
    net.dense("scores", x, 10, 512)
    return net.loss_of_classes(batch, 10)


def lenet(batch: int = 64) -> Network:
    """LeNet-5 with relu and max pooling."""
    net = Network("lenet")
    x = net.input("image", batch, 1, 28, 28)
    x = net.layer("relu", "relu1", net.convolution("conv1", x, 6, 1, 5, pad=2, bias=True))
    x = net.layer("max_pool", "pool1", x, kernel=2, stride=2, pad=0)
    x = net.layer("relu", "relu2", net.convolution("conv2", x, 16, 6, 5, bias=True))
    x = net.layer("max_pool", "pool2", x, kernel=2, stride=2, pad=0)
    x = net.layer("flatten", "flat", x, shape=[batch, 400])
    x = net.layer("relu", "relu3", net.dense("fc1", x, 120, 400))
    x = net.layer("relu", "relu4", net.dense("fc2", x, 84, 120))
    net.dense("scores", x, 10, 84)
    return net.loss_of_classes(batch, 10)


def _basic_block(net: Network, name: str, x: str, channels: int, filters: int, stride: int) -> str:
    y = net.convolution(f"{name}_conv1", x, filters, channels, 3, stride, 1)
    y = net.layer("relu", f"{name}_relu1", net.batch_norm(f"{name}_norm1", y, filters))
    y = net.batch_norm(
        f"{name}_norm2", net.convolution(f"{name}_conv2", y, filters, filters, 3, 1, 1), filters
    )
    if stride != 1 or channels != filters:
        x = net.batch_norm(
            f"{name}_norm3",
            net.convolution(f"{name}_conv3", x, filters, channels, 1, stride),
            filters,
        )
    return net.layer("relu", f"{name}_relu2", net.layer("add", f"{name}_sum", y, x))


def resnet18(batch: int = 1, size: int = 224) -> Network:
    """He, Zhang, Ren and Sun, 2015: the 18-layer network for 1,000 classes."""
    net = Network("resnet18")
    x = net.convolution("conv1", net.input("image", batch, 3, size, size), 64, 3, 7, 2, 3)
    x = net.layer("relu", "relu1", net.batch_norm("norm1", x, 64))
    x = net.layer("max_pool", "pool1", x, kernel=3, stride=2, pad=1)
    channels = 64
    for stage, filters in enumerate((64, 128, 256, 512)):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _basic_block(net, f"stage{stage + 1}_{block + 1}", x, channels, filters, stride)
            channels = filters
    net.dense(
        "scores", net.layer("global_average", "average", x, shape=[batch, 512]), 1000, 512, gain=0.1
    )
    return net.loss_of_classes(batch, 1000)


def encoder(
    batch: int = 4, length: int = 128, width: int = 256, heads: int = 4, layers: int = 4
) -> Network:
    """Vaswani et al., 2017: the encoder, with layer_norm after each sum, and gelu."""
    net = Network("encoder")
    x = net.input("x", batch, length, width)
    for number in range(1, layers + 1):
        name = f"layer{number}"
        query, key, value = (
            net.dense(f"{name}_{each}", x, width, width, 1) for each in ("query", "key", "value")
        )
        y = net.layer(
            "attention",
            f"{name}_attention",
            query,
            key,
            value,
            heads=heads,
            batch=batch,
            length=length,
            width=width,
        )
        y = net.layer("add", f"{name}_sum1", x, net.dense(f"{name}_projection", y, width, width, 1))
        x = net.layer_norm(f"{name}_norm1", y, width)
        y = net.layer("gelu", f"{name}_gelu", net.dense(f"{name}_wide", x, 4 * width, width))
        y = net.layer("add", f"{name}_sum2", x, net.dense(f"{name}_narrow", y, width, 4 * width, 1))
        x = net.layer_norm(f"{name}_norm2", y, width)
    return net.loss_of_values(batch, length, width)


def chain(size: int = 4 << 20) -> Network:
    """Ten element-wise operators: sigmoid((sqrt(relu(exp(tanh(x) * y) + x)) - y)^2) / 3."""
    net = Network("chain")
    x, y = net.input("x", size), net.input("y", size)
    last = net.layer("mul", "scaled", net.layer("tanh", "bent", x), y)
    last = net.layer("add", "moved", net.layer("exp", "grown", last), x)
    last = net.layer("sqrt", "root", net.layer("relu", "positive", last))
    last = net.layer("square", "squared", net.layer("sub", "difference", last, y))
    net.layer("div", "third", net.layer("sigmoid", "bounded", last), constant=3.0)
    return net


NETWORKS: dict[str, Callable[[], Network]] = {
    "mlp": mlp,
    "lenet": lenet,
    "resnet18": resnet18,
    "encoder": encoder,
    "chain": chain,
}
TRAINING: dict[str, Callable[[], Network]] = {
    "mlp": mlp,
    "lenet": lenet,
    "resnet18": lambda: resnet18(8, 64),
    "encoder": encoder,
}
