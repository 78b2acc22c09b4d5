"""Parameter checks for operators in Python, with the SDK's rules and messages."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._errors import MAX_LISTED, UsageError, listed

NEEDED = {
    "bool": "true or false", "int32": "a 32-bit integer", "int64": "an integer",
    "float32": "a number that fits float32", "float64": "a number", "text": "text", "enum": "text",
    "ints": "a list of integers", "floats": "a list of numbers", "texts": "a list of texts",
}  # fmt: skip
BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "min": ("at least", operator.ge), "max": ("at most", operator.le),
    "above": ("greater than", operator.gt), "below": ("less than", operator.lt),
}  # fmt: skip
RELATIONS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "same_length": ("have as many values as", lambda left, right: True),
    "less_than": ("be less than", operator.lt), "at_most": ("be at most", operator.le),
    "greater_than": ("be greater than", operator.gt), "at_least": ("be at least", operator.ge),
    "multiple_of": (
        "be a multiple of", lambda left, right: left % right == 0 if right else left == 0,
    ),
}  # fmt: skip


def checked(
    manifest: Mapping[str, Any],
    conversions: Mapping[str, Callable[[str], Any]],
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    """The values for the object's attributes. Raises UsageError for the first invalid parameter."""
    params = {param["name"]: param for param in manifest["params"]}
    for name in arguments:
        if name not in params:
            raise UsageError(f"unknown parameter '{name}'; the parameters are: {listed(params)}")
    values = {}
    for name, param in params.items():
        if name in arguments:
            values[name] = _value(param, arguments[name])
        elif param["required"]:
            raise UsageError(f"parameter '{name}' is required")
        else:
            values[name] = param["default"]
    for left, relation, right in manifest.get("rules", ()):
        _check_rule(left, relation, right, values)
    return {
        name: conversions[name](values[name]) if name in conversions else values[name]
        for name in arguments
    }


def _value(param: Mapping[str, Any], value: Any) -> Any:
    name, kind = param["name"], param["kind"]
    if not _is_of(kind, value):
        raise UsageError(f"parameter '{name}' must be {NEEDED[kind]}, not {_shown(value)}")
    if kind == "float32":
        value = float(np.float32(value))
    elif kind == "float64":
        value = float(value)
    elif kind == "floats":
        value = [float(item) for item in value]
    many = isinstance(value, list)
    for item in value if many else [value]:
        for key, (words, holds) in BOUNDS.items():
            if param[key] is not None and not holds(item, param[key]):
                raise UsageError(
                    f"parameter '{name}' is {_shown(value)} but must be {words} "
                    f"{_shown(param[key])}"
                )
        if param["choices"] and item not in param["choices"]:
            raise UsageError(
                f"parameter '{name}' is {_shown(value)} but must be one of "
                f"{listed(param['choices'])}"
            )
    return value


def _is_of(kind: str, value: Any) -> bool:
    if kind in ("ints", "floats", "texts"):
        return isinstance(value, list) and all(
            _is_of({"ints": "int64", "floats": "float64", "texts": "text"}[kind], item)
            for item in value
        )
    if kind == "bool" or isinstance(value, bool):
        return kind == "bool" and isinstance(value, bool)
    if kind in ("text", "enum"):
        return isinstance(value, str)
    if kind in ("int32", "int64"):
        return isinstance(value, int) and (kind == "int64" or -(2**31) <= value < 2**31)
    return isinstance(value, int | float) and not (
        kind == "float32" and abs(value) > 3.5e38 and abs(value) != float("inf")
    )


def _check_rule(left: str, relation: str, right: str, values: Mapping[str, Any]) -> None:
    first, second = values[left], values[right]
    one, other = (item if isinstance(item, list) else [item] for item in (first, second))
    if not one or not other:  # an omitted list satisfies every rule
        return
    words, holds = RELATIONS[relation]
    if isinstance(first, list) and isinstance(second, list) and len(one) != len(other):
        words, holds = "have as many values as", lambda left, right: False
    count = max(len(one), len(other))
    one, other = (items if len(items) == count else items * count for items in (one, other))
    if not all(map(holds, one, other)):
        raise UsageError(
            f"parameter '{left}' is {_shown(first)} but must {words} '{right}', which is "
            f"{_shown(second)}"
        )


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, list):
        return f"[{listed([*map(repr, value)], '')}]"
    if isinstance(value, tuple | set | frozenset | dict) and len(value) > MAX_LISTED:
        return reprlib.repr(value)
    return repr(value)
