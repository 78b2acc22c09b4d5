"""ONNX nodes that wait for ranks, sizes and elements known only at run time, against numpy and the
standard's formulas.
"""

import itertools

import numpy as np
import pytest
import tenon
from onnx_models import NONE, OPEN, equal, graph, model_for, node, run, value

rng = np.random.default_rng(0)


def conv(x, w, bias=None, group=1):
    """[n, c, h, w] by ONNX's formula."""
    n, _, height, width = x.shape
    filters, channels, rows, columns = w.shape
    y = np.zeros((n, filters, height - rows + 1, width - columns + 1), np.float32)
    for f, i, j in itertools.product(range(filters), range(y.shape[2]), range(y.shape[3])):
        begin = f // (filters // group) * channels
        seen = x[:, begin : begin + channels, i : i + rows, j : j + columns]
        y[:, f, i, j] = (seen * w[f]).sum((1, 2, 3)) + (0 if bias is None else bias[f])
    return y


def group_norm(x, scale, bias, groups):
    parts = x.reshape(x.shape[0], groups, -1)
    parts = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1e-5)
    return (parts * scale[:, None] + bias[:, None]).reshape(x.shape)


def integers(*shape):
    return rng.integers(-4, 5, shape).astype(np.float32)


def no_guess_fits():
    """Nodes that no tensors of one rank and size fit, and numpy's results."""
    a, b, c = integers(2, 3), integers(3, 4, 2), integers(2)
    yield (
        node("Einsum", ["a", "b"], "y", equation="ij,jkl->ikl"),
        dict(a=a, b=b),
        np.einsum("ij,jkl->ikl", a, b),
    )
    yield (
        node("Einsum", ["a", "b", "c"], "y", equation="ij,jkl,i->lk"),
        dict(a=a, b=b, c=c),
        np.einsum("ij,jkl,i->lk", a, b, c),
    )
    x, w, bias = integers(1, 4, 5, 6), integers(6, 4, 3, 2), integers(6)
    yield node("Conv", ["x", "w", "b"], "y"), dict(x=x, w=w, b=bias), conv(x, w, bias)
    yield node("Conv", ["x", "w"], "y", group=2), dict(x=x, w=w[:, :2]), conv(x, w[:, :2], None, 2)
    yield (
        node("Conv", ["x", "w", "b"], "y", group=4),
        dict(x=x, w=w[:4, :1], b=bias[:4]),
        conv(x, w[:4, :1], bias, 4),
    )
    x, scale, bias = integers(2, 6, 4), integers(3), integers(3)
    arrays = dict(x=x, s=scale, b=bias)
    yield (
        node("GroupNormalization", list(arrays), "y", num_groups=3),
        arrays,
        group_norm(x, scale, bias, 3),
    )


@pytest.mark.parametrize("known", [OPEN, NONE])
def test_nodes_wait_for_shapes_that_no_guess_fits(tmp_path, known):
    for one, arrays, expected in no_guess_fits():
        first = next(iter(arrays))
        for said in (
            known,
            {name: arrays[first].shape if name == first else None for name in arrays},
        ):
            got = run(tmp_path, [one], arrays, said, opset=18)
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4, err_msg=str(one))


@pytest.mark.parametrize("known", [OPEN, NONE])
def test_a_dtype_that_was_taken_wrongly_is_an_error(tmp_path, known):
    """Intermediate values have no declared dtype; the first input's is assumed, which most
    operators return.
    """
    arrays = dict(x=integers(1, 4, 5, 6), w=integers(6, 2, 3, 2))
    nodes = [node("Conv", ["x", "w"], "c", group=2), node("Neg", ["c"], "y")]
    np.testing.assert_array_equal(
        run(tmp_path, nodes, arrays, known), -conv(arrays["x"], arrays["w"], None, 2)
    )
    arrays = {name: array.astype(np.int8) for name, array in arrays.items()}
    nodes = [node("ConvInteger", ["x", "w"], "c", group=2), node("Cast", ["c"], "y", to=1)]
    with pytest.raises(tenon.Error, match="its output 0 is int32, but was assumed to be int8"):
        run(tmp_path, nodes, arrays, known)


def grid(theta, size, corners):
    """AffineGrid's formula, for images."""

    def along(n):
        return np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1

    y, x = np.meshgrid(along(size[2]), along(size[3]), indexing="ij")
    return np.einsum("hwk,njk->nhwj", np.stack([x, y, np.ones_like(x)], -1), theta)


def centers():
    """CenterCropPad's results for one array."""
    x = integers(4, 5)
    wide, high = np.zeros((3, 7), np.float32), np.zeros((6, 2), np.float32)
    wide[:, 1:6], high[1:5] = x[:3], x[:, 1:3]
    return [(x, wide), (x, high)]


def mel_weights(bands, length, rate, low, high):
    """The standard's formula."""
    rows = length // 2 + 1

    def mel(hertz):
        return 2595 * np.log10(1 + hertz / 700)

    corners = mel(low) + np.arange(bands + 2) * (mel(high) - mel(low)) / (bands + 2)
    corners = ((length + 1) * (700 * (10 ** (corners / 2595) - 1)) // rate).astype(int)
    weights = np.zeros((rows, bands), np.float32)
    for band, (begin, middle, end) in enumerate(zip(corners, corners[1:], corners[2:])):
        if begin == middle:
            weights[middle, band] = 1
        else:
            weights[begin : middle + 1, band] = (np.arange(begin, middle + 1) - begin) / (
                middle - begin
            )
        weights[middle:end, band] = (end - np.arange(middle, end)) / (end - middle)
    return weights


def check_sizes(tmp_path, nodes, inputs, cases, known, opset):
    """cases: arrays and results. One session computes all of them."""
    dims = {
        OPEN: {name: [None] * array.ndim for name, array in inputs.items()},
        NONE: dict.fromkeys(inputs),
    }.get(known)
    path = tmp_path / "m.onnx"
    path.write_bytes(model_for(nodes, inputs, "y", None, dims, opset))
    session = tenon.Session(tenon.load(path))
    for arrays, expected in [*cases, cases[0]]:
        got = session.run(arrays)["y"]
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_sizes_that_are_inputs_of_a_run(tmp_path, known):
    theta = rng.standard_normal((2, 2, 3)).astype(np.float32)
    images = [(2, 1, 3, 4), (2, 3, 5, 2)]
    cases = [
        ({"theta": theta, "size": np.array(image)}, grid(theta, image, False)) for image in images
    ]
    check_sizes(
        tmp_path, [node("AffineGrid", ["theta", "size"], "y")], cases[0][0], cases, known, 20
    )
    nodes = [node("CenterCropPad", ["x", "size"], "y")]
    cases = [({"x": x, "size": np.array(expected.shape)}, expected) for x, expected in centers()]
    check_sizes(tmp_path, nodes, cases[0][0], cases, known, 18)


@pytest.mark.parametrize("known", [OPEN, NONE])
def test_sizes_that_a_run_computes(tmp_path, known):
    nodes = [node("Shape", ["like"], "size"), node("CenterCropPad", ["x", "size"], "y")]
    cases = [({"x": x, "like": np.zeros_like(expected)}, expected) for x, expected in centers()]
    check_sizes(tmp_path, nodes, cases[0][0], cases, known, 18)


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_an_axis_that_is_an_input_of_a_run(tmp_path, known):
    x = rng.standard_normal((2, 3, 4, 1)).astype(np.float32)
    cases = []
    for axis in (1, 2):
        y = np.fft.fft(x[..., 0], axis=axis)
        cases.append(({"x": x, "axis": np.array(axis)}, np.stack([y.real, y.imag], -1)))
    check_sizes(tmp_path, [node("DFT", ["x", "", "axis"], "y")], cases[0][0], cases, known, 20)


@pytest.mark.parametrize("known", ["whole", NONE])
def test_mel_weights_of_numbers_that_are_inputs_of_a_run(tmp_path, known):
    names = ["bands", "length", "rate", "low", "high"]
    cases = []
    for numbers in [(8, 16, 8192, 0.0, 4000.0), (4, 32, 8000, 100.0, 3000.0)]:
        arrays = {
            name: np.array(number, np.int64 if isinstance(number, int) else np.float32)
            for name, number in zip(names, numbers)
        }
        cases.append((arrays, mel_weights(*numbers)))
    check_sizes(tmp_path, [node("MelWeightMatrix", names, "y")], cases[0][0], cases, known, 17)


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_a_loop_whose_carried_value_gains_an_axis_in_each_run(tmp_path, known):
    body = graph(
        [node("Identity", ["go"], "again"), node("Unsqueeze", ["carried", "axis"], "next")],
        [value("run", (), 7), value("go", (), 9), value("carried", None)],
        [value("again", (), 9), value("next", None)],
        {"axis": np.array([0])},
    )
    x = integers(2, 3)
    for count in (0, 1, 3):
        arrays = {"count": np.array(count), "x": x}
        nodes = [node("Loop", ["count", "", "x"], "y", body=body)]
        equal(run(tmp_path, nodes, arrays, known), x.reshape([1] * count + [2, 3]))


def layer_norm(x, scale):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale


def test_nodes_that_need_ranks_wait_for_those_of_a_run(tmp_path):
    """One session with several ranks and sizes, in every kind of file."""
    nodes = [
        node("LayerNormalization", ["x", "s"], "n", axis=-1, name="norm"),
        node("LpNormalization", ["n"], "l", axis=-1),
        node("Mul", ["l", "l"], "y"),
    ]
    (tmp_path / "m.onnx").write_bytes(
        model_for(
            nodes,
            {"x": np.zeros(1, np.float32), "s": np.zeros(1, np.float32)},
            dims={"x": None, "s": None},
        )
    )
    graph = tenon.load(tmp_path / "m.onnx")
    graph.save(tmp_path / "m.tenon")
    for one in (graph, tenon.load(tmp_path / "m.tenon"), tenon.from_json(graph.to_json())):
        session = tenon.Session(one)
        for shape in [(2, 3), (2, 3), (4, 2, 5), (3, 2, 2, 4), (2, 3), (5, 3), (7,)]:
            x, s = (
                rng.standard_normal(shape).astype(np.float32),
                rng.standard_normal(shape[-1:]).astype(np.float32),
            )
            normed = layer_norm(x.astype(float), s)
            expected = normed**2 / (normed**2).sum(-1, keepdims=True)
            np.testing.assert_allclose(
                session.run({"x": x, "s": s})["y"], expected, rtol=1e-4, atol=1e-6
            )
        with pytest.raises(tenon.Error, match="norm"):
            session.run({"x": np.zeros((2, 3), np.float32), "s": np.zeros(2, np.float32)})


def test_nodes_that_wait_may_have_optional_inputs_constants_and_several_outputs(tmp_path):
    x, w, b = (
        rng.standard_normal(shape).astype(np.float32)
        for shape in [(2, 2, 5, 4), (3, 2, 3, 3), (3,)]
    )
    cases = [
        ([node("Conv", ["x", "w", ""], "y", pads=[1, 1, 1, 1])], {"x": x, "w": w}, {}),
        ([node("Conv", ["x", "w", "b"], "y")], {"x": x, "w": w}, {"b": b}),
        (
            [node("BatchNormalization", ["x", "s", "s", "m", "v"], "y")],
            {"x": x, "s": b[:2], "m": b[1:], "v": b[:2] ** 2},
            {},
        ),
        ([node("LRN", ["x"], "y", size=3)], {"x": x}, {}),
        (
            [
                node("LayerNormalization", ["x", "s"], ["n", "mean", "d"], axis=2),
                node("Add", ["n", "mean"], "t"),
                node("Mul", ["t", "d"], "y"),
            ],
            {"x": x},
            {"s": rng.standard_normal((5, 4)).astype(np.float32)},
        ),
    ]
    for nodes, arrays, initializers in cases:
        expected = run(tmp_path, nodes, arrays, "whole", initializers)
        for known in (OPEN, NONE):
            np.testing.assert_allclose(
                run(tmp_path, nodes, arrays, known, initializers), expected, rtol=1e-5, atol=1e-6
            )


def test_nodes_that_are_refused_with_every_shape_are_refused_when_the_model_is_read(tmp_path):
    arrays = {"x": np.zeros((2, 3), np.float32)}
    for nodes in ([node("LRN", ["x"], "y", size=-1)], [node("RandomUniformLike", ["x"], "y")]):
        (tmp_path / "m.onnx").write_bytes(model_for(nodes, arrays, dims={"x": None}))
        with pytest.raises(tenon.FileError):
            tenon.load(tmp_path / "m.onnx")
