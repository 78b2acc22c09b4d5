"""The dtypes of tensors, derived from the library's table."""

from __future__ import annotations

from .. import _core

NAMES = tuple(name for name, *_ in _core.dtypes)
NAMES_IN_CPP = {name: in_cpp for name, in_cpp, *_ in _core.dtypes}
FLOATING = tuple(name for name, _, kind, *_ in _core.dtypes if kind == "f")
# numpy gets these from the package ml_dtypes, which may not be installed.
NOT_IN_NUMPY = frozenset(name for name, *_, in_numpy, _ in _core.dtypes if not in_numpy)
# Floats of 8 and 4 bits, and integers of 4 and 2: tensors hold them, but there is no arithmetic.
LOW_BIT = frozenset(name for name, _, kind, *_ in _core.dtypes if kind == "V")
# The features that manifests must require for the dtypes that Tenon 0.1 lacks.
FEATURES = {name: feature for name, *_, feature in _core.dtypes if feature}


def _widest_first(kinds: str) -> tuple[str, ...]:
    """The dtypes of kind after kind; of two of one size, the later first."""
    order = sorted(
        ((kinds.index(kind), -size, -number), name)
        for number, (name, _, kind, size, *_) in enumerate(_core.dtypes)
        if kind in kinds
    )
    return tuple(name for _, name in order)


WIDE_WHOLES = _widest_first("iub")
WIDE_FLOATS = _widest_first("fc")
