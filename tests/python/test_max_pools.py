"""Max pooling of NaN and infinities, in every rank, dtype and layout: the largest element, or NaN
if a window has one, its position, and the element that gets the gradient.
"""

import itertools

import numpy as np
import pytest
import tenon
from tenon import ops

FLOATS = ("float16", "bfloat16", "float32", "float64")
# Sizes of the spatial axes, and of the window.
CASES = [
    ((9,), {"kernel": [3], "stride": [2], "pad": [1]}),
    ((70,), {"kernel": [2], "stride": [1]}),
    ((7, 40), {"kernel": [3, 3], "stride": [2, 2], "pad": [1, 1]}),
    ((6, 37), {"kernel": [2, 3], "stride": [1, 1]}),
    ((5, 24), {"kernel": [2, 2], "stride": [1, 3]}),
    ((6, 9), {"kernel": [2, 2], "stride": [1, 1], "dilate": [2, 3]}),
    ((4, 5, 26), {"kernel": [2, 3, 2], "stride": [1, 1, 1], "pad": [1, 1, 1]}),
    ((5, 4, 22), {"kernel": [3, 2, 2], "stride": [2, 2, 2]}),
    ((4, 3, 6), {"kernel": [2, 1, 3], "stride": [1, 1, 1], "dilate": [2, 1, 1]}),
]


def windows(sizes, kernel, stride, pad=None, dilate=None):
    """For each output position, the indices of the elements in its window, in order."""
    rank = len(sizes)
    pad, dilate = pad or [0] * rank, dilate or [1] * rank
    reach = [d * (k - 1) + 1 for d, k in zip(dilate, kernel)]
    counts = [(n + 2 * p - r) // s + 1 for n, p, r, s in zip(sizes, pad, reach, stride)]
    numbers = np.arange(np.prod(sizes)).reshape(sizes)
    for place in itertools.product(*map(range, counts)):
        starts = [i * s - p for i, s, p in zip(place, stride, pad)]
        along = [
            [x for x in range(b, b + r, d) if 0 <= x < n]
            for b, r, d, n in zip(starts, reach, dilate, sizes)
        ]
        yield numbers[np.ix_(*along)].ravel()


def chosen(plane, window):
    """The first NaN of a window, else the first of its largest elements."""
    values = plane[window]
    return window[np.argmax(values)]  # np.argmax treats NaN as the largest


def pooled(x, **window):
    """Values, and the index in x of each."""
    planes = x.reshape(*x.shape[:2], -1)
    below = list(windows(x.shape[2:], **window))
    at = np.array([[[chosen(plane, w) for w in below] for plane in sample] for sample in planes])
    first = np.arange(at.shape[0] * at.shape[1]).reshape(*at.shape[:2], 1) * planes.shape[2]
    return np.take_along_axis(planes, at, axis=2), at + first


def planes_of(sizes, rng):
    """Planes of numbers, some with NaN or infinities, some of only -infinity or only NaN."""
    x = np.round(rng.standard_normal((2, 4, *sizes)), 2)
    x[0, 1][rng.random(sizes) < 0.1] = np.nan
    x[0, 2][rng.random(sizes) < 0.3] = -np.inf
    x[0, 3][rng.random(sizes) < 0.2] = np.inf
    x[0, 3][rng.random(sizes) < 0.1] = np.nan
    x[1, 0], x[1, 1] = -np.inf, np.nan
    x[1, 2] = np.where(rng.random(sizes) < 0.5, -np.inf, np.nan)
    x[1, 3] = 1  # all equal: the first counts
    return x


def cast(value, dtype):
    return ops.cast(value, dtype=dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("sizes", "window"), CASES)
def test_values_indices_and_gradients(sizes, window, dtype):
    rng = np.random.default_rng(0)
    x = cast(cast(tenon.tensor(planes_of(sizes, rng)), dtype), "float64").numpy()
    values, at = pooled(x, **window)
    y, indices = ops.max_pool(cast(tenon.tensor(x), dtype), return_indices=True, **window)
    made = cast(y, "float64").numpy().reshape(values.shape)
    assert np.array_equal(made, values, equal_nan=True)
    assert np.array_equal(indices.numpy().reshape(at.shape), at)
    alone = cast(ops.max_pool(cast(tenon.tensor(x), dtype), **window), "float64").numpy()
    assert np.array_equal(alone.reshape(values.shape), values, equal_nan=True)

    slope = np.round(rng.standard_normal(made.shape), 1) + 1.5
    slope = cast(cast(tenon.tensor(slope.reshape(y.shape)), dtype), "float64").numpy()
    graph = tenon.Graph()
    data, dy = graph.input("x", dtype, x.shape), graph.input("dy", dtype, slope.shape)
    (dx,) = graph.gradient(ops.sum(ops.mul(ops.max_pool(data, **window), dy)), [data])
    graph.outputs(dx=cast(dx, "float64"))
    found = tenon.Session(graph).run(
        {"x": cast(tenon.tensor(x), dtype), "dy": cast(tenon.tensor(slope), dtype)}
    )["dx"]
    right = np.zeros(x.size)
    np.add.at(right, at.ravel(), slope.ravel())
    found = found.numpy() if isinstance(found, tenon.Tensor) else found
    precision = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6)
    assert np.allclose(found.ravel(), right, rtol=precision, atol=precision)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_integers(dtype):
    info = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(info.min, info.max + 1, (1, 2, 6, 9)).astype(dtype)
    x[0, 1] = info.min
    for window in (CASES[3][1], {"kernel": [3, 3], "stride": [2, 2], "pad": [1, 1]}):
        values, at = pooled(x, **window)
        y, indices = ops.max_pool(tenon.tensor(x), return_indices=True, **window)
        assert np.array_equal(y.numpy().ravel(), values.ravel())
        assert np.array_equal(indices.numpy().ravel(), at.ravel())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", [(33,), (5, 19), (3, 4, 5)])
def test_global(sizes, dtype):
    x = cast(
        cast(tenon.tensor(planes_of(sizes, np.random.default_rng(2))), dtype), "float64"
    ).numpy()
    made = cast(ops.global_max_pool(cast(tenon.tensor(x), dtype)), "float64").numpy()
    assert np.array_equal(made.reshape(2, 4), x.reshape(2, 4, -1).max(axis=2), equal_nan=True)


@pytest.mark.parametrize(("sizes", "window"), [CASES[2], CASES[3], CASES[6]])
def test_between_convolutions(sizes, window):
    """Plans store images channels-last here. A convolution that permutes channels changes no number
    but spreads NaN.
    """
    channels = 32
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, channels, *sizes)).astype("float32")
    x[0, 3][rng.random(sizes) < 0.05] = np.nan
    order = rng.permutation(channels)
    weight = np.zeros((channels, channels, *[1] * len(sizes)), "float32")
    weight[np.arange(channels), order] = 1
    graph = tenon.Graph()
    made = graph.input("x", "float32", x.shape)
    options = {"kernel": [1] * len(sizes), "num_filter": channels, "no_bias": True}
    made = ops.convolution(made, graph.constant(weight), **options)
    made = ops.max_pool(made, **window)
    graph.outputs(y=ops.convolution(made, graph.constant(weight), **options))
    found = tenon.Session(graph).run({"x": x})["y"]
    moved = x[:, order]
    moved = np.where(np.isnan(moved).any(axis=1, keepdims=True), np.nan, moved)
    values, _ = pooled(moved, **window)
    assert np.array_equal(found.reshape(values.shape), values[:, order], equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_regions(dtype):
    x = np.arange(24.0).reshape(1, 1, 4, 6)
    x[0, 0, 1, 1], x[0, 0, 3] = np.nan, -np.inf
    regions = np.array([[0, 0, 0, 2, 2], [0, 3, 0, 5, 2], [0, 0, 3, 5, 3]], "float64")
    made = ops.max_roi_pool(
        cast(tenon.tensor(x), dtype), cast(tenon.tensor(regions), dtype), height=1, width=1
    )
    assert np.array_equal(
        cast(made, "float64").numpy().ravel(), [np.nan, 17, -np.inf], equal_nan=True
    )
    made = ops.roi_align(
        cast(tenon.tensor(x), dtype),
        cast(tenon.tensor([[0.0, 0, 2, 2], [3, 0, 5, 2]]), dtype),
        tenon.tensor(np.zeros(2, "int64")),
        height=1,
        width=1,
        mode="max",
        half_pixel=False,
        sampling_ratio=2,
    )
    assert np.array_equal(np.isnan(cast(made, "float64").numpy().ravel()), [True, False])
