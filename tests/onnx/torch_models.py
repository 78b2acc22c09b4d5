"""Compares networks exported by torch.onnx, with dynamic batch and length: Tenon and torch must
agree within 1e-4.

    python tests/onnx/torch_models.py TENON [NAME]...

TENON is the program. Needs torch and onnx. A transformer's encoder and decoder (with a cache of
keys and values), and a detector that ends in non-maximum suppression. Exits with 1 if one is
rejected or differs.
"""

import math
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

LIMIT = 1e-4
BOXES = "boxes"  # of the detector, indexed by the number of boxes that suppression keeps


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.width = heads, size // heads
        self.q, self.k, self.v, self.out = (nn.Linear(size, size) for _ in range(4))

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.width).transpose(1, 2)

    def forward(self, x, mask, cache=None):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        scores = q @ k.transpose(2, 3) / math.sqrt(self.width) + mask
        made = (torch.softmax(scores, -1) @ v).transpose(1, 2)
        return self.out(made.reshape(x.size(0), x.size(1), -1)), k, v


class Block(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.attention = Attention(size, heads)
        self.norms = nn.ModuleList([nn.LayerNorm(size), nn.LayerNorm(size)])
        self.dense = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x, mask, cache=None):
        made, k, v = self.attention(self.norms[0](x), mask, cache)
        x = x + made
        return x + self.dense(self.norms[1](x)), k, v


class Encoder(nn.Module):
    """Tokens [batch, length], and a mask of the valid ones."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 32), nn.Embedding(64, 32)
        self.blocks = nn.ModuleList([Block(32, 4) for _ in range(2)])
        self.norm = nn.LayerNorm(32)

    def forward(self, tokens, counts):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.size(1)))
        mask = (1.0 - counts[:, None, None, :].float()) * -1e9
        for block in self.blocks:
            x, _, _ = block(x, mask)
        x = self.norm(x)
        weight = counts[..., None].float()
        return x, (x * weight).sum(1) / weight.sum(1).clamp(min=1)


class Decoder(nn.Module):
    """Tokens [batch, new] and past keys and values; returns the logits, and keys and values
    including the new ones.
    """

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 32), nn.Embedding(64, 32)
        self.block = Block(32, 4)
        self.head = nn.Linear(32, 50, bias=False)

    def forward(self, tokens, past_k, past_v):
        before, new = past_k.size(2), tokens.size(1)
        place = torch.arange(before, before + new)
        x = self.tokens(tokens) + self.places(place)
        allowed = torch.arange(before + new)[None, :] <= place[:, None]
        mask = torch.where(allowed, 0.0, -1e9)
        x, k, v = self.block(x, mask, (past_k, past_v))
        return self.head(x), k, v


class Detector(nn.Module):
    """Images [batch, 3, height, width]; returns boxes around each position, and those that
    suppression keeps.
    """

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1),
            nn.BatchNorm2d(8),
            nn.SiLU(),
            nn.Conv2d(8, 8, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, 1, 1),
        )
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.head = nn.Conv2d(8, 4 + 3, 1)

    def forward(self, image):
        x = self.head(self.up(self.body(image)))
        rows, columns = x.size(2), x.size(3)
        x = x.flatten(2).transpose(1, 2)
        y0, x0 = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        centre = torch.stack([x0, y0], -1).reshape(1, -1, 2).float() + 0.5
        middle, size = centre + x[..., :2].tanh(), x[..., 2:4].exp().clamp(max=3)
        boxes = torch.cat([middle - size / 2, middle + size / 2], -1)
        return boxes, x[..., 4:].sigmoid().transpose(1, 2)


def tokens(*shape):
    return torch.randint(0, 50, shape)


def counts(batch, length):
    return (torch.arange(length)[None, :] < torch.randint(1, length + 1, (batch, 1))).long()


def cache(batch, length):
    return torch.randn(batch, 4, length, 8)


def decoder_inputs(batch, new, before):
    return tokens(batch, new), cache(batch, before), cache(batch, before)


# The module; a function that makes inputs; their names and dynamic dimensions; outputs; arguments
# of each run, the first ones for the export.
MODELS = {
    "encoder": (
        Encoder,
        lambda batch, length: (tokens(batch, length), counts(batch, length)),
        {"tokens": {0: "batch", 1: "length"}, "counts": {0: "batch", 1: "length"}},
        ["states", "pooled"],
        [(2, 7), (1, 1), (3, 20)],
    ),
    "decoder": (
        Decoder,
        decoder_inputs,
        {
            "tokens": {0: "batch", 1: "new"},
            "past_k": {0: "batch", 2: "before"},
            "past_v": {0: "batch", 2: "before"},
        },
        ["logits", "k", "v"],
        [(2, 3, 4), (1, 1, 9), (2, 5, 1)],
    ),
    "detector": (
        Detector,
        lambda *size: (torch.randn(*size),),
        {"image": {0: "batch", 2: "height", 3: "width"}},
        [BOXES, "scores"],
        [(2, 3, 32, 32), (1, 3, 48, 64)],
    ),
}


def add_suppression(path):
    """Appends NonMaxSuppression to the detector, as exporters of detectors do."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(path)
    for name, value in {
        "most": np.int64(5),
        "overlap": np.float32(0.4),
        "least": np.float32(0.5),
    }.items():
        model.graph.initializer.append(numpy_helper.from_array(np.array([value]), name))
    inputs = [BOXES, "scores", "most", "overlap", "least"]
    model.graph.node.append(helper.make_node("NonMaxSuppression", inputs, ["chosen"]))
    model.graph.output.append(
        helper.make_tensor_value_info("chosen", onnx.TensorProto.INT64, ["found", 3])
    )
    onnx.save(model, path)


def suppress(boxes, scores, most=5, overlap=0.4, least=0.5):
    """Reference implementation: [batch, class, box] of each box that is kept."""
    kept_all = []
    for batch, kind in np.ndindex(*scores.shape[:2]):
        kept = []
        for i in np.argsort(-scores[batch, kind], kind="stable"):
            if len(kept) == most or scores[batch, kind, i] <= least:
                break
            if all(shared(boxes[batch, i], boxes[batch, j]) <= overlap for j in kept):
                kept.append(i)
        kept_all += [[batch, kind, i] for i in kept]
    return np.array(kept_all, np.int64).reshape(-1, 3)


def shared(one, other):
    size = np.maximum(np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2]), 0)
    inside = size.prod()
    return inside / ((one[2:] - one[:2]).prod() + (other[2:] - other[:2]).prod() - inside)


def export(name, folder):
    make, inputs, dynamic, outputs, runs = MODELS[name]
    torch.manual_seed(0)
    module = make().eval()
    path = folder / f"{name}.onnx"
    axes = dynamic | {output: {} for output in outputs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            inputs(*runs[0]),
            path,
            input_names=list(dynamic),
            output_names=outputs,
            dynamic_axes=axes,
            dynamo=False,
        )
    if name == "detector":
        add_suppression(path)
    return module, path


def check(program, name, folder):
    _, inputs, dynamic, outputs, runs = MODELS[name]
    module, path = export(name, folder)
    worst = 0.0
    for number, run in enumerate(runs):
        given = inputs(*run)
        with torch.no_grad():
            expected = module(*given)
        arguments = [program, "run", path]
        for input_name, tensor in zip(dynamic, given):
            np.save(folder / f"{input_name}.npy", tensor.numpy())
            arguments += ["--input", f"{input_name}={folder / input_name}.npy"]
        names = outputs + (["chosen"] if name == "detector" else [])
        for output in names:
            arguments += ["--output", f"{output}={folder / output}.npy"]
        done = subprocess.run(arguments, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{name}: {done.stderr.strip()}")
            return False
        made = {output: np.load(folder / f"{output}.npy") for output in names}
        for output, tensor in zip(outputs, expected):
            if made[output].shape != tuple(tensor.shape):
                print(
                    f"{name}: run {number}: {output} is {made[output].shape} and not "
                    f"{tuple(tensor.shape)}"
                )
                return False
            worst = max(worst, float(np.abs(made[output] - tensor.numpy()).max(initial=0)))
        if name == "detector" and not np.array_equal(
            made["chosen"], suppress(made[BOXES], made["scores"])
        ):
            print(f"{name}: run {number}: suppression keeps other boxes")
            return False
    print(f"{name}: {len(runs)} runs, within {worst:.1e}")
    return worst < LIMIT


def main():
    program, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        results = [check(program, name, Path(folder)) for name in names or MODELS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
