"""Types of operators as functions, for annotations: the arguments and results of tenon.ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Union

import numpy as np

if TYPE_CHECKING:
    from tenon._graph.value import Value as Value

__all__ = ["Array", "ArrayLike", "ArrayT", "Numpy", "NumpyLike"]


class Array(Protocol):
    """An array of any library: numpy, torch, cupy, jax, scipy.sparse, or a tenon.Tensor."""

    @property
    def shape(self) -> Any: ...

    @property
    def dtype(self) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Array)
Plain = Union[complex, list[Any], tuple[Any, ...]]
"""Numbers, and lists of them. For a type checker, complex includes bool, int and float."""
Numpy = np.ndarray[Any, Any]
NumpyLike = Union[Numpy, np.generic, Plain]
ArrayLike = Union[Array, Plain]
