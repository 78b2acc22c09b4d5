"""Low-bit dtypes: arrays of ml_dtypes, and casts compared with its conversions."""

import numpy as np
import pytest
import tenon
from tenon import ops

ml_dtypes = pytest.importorskip("ml_dtypes")

FLOATS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn")
INTEGERS = ("int4", "uint4", "int2", "uint2")
ALL = (*FLOATS, "float8_e8m0fnu", *INTEGERS)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name))


def all_numbers(name):
    bits = 8 if "8" in name else 2 if "2" in name and "int" in name else 4
    return np.arange(2**bits, dtype="uint8").view(dtype_of(name))


def midpoints(name):
    """Finite numbers, the midpoints between them, and the float32 next to these."""
    numbers = all_numbers(name).astype("float32")
    numbers = np.unique(numbers[np.isfinite(numbers)])
    middle = ((numbers[1:].astype("float64") + numbers[:-1]) / 2).astype("float32")
    beyond = np.float32([1e30, -1e30, np.inf, -np.inf, np.nan])
    near = [np.nextafter(middle, np.float32(side)) for side in (-np.inf, np.inf)]
    return np.concatenate([numbers, middle, *near, numbers * 1.25, beyond])


def bits(array):
    """The codes; every NaN has the same one, and so have both zeros."""
    values, codes = array.astype("float32"), array.view("uint8").astype(int)
    return np.where(np.isnan(values), -1, np.where(values == 0, 0, codes))


@pytest.mark.parametrize("name", ALL)
def test_arrays_share_their_memory_with_tensors(name):
    numbers = all_numbers(name)
    tensor = tenon.tensor(numbers)
    assert tensor.dtype_name == name
    assert tensor.dtype == dtype_of(name)
    assert np.shares_memory(tensor.numpy(), numbers)
    np.testing.assert_array_equal(tensor.numpy().view("uint8"), numbers.view("uint8"))
    moved = ops.transpose(numbers.reshape(2, -1), axes=(1, 0))
    assert moved.dtype == dtype_of(name)
    np.testing.assert_array_equal(moved.view("uint8"), numbers.reshape(2, -1).T.view("uint8"))


@pytest.mark.parametrize("name", ALL)
def test_numbers_are_those_of_ml_dtypes(name):
    numbers = all_numbers(name)
    np.testing.assert_array_equal(ops.cast(numbers, dtype="float64"), numbers.astype("float64"))


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("name", FLOATS)
def test_floats_round_as_in_ml_dtypes(name, source):
    with np.errstate(all="ignore"):
        numbers = midpoints(name)
        expected = numbers.astype(dtype_of(name))
        largest = np.float32(ml_dtypes.finfo(dtype_of(name)).max)
        saturated = np.clip(numbers, -largest, largest).astype(dtype_of(name))
    found = ops.cast(numbers.astype(source), dtype=name, saturate=False)
    np.testing.assert_array_equal(bits(found), bits(expected))
    found = ops.cast(numbers.astype(source), dtype=name)
    np.testing.assert_array_equal(bits(found), bits(saturated))


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap_around_as_in_ml_dtypes(name):
    numbers = np.arange(-300, 300)
    for source in ("int64", "int16", "int8"):
        expected = numbers.astype(source).astype(dtype_of(name))
        np.testing.assert_array_equal(
            ops.cast(numbers.astype(source), dtype=name).view("uint8"), expected.view("uint8")
        )


def test_lists_must_fit():
    zero_point = [3, 300]
    scale = np.float32([1, 1])
    x = np.array([[1, 2]], ml_dtypes.uint4)
    assert ops.dequantize(x, scale, [3, 0]).tolist() == [[-2, 2]]
    with pytest.raises(tenon.UsageError, match=r"zero_point.*does not fit uint4"):
        ops.dequantize(x, scale, zero_point)
    with pytest.raises(tenon.UsageError, match="does not fit float8_e4m3fn"):
        ops.dequantize(x.astype(ml_dtypes.float8_e4m3fn), scale, [0, 1e6])


def test_a_dlpack_view_of_four_bits_is_refused():
    tensor = tenon.tensor(np.zeros(3, ml_dtypes.int4))
    for version in (None, (1, 0)):
        with pytest.raises(BufferError, match=r"DLPack before 1\.1 cannot express"):
            tensor.__dlpack__(max_version=version)
    assert tensor.__dlpack__(max_version=(1, 1)) is not None


def test_npy_files_have_the_bytes_of_ml_dtypes(tmp_path):
    path = tmp_path / "x.npy"
    numbers = all_numbers("float8_e5m2")
    tenon.save_array(str(path), tenon.tensor(numbers))
    np.testing.assert_array_equal(
        np.load(path).view(ml_dtypes.float8_e5m2).view("uint8"), numbers.view("uint8")
    )
    with pytest.raises(tenon.FileError, match="a dtype that numpy lacks"):
        tenon.load_array(str(path))
    np.save(path, numbers)  # of a type that numpy calls f1
    with pytest.raises(tenon.FileError, match="a dtype that numpy lacks"):
        tenon.load_array(str(path))
