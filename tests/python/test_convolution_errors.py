"""Effects of a 3 x 3 convolution on distant elements: rounding errors, infinities and NaN stay
within the windows that contain them, whichever algorithm computes it.
"""

import numpy as np
import pytest
import tenon
from tenon import ops

CHANNELS, SIDE = 32, 24  # enough tiles per sample for Winograd's algorithm
EPSILON = 2.0**-24


def session(weight, *, bias=None, padding=1, size=SIDE, keep=True):
    filters, channels = weight.shape[:2]
    graph = tenon.Graph()
    x = graph.input("x", "float32", (1, channels, size, size))
    w = graph.constant(weight) if keep else graph.input("w", "float32", weight.shape)
    biases = [] if bias is None else [graph.constant(bias)]
    options = {
        "kernel": [3, 3],
        "pad": [padding] * 2,
        "num_filter": filters,
        "no_bias": bias is None,
    }
    graph.outputs(y=ops.convolution(x, w, *biases, **options))
    made = tenon.Session(graph)
    return lambda x: made.run({"x": x} if keep else {"x": x, "w": weight})["y"]


def windows(x, padding):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))


def exact(x, weight, padding=1):
    return np.einsum(
        "nchwij,fcij->nfhw",
        windows(x.astype("float64"), padding),
        weight.astype("float64"),
        optimize=True,
    )


def bound(x, weight, padding=1):
    """The scale of allowed errors: the largest element of each window times the weights that it
    meets.
    """
    largest = np.abs(windows(x.astype("float64"), padding)).max(axis=(1, 4, 5))
    return (
        EPSILON
        * largest[:, None]
        * np.abs(weight.astype("float64")).sum(axis=(1, 2, 3))[:, None, None]
    )


def numbers(seed=0, channels=CHANNELS, size=SIDE):
    rng = np.random.default_rng(seed)
    weight = (rng.standard_normal((CHANNELS, channels, 3, 3)) / 17).astype("float32")
    return rng.standard_normal((1, channels, size, size)).astype("float32"), weight


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("size", [1e2, 1e4, 1e8, 1e30])
@pytest.mark.parametrize("place", [(0, 0), (5, 6), (11, 12), (23, 23), (20, 3)])
def test_a_pixel_far_above_the_others(place, size, keep):
    x, weight = numbers()
    far = x.copy()
    far[0, 7, place[0], place[1]] = size
    found = session(weight, keep=keep)(far)
    assert (np.abs(found - exact(far, weight)) <= 8 * bound(far, weight)).all()


def test_elements_of_all_sizes():
    x, weight = numbers(1)
    rng = np.random.default_rng(2)
    for spread in (1, 4, 16, 64):
        scaled = (x * np.exp2(rng.uniform(-spread, spread, (1, 1, SIDE, SIDE)))).astype("float32")
        found = session(weight)(scaled)
        assert (np.abs(found - exact(scaled, weight)) <= 8 * bound(scaled, weight)).all(), spread


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("size", [24, 27, 30])
def test_a_region_of_zeros_stays_zero(size, padding):
    x, weight = numbers(3, size=size)
    x[:, :, 7:15, 4:] = 0
    bias = np.arange(CHANNELS, dtype="float32")
    added = bias[None, :, None, None]
    found = session(weight, bias=bias, padding=padding, size=size)(x) - added
    allowed = 8 * bound(x, weight, padding) + 32 * EPSILON * added  # sums may begin with the bias
    assert (np.abs(found - exact(x, weight, padding)) <= allowed).all()
    none = bound(x, weight, padding) == 0
    assert none.any() and (found[none] == 0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize("place", [(0, 0), (9, 14), (23, 0)])
def test_what_is_not_finite_stays_in_its_windows(place, bad):
    x, weight = numbers(4)
    expected = session(weight)(x)
    worse = x.copy()
    worse[0, 3, place[0], place[1]] = bad
    found = session(weight)(worse)
    reached = np.zeros((SIDE, SIDE), bool)
    reached[max(place[0] - 1, 0) : place[0] + 2, max(place[1] - 1, 0) : place[1] + 2] = True
    assert np.allclose(found[..., ~reached], expected[..., ~reached], rtol=0, atol=1e-5)
    with np.errstate(all="ignore"):
        right = np.einsum("nchwij,fcij->nfhw", windows(worse, 1), weight)
    if not np.isfinite(bad):
        assert np.array_equal(np.isnan(found), np.isnan(right)) and np.array_equal(
            np.isinf(found), np.isinf(right)
        )
    else:
        assert np.isfinite(found).all()


def test_large_and_infinite_weights():
    x, weight = numbers(5)
    weight[3] *= np.float32(1e36)
    found = session(weight)(x)
    assert (np.abs(found - exact(x, weight)) <= 8 * bound(x, weight)).all()
    weight[5, 2, 1, 1] = np.inf
    found = session(weight)(x)
    assert np.isfinite(np.delete(found, 5, axis=1)).all() and np.isinf(found[:, 5]).all()


def test_small_elements():
    x, weight = numbers(6)
    x *= np.float32(1e-36)
    found = session(weight * np.float32(1e20))(x)
    assert np.allclose(
        found,
        exact(x, weight * np.float32(1e20)),
        rtol=0,
        atol=8 * bound(x, weight * np.float32(1e20)).max(),
    )
