"""Operators of ONNX models, against numpy and the standard's formulas, with sizes and ranks that are known, open and missing."""

import itertools

import numpy as np
import pytest
import tenon
from onnx_models import BFLOAT16, graph, model_for, node, value

OPEN, NONE = "open", "none"  # dimensions without sizes; no shape at all
rng = np.random.default_rng(0)


def run(tmp_path, nodes, arrays, known="whole", initializers=None, opset=17, outputs="y"):
    """The outputs. known: what the model says of its inputs' shapes, or these by name."""
    dims = (
        known
        if isinstance(known, dict)
        else {OPEN: {name: [None] * array.ndim for name, array in arrays.items()}, NONE: dict.fromkeys(arrays)}.get(
            known
        )
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(model_for(nodes, arrays, outputs, initializers, dims, opset))
    session = tenon.Session(tenon.load(path))
    made = [session.run(arrays) for _ in range(3)]
    for again in made[1:]:
        for name in made[0]:
            np.testing.assert_array_equal(made[0][name], again[name])
    return made[0][outputs] if isinstance(outputs, str) else [made[0][name] for name in outputs]


def equal(got, expected):
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


def hardmax(x):
    return (np.arange(x.shape[-1]) == x.argmax(-1)[..., None]).astype(x.dtype)


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 3, 0), (4, 2, 3), (0,), (1,), ()])
def test_flatten(tmp_path, known, shape):
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    for axis in range(-x.ndim, x.ndim + 1):
        at = axis + x.ndim if axis < 0 else axis
        rows = np.prod(shape[:at], dtype=int)
        got = run(tmp_path, [node("Flatten", ["x"], "y", axis=axis)], {"x": x}, known)
        equal(got, x.reshape(rows, np.prod(shape[at:], dtype=int)))


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
@pytest.mark.parametrize(
    "kind, rule", [("Softmax", softmax), ("LogSoftmax", lambda x: np.log(softmax(x))), ("Hardmax", hardmax)]
)
def test_softmax_before_13_takes_all_axes_from_its_axis_on(tmp_path, known, kind, rule):
    for shape in [(2, 3, 4), (0, 3, 4)]:
        x = rng.standard_normal(shape).astype(np.float32)
        for axis in (0, 1, 2, -1, -2):
            if x.size == 0 and axis == 0:
                continue  # no element to choose from
            at = axis % 3
            flat = x.reshape(np.prod(shape[:at], dtype=int), np.prod(shape[at:], dtype=int))
            got = run(tmp_path, [node(kind, ["x"], "y", axis=axis)], {"x": x}, known, opset=11)
            np.testing.assert_allclose(got, rule(flat).reshape(shape), rtol=1e-5, atol=1e-6)
    got = run(tmp_path, [node("Hardmax", ["x"], "y", axis=1)], {"x": np.array([[[1, 5], [5, 5]]], np.float32)}, known)
    equal(got, np.array([[[0, 1], [1, 0]]], np.float32))


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_shape_with_start_and_end(tmp_path, known):
    x = np.zeros((2, 3, 5), np.float32)
    for start, end in itertools.product((None, 0, 1, -1, -2, 7, -9), repeat=2):
        limits = {name: at for name, at in (("start", start), ("end", end)) if at is not None}
        got = run(tmp_path, [node("Shape", ["x"], "y", **limits)], {"x": x}, known)
        equal(got, np.array(x.shape[start:end], np.int64))


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_eye_like(tmp_path, known):
    for shape, k in itertools.product([(2, 3), (3, 2), (0, 2)], (0, 1, -2, 5)):
        got = run(tmp_path, [node("EyeLike", ["x"], "y", k=k, dtype=7)], {"x": np.zeros(shape, np.float32)}, known)
        equal(got, np.eye(*shape, k, dtype=np.int64))
    with pytest.raises(tenon.Error):
        run(tmp_path, [node("EyeLike", ["x"], "y")], {"x": np.zeros((2, 2, 2), np.float32)}, known)


EQUATIONS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ijk,kl->il", [(2, 3, 4), (4, 5)]),
    ("ij->i", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ij,j->i", [(2, 3), (3,)]),
    ("i,j->", [(2,), (3,)]),
    ("ii->", [(3, 3)]),
    ("iji->ji", [(2, 3, 2)]),
    ("iij,j->i", [(2, 2, 3), (3,)]),
    ("ii->i", [(0, 0)]),
]


@pytest.mark.parametrize("dtype", "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split())
@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_einsum(tmp_path, known, dtype):
    for equation, shapes in EQUATIONS:
        arrays = {f"x{i}": rng.integers(0, 120, shape).astype(dtype) for i, shape in enumerate(shapes)}
        got = run(tmp_path, [node("Einsum", list(arrays), "y", equation=equation)], arrays, known)
        whole = [array.astype(np.int64 if array.dtype.kind in "iu" else dtype) for array in arrays.values()]
        equal(got, np.asarray(np.einsum(equation, *whole)).astype(dtype))


def test_einsum_refuses_a_diagonal_of_different_sizes(tmp_path):
    for known, shape in itertools.product(["whole", OPEN, NONE], [(2, 3), (1, 3), (3, 1)]):
        with pytest.raises(tenon.Error):
            run(tmp_path, [node("Einsum", ["x"], "y", equation="ii->i")], {"x": np.ones(shape, np.float32)}, known)


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
    """Nodes that no tensors of one rank and one size fit, and numpy's results."""
    a, b, c = integers(2, 3), integers(3, 4, 2), integers(2)
    yield node("Einsum", ["a", "b"], "y", equation="ij,jkl->ikl"), dict(a=a, b=b), np.einsum("ij,jkl->ikl", a, b)
    yield (
        node("Einsum", ["a", "b", "c"], "y", equation="ij,jkl,i->lk"),
        dict(a=a, b=b, c=c),
        np.einsum("ij,jkl,i->lk", a, b, c),
    )
    x, w, bias = integers(1, 4, 5, 6), integers(6, 4, 3, 2), integers(6)
    yield node("Conv", ["x", "w", "b"], "y"), dict(x=x, w=w, b=bias), conv(x, w, bias)
    yield node("Conv", ["x", "w"], "y", group=2), dict(x=x, w=w[:, :2]), conv(x, w[:, :2], None, 2)
    yield node("Conv", ["x", "w", "b"], "y", group=4), dict(x=x, w=w[:4, :1], b=bias[:4]), conv(x, w[:4, :1], bias, 4)
    x, scale, bias = integers(2, 6, 4), integers(3), integers(3)
    arrays = dict(x=x, s=scale, b=bias)
    yield node("GroupNormalization", list(arrays), "y", num_groups=3), arrays, group_norm(x, scale, bias, 3)


@pytest.mark.parametrize("known", [OPEN, NONE])
def test_nodes_wait_for_shapes_that_no_guess_fits(tmp_path, known):
    for one, arrays, expected in no_guess_fits():
        first = next(iter(arrays))
        for said in (known, {name: arrays[first].shape if name == first else None for name in arrays}):
            got = run(tmp_path, [one], arrays, said, opset=18)
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4, err_msg=str(one))


@pytest.mark.parametrize("known", [OPEN, NONE])
def test_a_dtype_that_was_taken_wrongly_is_an_error(tmp_path, known):
    """What is between nodes declares none: the first input's is taken, which is right for most operators."""
    arrays = dict(x=integers(1, 4, 5, 6), w=integers(6, 2, 3, 2))
    nodes = [node("Conv", ["x", "w"], "c", group=2), node("Neg", ["c"], "y")]
    np.testing.assert_array_equal(run(tmp_path, nodes, arrays, known), -conv(arrays["x"], arrays["w"], None, 2))
    arrays = {name: array.astype(np.int8) for name, array in arrays.items()}
    nodes = [node("ConvInteger", ["x", "w"], "c", group=2), node("Cast", ["c"], "y", to=1)]
    with pytest.raises(tenon.Error, match="its output 0 is int32, but was taken for int8"):
        run(tmp_path, nodes, arrays, known)


def grid(theta, size, corners):
    """Of AffineGrid, for images."""

    def along(n):
        return np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1

    y, x = np.meshgrid(along(size[2]), along(size[3]), indexing="ij")
    return np.einsum("hwk,njk->nhwj", np.stack([x, y, np.ones_like(x)], -1), theta)


def centers():
    """What CenterCropPad makes of one array."""
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
            weights[begin : middle + 1, band] = (np.arange(begin, middle + 1) - begin) / (middle - begin)
        weights[middle:end, band] = (end - np.arange(middle, end)) / (end - middle)
    return weights


def check_sizes(tmp_path, nodes, inputs, cases, known, opset):
    """cases: arrays and the result. One session computes all of them."""
    dims = {OPEN: {name: [None] * array.ndim for name, array in inputs.items()}, NONE: dict.fromkeys(inputs)}.get(known)
    path = tmp_path / "m.onnx"
    path.write_bytes(model_for(nodes, inputs, "y", None, dims, opset))
    session = tenon.Session(tenon.load(path))
    for arrays, expected in [*cases, cases[0]]:
        got = session.run(arrays)["y"]
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_sizes_that_a_run_is_given(tmp_path, known):
    theta = rng.standard_normal((2, 2, 3)).astype(np.float32)
    images = [(2, 1, 3, 4), (2, 3, 5, 2)]
    cases = [({"theta": theta, "size": np.array(image)}, grid(theta, image, False)) for image in images]
    check_sizes(tmp_path, [node("AffineGrid", ["theta", "size"], "y")], cases[0][0], cases, known, 20)
    nodes = [node("CenterCropPad", ["x", "size"], "y")]
    cases = [({"x": x, "size": np.array(expected.shape)}, expected) for x, expected in centers()]
    check_sizes(tmp_path, nodes, cases[0][0], cases, known, 18)


@pytest.mark.parametrize("known", [OPEN, NONE])
def test_sizes_that_a_run_computes(tmp_path, known):
    nodes = [node("Shape", ["like"], "size"), node("CenterCropPad", ["x", "size"], "y")]
    cases = [({"x": x, "like": np.zeros_like(expected)}, expected) for x, expected in centers()]
    check_sizes(tmp_path, nodes, cases[0][0], cases, known, 18)


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_an_axis_that_a_run_is_given(tmp_path, known):
    x = rng.standard_normal((2, 3, 4, 1)).astype(np.float32)
    cases = []
    for axis in (1, 2):
        y = np.fft.fft(x[..., 0], axis=axis)
        cases.append(({"x": x, "axis": np.array(axis)}, np.stack([y.real, y.imag], -1)))
    check_sizes(tmp_path, [node("DFT", ["x", "", "axis"], "y")], cases[0][0], cases, known, 20)


@pytest.mark.parametrize("known", ["whole", NONE])
def test_mel_weights_of_numbers_that_only_a_run_knows(tmp_path, known):
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


def conv_transpose(x, w, bias, *, strides, dilations, extra, pads=None, mode="NOTSET", sizes=None, group=1):
    """ONNX's formula, element by element: what is cut off, and zeros where nothing reaches."""
    axes = x.ndim - 2
    full = [strides[a] * (x.shape[a + 2] - 1) + extra[a] + (w.shape[a + 2] - 1) * dilations[a] + 1 for a in range(axes)]
    if sizes is None and mode.startswith("SAME"):
        sizes = [x.shape[a + 2] * strides[a] for a in range(axes)]
    if sizes is None:
        pads = pads or [0] * 2 * axes
        begin, sizes = pads[:axes], [full[a] - pads[a] - pads[a + axes] for a in range(axes)]
    else:
        total = [max(full[a] - sizes[a], 0) for a in range(axes)]
        begin = [cut // 2 if mode == "SAME_UPPER" else cut - cut // 2 for cut in total]
    filters = w.shape[1]
    y = np.zeros((x.shape[0], group * filters, *sizes))
    for g, at in itertools.product(range(group), itertools.product(*map(range, x.shape[2:]))):
        taken, made = np.split(np.arange(x.shape[1]), group)[g], slice(g * filters, (g + 1) * filters)
        for tap in itertools.product(*map(range, w.shape[2:])):
            to = tuple(at[a] * strides[a] + tap[a] * dilations[a] - begin[a] for a in range(axes))
            if all(0 <= to[a] < sizes[a] for a in range(axes)):
                y[(slice(None), made, *to)] += x[(slice(None), taken, *at)] @ w[(taken, slice(None), *tap)]
    return y + bias.reshape(1, -1, *[1] * axes)


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
@pytest.mark.parametrize("mode", ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
def test_conv_transpose(tmp_path, known, mode):
    """output_padding from the stride on, and output_shape with sizes that are not known."""
    w, bias = rng.standard_normal((2, 3, 3, 2)).astype(np.float32), rng.standard_normal(3).astype(np.float32)
    x = rng.standard_normal((2, 2, 4, 3)).astype(np.float32)
    cases = [
        dict(strides=[1, 1], dilations=[3, 3], output_padding=[2, 2]),
        dict(strides=[1, 2], dilations=[3, 4], output_padding=[2, 1]),
        dict(strides=[2, 2], dilations=[1, 1], output_padding=[1, 0]),
    ]
    if mode == "NOTSET":
        cases += [dict(cases[0], pads=pads) for pads in ([1, 0, 1, 0], [0, 1, 3, 2], [2, 2, 0, 1])]
    if mode != "VALID":
        cases += [
            dict(strides=[2, 2], dilations=[1, 1], output_padding=[0, 0], output_shape=sizes)
            for sizes in ([9, 6], [8, 5], [7, 4], [12, 9], [2, 3, 9, 6])
        ]
        cases += [dict(strides=[2, 3], dilations=[1, 2], output_padding=[1, 1], output_shape=[10, 8])]
    for case in cases:
        nodes = [node("ConvTranspose", ["x", "w", "b"], "y", auto_pad=mode, **case)]
        sizes = case.get("output_shape")
        expected = conv_transpose(
            x,
            w,
            bias,
            strides=case["strides"],
            dilations=case["dilations"],
            extra=case["output_padding"],
            pads=case.get("pads"),
            mode=mode,
            sizes=sizes and sizes[-2:],
        )
        got = run(tmp_path, nodes, {"x": x}, known, {"w": w, "b": bias})
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5, err_msg=str(case))


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_conv_transpose_with_an_end_pad_and_output_padding_on_different_axes(tmp_path, known):
    x, w = np.full((1, 1, 1, 1), 3, np.float32), np.full((1, 1, 2, 1), 2, np.float32)
    sums = dict(strides=[2, 1], dilations=[1, 2], output_padding=[1, 1], pads=[0, 0, 1, 0])
    got = run(tmp_path, [node("ConvTranspose", ["x", "w"], "y", **sums)], {"x": x}, known, {"w": w})
    equal(got, np.array([[[[6, 0], [6, 0]]]], np.float32))
    cut = dict(strides=[1], dilations=[3], output_padding=[2], pads=[1, 1])  # all that is left is output padding
    got = run(tmp_path, [node("ConvTranspose", ["x", "w"], "y", **cut)], {"x": x[0]}, known, {"w": w[:, :, 0]})
    equal(got, np.zeros((1, 1, 1), np.float32))


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_conv_transpose_of_random_parameters(tmp_path, known):
    draw = np.random.default_rng(1)
    for i in range(150):
        axes, group = draw.integers(1, 3), int(draw.integers(1, 3))
        low_high = {"strides": (1, 4), "dilations": (1, 4), "sizes": (1, 5), "kernel": (1, 4)}
        drawn = {name: draw.integers(*limits, axes).tolist() for name, limits in low_high.items()}
        strides, dilations = drawn["strides"], drawn["dilations"]
        extra = [int(draw.integers(0, max(pair))) for pair in zip(strides, dilations)]
        x = draw.integers(-4, 5, (2, 2 * group, *drawn["sizes"])).astype(np.float32)
        w = draw.integers(-4, 5, (2 * group, 3, *drawn["kernel"])).astype(np.float32)
        bias = draw.integers(-4, 5, 3 * group).astype(np.float32)
        attributes = dict(strides=strides, dilations=dilations, output_padding=extra, group=group)
        full = [
            strides[a] * (x.shape[a + 2] - 1) + extra[a] + (w.shape[a + 2] - 1) * dilations[a] + 1 for a in range(axes)
        ]
        pads = draw.integers(0, 3, 2 * axes).tolist()
        mode, sizes = str(draw.choice(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])), None
        if mode == "VALID" or any(full[a] <= pads[a] + pads[a + axes] for a in range(axes)):
            pads = None
        elif draw.integers(2):
            pads, sizes = None, [max(1, int(size + draw.integers(-3, 4))) for size in full]
        elif mode != "NOTSET":
            pads = None
        attributes |= {"pads": pads} if pads else {"output_shape": sizes} if sizes else {}
        expected = conv_transpose(
            x,
            w,
            bias,
            strides=strides,
            dilations=dilations,
            extra=extra,
            pads=pads,
            mode=mode,
            sizes=sizes,
            group=group,
        )
        nodes = [node("ConvTranspose", ["x", "w", "b"], "y", auto_pad=mode, **attributes)]
        got = run(tmp_path, nodes, {"x": x}, known, {"w": w, "b": bias})
        np.testing.assert_array_equal(got, expected.astype(np.float32), err_msg=f"{i}: {attributes} {mode}")


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint32", "int64", "uint64"])
def test_gemm(tmp_path, known, dtype):
    whole = np.dtype(dtype).kind in "iu"
    for trans_a, trans_b, scale, c_shape in itertools.product(
        (0, 1), (0, 1), (1.0, 2.0), (None, (4,), (3, 4), (3, 1), ())
    ):
        a, b = rng.integers(-9, 9, (3, 5)).astype(dtype), rng.integers(-9, 9, (5, 4)).astype(dtype)
        c = None if c_shape is None else np.asarray(rng.integers(-9, 9, c_shape)).astype(dtype)
        number = np.uint64 if whole else np.float64  # whole numbers of any sign wrap around
        expected = number(scale) * (a.astype(number) @ b.astype(number))
        if c is not None:
            expected = expected + number(scale) * c.astype(number)
        arrays = {
            "a": a.T.copy() if trans_a else a,
            "b": b.T.copy() if trans_b else b,
            **({} if c is None else {"c": c}),
        }
        nodes = [node("Gemm", list(arrays), "y", transA=trans_a, transB=trans_b, alpha=scale, beta=scale)]
        equal(run(tmp_path, nodes, arrays, known), expected.astype(dtype))


def test_gemm_of_float16_rounds_once(tmp_path):
    a, b = np.full((1, 2), 1, np.float16), np.array([[2048], [1]], np.float16)
    equal(
        run(tmp_path, [node("Gemm", ["a", "b", "c"], "y")], {"a": a, "b": b, "c": np.ones(1, np.float16)}),
        np.array([[2050]], np.float16),
    )


def test_gemm_of_bfloat16(tmp_path):
    arrays = {"a": rng.integers(-9, 9, (2, 3)).astype(np.float32), "b": rng.integers(-9, 9, (4, 3)).astype(np.float32)}
    nodes = [node("Cast", [name], name + "16", to=BFLOAT16) for name in arrays]
    nodes += [node("Gemm", ["a16", "b16"], "y16", transB=1), node("Cast", ["y16"], "y", to=1)]
    equal(run(tmp_path, nodes, arrays), arrays["a"] @ arrays["b"].T)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_matmul_of_integers_wraps_around(tmp_path, known, dtype):
    limits = np.iinfo(dtype)
    for a_shape, b_shape in [((2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (2, 3, 1)), ((2, 0), (0, 3))]:
        a, b = (rng.integers(limits.min, limits.max, shape, dtype, endpoint=True) for shape in (a_shape, b_shape))
        equal(run(tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": a, "b": b}, known), np.matmul(a, b))


def test_matmul_of_shapes_that_do_not_fit_says_them(tmp_path):
    for dtype in ("float32", "float16", "int32"):
        arrays = {"a": np.zeros((5, 3), dtype), "b": np.zeros((4, 2), dtype)}
        with pytest.raises(tenon.FileError, match=r"MatMul node.*a has 3 columns but b has 4 rows.*\[5, 3\].*\[4, 2\]"):
            run(tmp_path, [node("MatMul", ["a", "b"], "y")], arrays)


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
@pytest.mark.parametrize("scale_shape, zero_shape", list(itertools.product([(), (1,)], repeat=2)))
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32"])
def test_one_zero_point_beside_one_scale(tmp_path, known, scale_shape, zero_shape, dtype):
    """[] and [1] are both one number, as quantizers write them."""
    scale, zero = np.full(scale_shape, 0.5, np.float32), np.full(zero_shape, 3, dtype)
    x = rng.integers(0, 100, (2, 3)).astype(dtype)
    for constants in ({"s": scale, "z": zero}, {}):
        arrays = {"x": x} if constants else {"x": x, "s": scale, "z": zero}
        got = run(tmp_path, [node("DequantizeLinear", ["x", "s", "z"], "y")], arrays, known, constants, opset=21)
        equal(got, (x.astype(np.float32) - 3) / 2)
        if dtype == "int32":
            continue
        numbers = {**arrays, "x": got}
        again = run(tmp_path, [node("QuantizeLinear", ["x", "s", "z"], "y")], numbers, known, constants, opset=21)
        equal(again, x)


def test_one_zero_point_beside_several_scales_is_refused(tmp_path):
    for kind, x in (("DequantizeLinear", np.zeros((2, 3), np.uint8)), ("QuantizeLinear", np.zeros((2, 3), np.float32))):
        for zero, known in itertools.product(((), (1,)), ("whole", OPEN)):
            arrays = {"x": x, "s": np.ones(3, np.float32), "z": np.zeros(zero, np.uint8)}
            with pytest.raises(tenon.Error, match="zero_point"):
                run(tmp_path, [node(kind, ["x", "s", "z"], "y")], arrays, known)


@pytest.mark.parametrize("known", ["whole", OPEN])
def test_rank_of_expand_follows_from_the_length_of_its_target(tmp_path, known):
    nodes = [
        node("Shape", ["x"], "s"),
        node("Gather", ["s", "zero"], "n"),
        node("Concat", ["n", "three"], "k", axis=0),
        node("Expand", ["one", "k"], "e"),
        node("Einsum", ["e"], "y", equation="ij->ji"),  # needs the rank
    ]
    initializers = {"zero": np.array([0]), "three": np.array([3]), "one": np.ones(1, np.float32)}
    equal(run(tmp_path, nodes, {"x": np.ones((4, 5), np.float32)}, known, initializers), np.ones((3, 4), np.float32))


@pytest.mark.parametrize("known", ["whole", OPEN])
@pytest.mark.parametrize("shape", [(), (1,), (2,)])
def test_qlinear_matmul_has_one_scale_or_one_for_each_row(tmp_path, known, shape):
    arrays = {
        "a": rng.integers(0, 9, (2, 3)).astype(np.uint8),
        "as": rng.integers(1, 4, shape).astype(np.float32),
        "az": np.asarray(rng.integers(0, 4, shape)).astype(np.uint8),
        "b": rng.integers(0, 9, (3, 4)).astype(np.uint8),
        "bs": np.float32(0.5),
        "bz": np.uint8(3),
        "ys": np.full(shape, 4, np.float32),
        "yz": np.full(shape, 7, np.uint8),
    }
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    column = {
        name: array.astype(float).reshape(-1, 1) if array.shape == (2,) else array.astype(float)
        for name, array in arrays.items()
    }
    real = (column["as"] * (column["a"] - column["az"])) @ (column["bs"] * (column["b"] - column["bz"]))
    expected = np.clip(np.rint(real / column["ys"]) + column["yz"], 0, 255).astype(np.uint8)
    equal(run(tmp_path, [node("QLinearMatMul", list(arrays), "y")], arrays, known), expected)


def layer_norm(x, scale):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale


def test_nodes_that_need_ranks_wait_for_those_of_a_run(tmp_path):
    """One session, several ranks and sizes, in every kind of file."""
    nodes = [
        node("LayerNormalization", ["x", "s"], "n", axis=-1, name="norm"),
        node("LpNormalization", ["n"], "l", axis=-1),
        node("Mul", ["l", "l"], "y"),
    ]
    (tmp_path / "m.onnx").write_bytes(
        model_for(nodes, {"x": np.zeros(1, np.float32), "s": np.zeros(1, np.float32)}, dims={"x": None, "s": None})
    )
    graph = tenon.load(tmp_path / "m.onnx")
    graph.save(tmp_path / "m.tenon")
    for one in (graph, tenon.load(tmp_path / "m.tenon"), tenon.from_json(graph.to_json())):
        session = tenon.Session(one)
        for shape in [(2, 3), (2, 3), (4, 2, 5), (3, 2, 2, 4), (2, 3), (5, 3), (7,)]:
            x, s = rng.standard_normal(shape).astype(np.float32), rng.standard_normal(shape[-1:]).astype(np.float32)
            normed = layer_norm(x.astype(float), s)
            expected = normed**2 / (normed**2).sum(-1, keepdims=True)
            np.testing.assert_allclose(session.run({"x": x, "s": s})["y"], expected, rtol=1e-4, atol=1e-6)
        with pytest.raises(tenon.Error, match="norm"):
            session.run({"x": np.zeros((2, 3), np.float32), "s": np.zeros(2, np.float32)})


def test_nodes_that_wait_may_have_optional_inputs_constants_and_several_outputs(tmp_path):
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in [(2, 2, 5, 4), (3, 2, 3, 3), (3,)])
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
