"""Making tensors, and reading and writing them: .npy, .npz, scipy's .npz, svmlight."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._arrays import cast_to, to_tensor


def tensor(data: Any, *, dtype: Any = None, device: str = "cpu") -> _core.Tensor:
    """A tensor of the array's own memory where dtype and device allow, of a copy otherwise. A read-only array makes a read-only tensor.

    data: an array of any library, a number, or lists of numbers. dtype: its name, or one of numpy's.
    device: "cpu", "cuda", "cuda:1".
    """
    made = to_tensor(data)
    if dtype is not None and _core.dtype_name(dtype) != made.dtype_name:
        made = _converted(made, _core.dtype_name(dtype))
    return made if device == "cpu" and made.device == "cpu" else made.to(device)


def _converted(tensor: _core.Tensor, name: str) -> _core.Tensor:
    if name == "bfloat16" and not tensor.dtype_name.startswith("complex"):
        return cast_to(name, tensor)
    if tensor.dtype_name == "bfloat16":
        tensor = cast_to("float32", tensor)
    return _core.tensor_from(tensor.numpy().astype(_core.empty(name, (0,)).dtype))


def csr(values: Any, columns: Any = None, row_starts: Any = None, shape: Sequence[int] | None = None) -> _core.Tensor:
    """A csr tensor: of a matrix of scipy's or of a dense array, or of its parts, as scipy calls them data, indices, indptr and shape.

    Shares the values. Indices are copied, as int64, and the copies are read-only: kernels follow them without another check. Raises
    UsageError where they are not sorted or out of range.
    """
    if columns is None and row_starts is None and shape is None:
        return to_tensor(values).to_storage("csr")
    if columns is None or row_starts is None or shape is None:
        raise TypeError("csr() takes a matrix, or all of values, columns, row_starts and shape")
    return _core.csr(to_tensor(values), _widened(columns), _widened(row_starts), shape)


def _widened(indices: Any) -> _core.Tensor:
    made = to_tensor(indices)
    return (
        _core.tensor_from(made.numpy().astype("int64")) if made.dtype_name == "int32" and made.device == "cpu" else made
    )


def row_sparse(values: Any, row_ids: Any, shape: Sequence[int]) -> _core.Tensor:
    """A tensor of which only some rows are stored: values [rows, ...], and the number of each row, ascending."""
    return _core.row_sparse(to_tensor(values), _widened(row_ids), shape)


def load_array(path: str | os.PathLike[str]) -> _core.Tensor:
    """Reads one array: .npy, an .npz with one array or of scipy.sparse.save_npz, or the features of .svm, .libsvm or .svmlight (csr).

    `x.npy[100:200]` takes some rows. Large .npy files are mapped. Raises FileError, and UsageError for rows that are not there.
    """
    return _core.load_array(os.fspath(path))


def save_array(path: str | os.PathLike[str], array: Any) -> None:
    """Writes a dense array to a .npy file, or a csr matrix to a .npz file as scipy.sparse.save_npz does: the whole file, or none."""
    _core.save_array(os.fspath(path), to_tensor(array))


def load_arrays(path: str | os.PathLike[str]) -> dict[str, _core.Tensor]:
    """All arrays of a .npz file, by name. Raises FileError."""
    found: dict[str, _core.Tensor] = _core.load_arrays(os.fspath(path))
    return found


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Writes dense arrays to a .npz file, as numpy.savez does, or one csr matrix: the whole file, or none."""
    _core.save_arrays(os.fspath(path), {name: to_tensor(array) for name, array in arrays.items()})
