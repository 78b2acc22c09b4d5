"""Creating, reading and writing tensors: .npy, .npz, scipy's .npz, svmlight."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core
from .dtypes import NOT_IN_NUMPY
from .kinds import cast_to, to_tensor


def tensor(data: Any, *, dtype: Any = None, device: str = "cpu") -> _core.Tensor:
    """A tensor that shares the array's memory if dtype and device allow it, else a copy. A
    read-only array makes a read-only tensor.

    data: an array of any library, a number, or lists of numbers.
    dtype: a name, or a numpy dtype.
    device: "cpu", "cuda", "cuda:1".
    """
    made = to_tensor(data)
    if dtype is not None and _core.dtype_name(dtype) != made.dtype_name:
        made = _converted(made, _core.dtype_name(dtype))
    return made if device == "cpu" and made.device == "cpu" else made.to(device)


def _converted(tensor: _core.Tensor, name: str) -> _core.Tensor:
    if name in NOT_IN_NUMPY and not tensor.dtype_name.startswith("complex"):
        return cast_to(name, tensor)
    if tensor.dtype_name in NOT_IN_NUMPY:
        tensor = cast_to("float32", tensor)
    return _core.tensor_from(tensor.numpy().astype(_core.empty(name, (0,)).dtype))


def csr(
    values: Any, columns: Any = None, row_starts: Any = None, shape: Sequence[int] | None = None
) -> _core.Tensor:
    """A csr tensor from a scipy matrix, a dense array, or its components, which scipy calls data,
    indices, indptr and shape.

    Shares the values. Indices are copied as int64, and the copies are read-only, since kernels use
    them unchecked. Raises UsageError if they are not sorted or out of range.
    """
    if columns is None and row_starts is None and shape is None:
        return to_tensor(values).to_storage("csr")
    if columns is None or row_starts is None or shape is None:
        raise TypeError("csr() takes a matrix, or all of values, columns, row_starts and shape")
    return _core.csr(to_tensor(values), _widened(columns), _widened(row_starts), shape)


def _widened(indices: Any) -> _core.Tensor:
    made = to_tensor(indices)
    return (
        _core.tensor_from(made.numpy().astype("int64"))
        if made.dtype_name == "int32" and made.device == "cpu"
        else made
    )


def row_sparse(values: Any, row_ids: Any, shape: Sequence[int]) -> _core.Tensor:
    """A tensor that stores only some rows: values [rows, ...], and the index of each row,
    ascending.
    """
    return _core.row_sparse(to_tensor(values), _widened(row_ids), shape)


def load_array(path: str | os.PathLike[str]) -> _core.Tensor:
    """Reads one array: .npy, an .npz with one array or from scipy.sparse.save_npz, or the features
    of .svm, .libsvm or .svmlight (csr).

    `x.npy[100:200]` reads some rows. Large .npy files are memory-mapped. Raises FileError, and
    UsageError for rows out of range.
    """
    return _core.load_array(os.fspath(path))


def save_array(path: str | os.PathLike[str], array: Any) -> None:
    """Writes a dense array to a .npy file, or a csr matrix to a .npz file as scipy.sparse.save_npz
    does, atomically.
    """
    _core.save_array(os.fspath(path), to_tensor(array))


def load_arrays(path: str | os.PathLike[str]) -> dict[str, _core.Tensor]:
    """All arrays of a .npz file, by name. Raises FileError."""
    found: dict[str, _core.Tensor] = _core.load_arrays(os.fspath(path))
    return found


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Writes dense arrays to a .npz file, as numpy.savez does, or one csr matrix, atomically."""
    _core.save_arrays(os.fspath(path), {name: to_tensor(array) for name, array in arrays.items()})
