"""Operators of ONNX models, against numpy and the standard's formulas, with known, open and missing
sizes and ranks.
"""

import itertools

import numpy as np
import pytest
import tenon
from onnx_models import BFLOAT16, NONE, OPEN, equal, node, run

rng = np.random.default_rng(0)


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
    "kind, rule",
    [("Softmax", softmax), ("LogSoftmax", lambda x: np.log(softmax(x))), ("Hardmax", hardmax)],
)
def test_softmax_before_13_takes_all_axes_from_its_axis_on(tmp_path, known, kind, rule):
    for shape in [(2, 3, 4), (0, 3, 4)]:
        x = rng.standard_normal(shape).astype(np.float32)
        for axis in (0, 1, 2, -1, -2):
            if x.size == 0 and axis == 0:
                continue  # there is no element to choose
            at = axis % 3
            flat = x.reshape(np.prod(shape[:at], dtype=int), np.prod(shape[at:], dtype=int))
            got = run(tmp_path, [node(kind, ["x"], "y", axis=axis)], {"x": x}, known, opset=11)
            np.testing.assert_allclose(got, rule(flat).reshape(shape), rtol=1e-5, atol=1e-6)
    got = run(
        tmp_path,
        [node("Hardmax", ["x"], "y", axis=1)],
        {"x": np.array([[[1, 5], [5, 5]]], np.float32)},
        known,
    )
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
        got = run(
            tmp_path,
            [node("EyeLike", ["x"], "y", k=k, dtype=7)],
            {"x": np.zeros(shape, np.float32)},
            known,
        )
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


@pytest.mark.parametrize(
    "dtype", "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split()
)
@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_einsum(tmp_path, known, dtype):
    for equation, shapes in EQUATIONS:
        arrays = {
            f"x{i}": rng.integers(0, 120, shape).astype(dtype) for i, shape in enumerate(shapes)
        }
        got = run(tmp_path, [node("Einsum", list(arrays), "y", equation=equation)], arrays, known)
        whole = [
            array.astype(np.int64 if array.dtype.kind in "iu" else dtype)
            for array in arrays.values()
        ]
        equal(got, np.asarray(np.einsum(equation, *whole)).astype(dtype))


def test_einsum_refuses_a_diagonal_of_different_sizes(tmp_path):
    for known, shape in itertools.product(["whole", OPEN, NONE], [(2, 3), (1, 3), (3, 1)]):
        with pytest.raises(tenon.Error):
            run(
                tmp_path,
                [node("Einsum", ["x"], "y", equation="ii->i")],
                {"x": np.ones(shape, np.float32)},
                known,
            )


def conv_transpose(
    x, w, bias, *, strides, dilations, extra, pads=None, mode="NOTSET", sizes=None, group=1
):
    """ONNX's formula, element by element: outputs that are cropped, and zeros that nothing
    contributes to.
    """
    axes = x.ndim - 2
    full = [
        strides[a] * (x.shape[a + 2] - 1) + extra[a] + (w.shape[a + 2] - 1) * dilations[a] + 1
        for a in range(axes)
    ]
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
        taken, made = (
            np.split(np.arange(x.shape[1]), group)[g],
            slice(g * filters, (g + 1) * filters),
        )
        for tap in itertools.product(*map(range, w.shape[2:])):
            to = tuple(at[a] * strides[a] + tap[a] * dilations[a] - begin[a] for a in range(axes))
            if all(0 <= to[a] < sizes[a] for a in range(axes)):
                y[(slice(None), made, *to)] += (
                    x[(slice(None), taken, *at)] @ w[(taken, slice(None), *tap)]
                )
    return y + bias.reshape(1, -1, *[1] * axes)


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
@pytest.mark.parametrize("mode", ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
def test_conv_transpose(tmp_path, known, mode):
    """output_padding of at least the stride, and output_shape with unknown sizes."""
    w, bias = (
        rng.standard_normal((2, 3, 3, 2)).astype(np.float32),
        rng.standard_normal(3).astype(np.float32),
    )
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
        cases += [
            dict(strides=[2, 3], dilations=[1, 2], output_padding=[1, 1], output_shape=[10, 8])
        ]
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
    cut = dict(
        strides=[1], dilations=[3], output_padding=[2], pads=[1, 1]
    )  # only output padding is left
    got = run(
        tmp_path,
        [node("ConvTranspose", ["x", "w"], "y", **cut)],
        {"x": x[0]},
        known,
        {"w": w[:, :, 0]},
    )
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
            strides[a] * (x.shape[a + 2] - 1) + extra[a] + (w.shape[a + 2] - 1) * dilations[a] + 1
            for a in range(axes)
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
        np.testing.assert_array_equal(
            got, expected.astype(np.float32), err_msg=f"{i}: {attributes} {mode}"
        )


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int32", "uint32", "int64", "uint64"]
)
def test_gemm(tmp_path, known, dtype):
    whole = np.dtype(dtype).kind in "iu"
    for trans_a, trans_b, scale, c_shape in itertools.product(
        (0, 1), (0, 1), (1.0, 2.0), (None, (4,), (3, 4), (3, 1), ())
    ):
        a, b = rng.integers(-9, 9, (3, 5)).astype(dtype), rng.integers(-9, 9, (5, 4)).astype(dtype)
        c = None if c_shape is None else np.asarray(rng.integers(-9, 9, c_shape)).astype(dtype)
        number = np.uint64 if whole else np.float64  # integers of either sign wrap around
        expected = number(scale) * (a.astype(number) @ b.astype(number))
        if c is not None:
            expected = expected + number(scale) * c.astype(number)
        arrays = {
            "a": a.T.copy() if trans_a else a,
            "b": b.T.copy() if trans_b else b,
            **({} if c is None else {"c": c}),
        }
        nodes = [
            node("Gemm", list(arrays), "y", transA=trans_a, transB=trans_b, alpha=scale, beta=scale)
        ]
        equal(run(tmp_path, nodes, arrays, known), expected.astype(dtype))


def test_gemm_of_float16_rounds_once(tmp_path):
    a, b = np.full((1, 2), 1, np.float16), np.array([[2048], [1]], np.float16)
    equal(
        run(
            tmp_path,
            [node("Gemm", ["a", "b", "c"], "y")],
            {"a": a, "b": b, "c": np.ones(1, np.float16)},
        ),
        np.array([[2050]], np.float16),
    )


def test_gemm_of_bfloat16(tmp_path):
    arrays = {
        "a": rng.integers(-9, 9, (2, 3)).astype(np.float32),
        "b": rng.integers(-9, 9, (4, 3)).astype(np.float32),
    }
    nodes = [node("Cast", [name], name + "16", to=BFLOAT16) for name in arrays]
    nodes += [node("Gemm", ["a16", "b16"], "y16", transB=1), node("Cast", ["y16"], "y", to=1)]
    equal(run(tmp_path, nodes, arrays), arrays["a"] @ arrays["b"].T)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
def test_matmul_of_integers_wraps_around(tmp_path, known, dtype):
    limits = np.iinfo(dtype)
    for a_shape, b_shape in [
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (2, 3, 1)),
        ((2, 0), (0, 3)),
    ]:
        a, b = (
            rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
            for shape in (a_shape, b_shape)
        )
        equal(
            run(tmp_path, [node("MatMul", ["a", "b"], "y")], {"a": a, "b": b}, known),
            np.matmul(a, b),
        )


def test_matmul_reports_shapes_that_do_not_fit(tmp_path):
    for dtype in ("float32", "float16", "int32"):
        arrays = {"a": np.zeros((5, 3), dtype), "b": np.zeros((4, 2), dtype)}
        with pytest.raises(
            tenon.FileError,
            match=r"MatMul node.*a has 3 columns but b has 4 rows.*\[5, 3\].*\[4, 2\]",
        ):
            run(tmp_path, [node("MatMul", ["a", "b"], "y")], arrays)


@pytest.mark.parametrize("known", ["whole", OPEN, NONE])
@pytest.mark.parametrize("scale_shape, zero_shape", list(itertools.product([(), (1,)], repeat=2)))
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32"])
def test_one_zero_point_with_one_scale(tmp_path, known, scale_shape, zero_shape, dtype):
    """[] and [1] both mean one number, as quantizers write it."""
    scale, zero = np.full(scale_shape, 0.5, np.float32), np.full(zero_shape, 3, dtype)
    x = rng.integers(0, 100, (2, 3)).astype(dtype)
    for constants in ({"s": scale, "z": zero}, {}):
        arrays = {"x": x} if constants else {"x": x, "s": scale, "z": zero}
        got = run(
            tmp_path,
            [node("DequantizeLinear", ["x", "s", "z"], "y")],
            arrays,
            known,
            constants,
            opset=21,
        )
        equal(got, (x.astype(np.float32) - 3) / 2)
        if dtype == "int32":
            continue
        numbers = {**arrays, "x": got}
        again = run(
            tmp_path,
            [node("QuantizeLinear", ["x", "s", "z"], "y")],
            numbers,
            known,
            constants,
            opset=21,
        )
        equal(again, x)


def test_one_zero_point_with_several_scales_is_refused(tmp_path):
    for kind, x in (
        ("DequantizeLinear", np.zeros((2, 3), np.uint8)),
        ("QuantizeLinear", np.zeros((2, 3), np.float32)),
    ):
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
    equal(
        run(tmp_path, nodes, {"x": np.ones((4, 5), np.float32)}, known, initializers),
        np.ones((3, 4), np.float32),
    )


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
    real = (column["as"] * (column["a"] - column["az"])) @ (
        column["bs"] * (column["b"] - column["bz"])
    )
    expected = np.clip(np.rint(real / column["ys"]) + column["yz"], 0, 255).astype(np.uint8)
    equal(run(tmp_path, [node("QLinearMatMul", list(arrays), "y")], arrays, known), expected)
