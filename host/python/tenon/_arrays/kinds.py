"""Kinds of arrays and their conversion to and from tensors: results have the kind of the inputs."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray as ndarray

from .. import _core
from .._errors import UsageError
from .._operators.manifest import OperatorInfo
from .dtypes import LOW_BIT, NOT_IN_NUMPY, WIDE_FLOATS, WIDE_WHOLES


class Kind(NamedTuple):
    name: str
    is_one: Callable[[Any], bool]
    to_tensor: Callable[[Any], _core.Tensor]
    from_tensor: Callable[[_core.Tensor], Any]


def _from_numpy(tensor: _core.Tensor) -> Any:
    return (
        to_scipy(tensor) if tensor.storage == "csr" and "scipy" in sys.modules else _dense(tensor)
    )


def _dense(tensor: _core.Tensor) -> Any:
    return tensor.numpy() if tensor.storage == "dense" and tensor.device == "cpu" else tensor


def to_scipy(tensor: _core.Tensor, matrix: bool = False) -> Any:
    """The tensor as a scipy csr_array, or a csr_matrix if `matrix`.

    Shares the values of a csr tensor. The indices are copies and therefore writable.
    """
    from scipy.sparse import csr_array, csr_matrix

    csr = tensor.to("cpu").to_storage("csr")
    made = (csr_matrix if matrix else csr_array)(csr.shape, dtype=csr.dtype)
    made.data, made.indices, made.indptr = (
        csr.values.numpy(),
        csr.columns.numpy().copy(),
        csr.row_starts.numpy().copy(),
    )
    return made


def _from_scipy(matrix: Any) -> _core.Tensor:
    matrix = matrix.tocsr()
    if np.uint64 in (
        matrix.indices.dtype,
        matrix.indptr.dtype,
    ):  # scipy's own functions reject them
        source, matrix = matrix, type(matrix)(matrix.shape, dtype=matrix.dtype)
        matrix.data = source.data
        matrix.indices, matrix.indptr = (
            each.astype(np.int64) for each in (source.indices, source.indptr)
        )
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    # Kernels read int64. Widening here saves every later call from doing it.
    return _core.csr(
        matrix.data,
        matrix.indices.astype(np.int64, copy=False),
        matrix.indptr.astype(np.int64, copy=False),
        matrix.shape,
    )


def _scipy_kind(matrix: bool) -> Kind:
    def from_tensor(tensor: _core.Tensor) -> Any:
        return to_scipy(tensor, matrix) if tensor.storage == "csr" else _dense(tensor)

    return Kind("scipy", _is_scipy, _from_scipy, from_tensor)


def _is_of(module: str, name: str) -> Callable[[Any], bool]:
    def is_one(value: Any) -> bool:
        found = sys.modules.get(module)
        return found is not None and isinstance(value, getattr(found, name, ()))

    return is_one


def _is_scipy(value: Any) -> bool:
    found = sys.modules.get("scipy.sparse")
    return found is not None and bool(found.issparse(value))


def _through_dlpack(module: str, read: str = "from_dlpack") -> Callable[[_core.Tensor], Any]:
    def from_tensor(tensor: _core.Tensor) -> Any:
        if tensor.storage != "dense":
            return tensor
        library: Any = sys.modules[module]
        for component in read.split("."):
            library = getattr(library, component)
        return library(tensor)

    return from_tensor


def _from_torch(value: Any) -> _core.Tensor:
    torch = sys.modules["torch"]
    if value.requires_grad and torch.is_grad_enabled():
        raise UsageError(
            "a torch tensor requires a gradient, but torch cannot differentiate through this call",
            "tenon.torch.register(name) makes a differentiable torch operator, and "
            "tenon.torch.module(graph) a module; or pass x.detach()",
        )
    if value.layout == torch.sparse_csr:
        components = (value.values(), value.col_indices(), value.crow_indices())
        values, columns, row_starts = (
            _core.tensor_from(component.detach()) for component in components
        )
        return _core.csr(values, columns, row_starts, tuple(value.shape))
    if value.layout != torch.strided:
        raise TypeError(
            f"a torch tensor has the layout {value.layout}, but must be strided or sparse_csr"
        )
    return _core.tensor_from(value.detach())


def _unmasked(array: Any) -> _core.Tensor:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("masked arrays are not supported; pass array.filled(value)")
    return _core.tensor_from(array)


def _to_torch(tensor: _core.Tensor) -> Any:
    torch = sys.modules["torch"]
    if tensor.storage == "csr":
        return torch.sparse_csr_tensor(
            *(
                torch.from_dlpack(component)
                for component in (tensor.row_starts, tensor.columns, tensor.values)
            ),
            tensor.shape,
        )
    # torch has no read-only tensors.
    return (
        tensor
        if tensor.storage != "dense"
        else torch.from_dlpack(tensor.clone() if tensor.read_only else tensor)
    )


def _from_jax(value: Any) -> _core.Tensor:
    return _core.read_only(_core.tensor_from(value))


NUMBERS = (bool, int, float, complex, list, tuple)
NUMPY = Kind(
    "numpy", lambda value: isinstance(value, np.ndarray | np.generic), _unmasked, _from_numpy
)
TENON = Kind(
    "tenon", lambda value: isinstance(value, _core.Tensor), lambda value: value, lambda value: value
)
SCIPY_ARRAY, SCIPY_MATRIX = _scipy_kind(False), _scipy_kind(True)
KINDS = (
    NUMPY,
    TENON,
    Kind("torch", _is_of("torch", "Tensor"), _from_torch, _to_torch),
    SCIPY_ARRAY,
    Kind("cupy", _is_of("cupy", "ndarray"), _core.tensor_from, _through_dlpack("cupy")),
    Kind("jax", _is_of("jax", "Array"), _from_jax, _through_dlpack("jax", "dlpack.from_dlpack")),
)


def kind_of_one(value: Any) -> Kind | None:
    found = next((kind for kind in KINDS if kind.is_one(value)), None)
    return (
        SCIPY_MATRIX
        if found is SCIPY_ARRAY and not isinstance(value, sys.modules["scipy.sparse"].sparray)
        else found
    )


def kind_of(values: Sequence[Any]) -> Kind:
    """The kind of the first array; numpy if there are only numbers and lists."""
    return next((kind for kind in map(kind_of_one, values) if kind is not None), NUMPY)


def to_tensor(value: Any) -> _core.Tensor:
    kind = kind_of_one(value)
    if kind is not None:
        return kind.to_tensor(value)
    if isinstance(value, NUMBERS):
        return _core.tensor_from(_numbers(value))
    made = _as_array(value)
    if made is value:
        raise TypeError(f"expected an array, a number or a list, not {type(value).__name__}")
    return to_tensor(made)


def _as_array(value: Any) -> Any:
    """Converts an object with an array or buffer protocol to one of the kinds. Returns anything
    else unchanged.
    """
    if kind_of_one(value) is not None or isinstance(value, (*NUMBERS, str)):
        return value
    if hasattr(value, "__dlpack__"):
        return _core.tensor_from(value)
    if hasattr(value, "__array__"):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))
    except TypeError:
        return value


def to_tensors(kind: Kind, info: OperatorInfo, values: Sequence[Any]) -> list[_core.Tensor | None]:
    """Converts the inputs of a call. Numbers and lists take the dtype of the arrays passed with
    them.
    """
    values = [_as_array(value) for value in values]
    shared = _shared_dtype(info, values)
    tensors: list[_core.Tensor | None] = []
    for index, value in enumerate(values):
        if value is None:
            tensors.append(None)
        elif isinstance(value, NUMBERS) and kind_of_one(value) is None:
            tensors.append(weak_input(value, shared, info, index))
        else:
            try:
                tensors.append(to_tensor(value))
            except TypeError as error:
                raise TypeError(
                    f"{info.name}(): input '{info.input_at(index).name}': {error}"
                ) from None
    return tensors


def _shared_dtype(info: OperatorInfo, values: Sequence[Any]) -> str | None:
    sharing = [
        value
        for index, value in enumerate(values)
        if value is not None and info.input_at(index).types is None
    ]
    for value in sharing:
        kind = kind_of_one(value)
        if kind is not None:
            return value.dtype_name if kind is TENON else _name_of_dtype(value.dtype)
    if len(sharing) < 2 or not all(isinstance(value, NUMBERS) for value in sharing):
        return None
    return np.result_type(*(_numbers(value) for value in sharing)).name


def _name_of_dtype(dtype: Any) -> str | None:
    try:
        return _core.dtype_name(str(dtype).removeprefix("torch."))
    except (TypeError, UsageError):
        return None


def _numbers(value: Any) -> Any:
    """A number, or nested lists of numbers, as an array.

    Raises UsageError for other contents and for integers of more than 64 bits.
    """
    try:
        made = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"a list cannot be converted to an array of numbers: {error}") from None
    if made.dtype.kind in "biufc":
        return made
    if made.dtype.kind == "O" and all(isinstance(each, int) for each in made.flat):
        raise UsageError(f"{reprlib.repr(value)} does not fit in 64 bits")
    raise UsageError(f"a list cannot be converted to an array of numbers: {reprlib.repr(value)}")


def _odd(whole: int) -> int:
    """Rounds an integer to 53 bits, to odd: its last bit records whether bits were dropped, so that
    rounding the result again equals rounding once.
    """
    more = max(whole.bit_length() - 53, 0)
    return (whole >> more | ((whole & ((1 << more) - 1)) != 0)) << more


def cast_to(dtype: str, tensor: _core.Tensor) -> _core.Tensor:
    """Converts with a single rounding, also to bfloat16, for which numpy's astype() goes through
    float32.
    """
    made: _core.Tensor = _core.default_host().call_all("tenon.cast", [tensor], {"dtype": dtype})[0]
    return made


def _fits_low_bit(name: str, numbers: Any) -> bool:
    """Whether integers are exact, and floats not beyond the largest one."""
    attributes = {"dtype": name, "saturate": False}
    host, tensor = _core.default_host(), _core.tensor_from(numbers.astype("float64"))
    cast = cast_to("float32", host.call_all("tenon.cast", [tensor], attributes)[0]).numpy()
    if "int" in name:
        return bool(np.array_equal(numbers, cast))
    beyond = np.abs(numbers) > 6 if name.startswith("float4") else ~np.isfinite(cast)
    return not (np.isfinite(numbers) & beyond).any()


def weak(value: Any, name: str, where: str) -> _core.Tensor:
    """A number or a list as a tensor of the dtype `name`.

    Floating dtypes round. Raises UsageError if the dtype cannot hold the value.
    """
    dtype = np.dtype("float64" if name in NOT_IN_NUMPY else name)
    try:
        if dtype.kind in "fc" and type(value) is int:
            # integers of any size
            value = float(value if name in ("float64", "complex128") else _odd(value))
        made = _numbers(value)
    except OverflowError:
        raise UsageError(f"{where} is {reprlib.repr(value)}, which does not fit {name}") from None
    except UsageError as error:
        raise UsageError(f"{where}: {error.args[0]}") from None
    with np.errstate(all="ignore"):
        cast = (made.real if dtype.kind != "c" else made).astype(dtype)
    tensor = _core.tensor_from(cast)
    # such as bfloat16, which comes from another package, which may not be installed
    if name in NOT_IN_NUMPY:
        tensor = cast_to(name, _core.tensor_from(made if made.dtype.kind in "iu" else cast))
        cast = cast_to("float32", tensor).numpy()
    fits = made.dtype.kind != "c" or dtype.kind == "c"
    if dtype.kind in "fc":
        fits = fits and not (np.isinf(cast) & ~np.isinf(made)).any()
    else:
        fits = fits and np.array_equal(made, cast)
    if name in LOW_BIT:
        fits = fits and _fits_low_bit(name, made)
    if not fits:
        raise UsageError(f"{where} is {reprlib.repr(value)}, which does not fit {name}")
    return tensor


def weak_input(value: Any, shared: str | None, info: OperatorInfo, index: int) -> _core.Tensor:
    """A number or a list for an input, in the dtype that the input shares with others or in one of
    the input's own.

    If the input shares none and the operator takes neither int64 nor float64, uses the first of the
    operator's dtypes that can hold the value.
    """
    types = info.input_at(index).types
    where = f"[{info.name}] input '{info.input_at(index).name}'"
    if types is None and shared is not None:
        return weak(value, shared, where)
    try:
        natural = _numbers(value)
    except UsageError as error:
        raise UsageError(f"{where}: {error.args[0]}") from None
    allowed = info.types if types is None else types
    if natural.dtype.name in allowed:
        return _core.tensor_from(natural)
    floating = natural.dtype.kind in "fc" and natural.size > 0
    for name in WIDE_FLOATS if floating else WIDE_WHOLES + WIDE_FLOATS:
        if name not in allowed:
            continue
        try:
            return weak(value, name, where)
        except UsageError:
            pass
    return _core.tensor_from(natural)  # the operator reports the error
