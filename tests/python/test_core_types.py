"""_core.pyi, which is generated from the core module, declares all of its classes, functions and
values; of the two classes whose declarations are written by hand, exactly the members.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon import _core

DECLARED = ast.parse((Path(tenon.__file__).parent / "_core.pyi").read_text(encoding="utf-8")).body
CLASSES = {node.name: node for node in DECLARED if isinstance(node, ast.ClassDef)}
FUNCTIONS = {node.name: node for node in DECLARED if isinstance(node, ast.FunctionDef)}
VALUES = {
    node.target.id
    for node in DECLARED
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
}
# Attributes of every class.
OF_EVERY_CLASS = re.compile(r"__(?!call__).*__$")


def test_the_module_has_what_is_declared_and_nothing_else() -> None:
    names = {name for name in dir(_core) if not name.startswith("_")}
    assert set(CLASSES) | set(FUNCTIONS) | VALUES == names


@pytest.mark.parametrize("name", ["Operator", "SessionBase"])
def test_a_class_has_the_members_declared_by_hand_and_no_others(name: str) -> None:
    actual = {each for each in vars(getattr(_core, name)) if not OF_EVERY_CLASS.match(each)}
    declared = {each.name for each in CLASSES[name].body if isinstance(each, ast.FunctionDef)}
    assert {each for each in declared if not OF_EVERY_CLASS.match(each)} == actual


def test_arguments_have_the_types_that_the_core_takes() -> None:
    add = next(
        each
        for each in CLASSES["Graph"].body
        if isinstance(each, ast.FunctionDef) and each.name == "add"
    )
    assert ast.unparse(add.args) == (
        "self, op: str, inputs: list[Any], attributes: dict[str, Any], name: str=''"
    )


def test_dtypes_are_those_of_numpy_and_bfloat16() -> None:
    facts = {name: (kind, size) for name, _, kind, size, *_ in _core.dtypes}
    assert facts.pop("bfloat16") == ("f", 2)
    low_bit = [name for name, (kind, _) in facts.items() if kind == "V"]
    assert [facts.pop(name)[1] for name in low_bit] == [1] * 10
    assert facts == {name: (np.dtype(name).kind, np.dtype(name).itemsize) for name in facts}
    assert len(facts) == 14


def test_every_dtype_is_known_in_python() -> None:
    for name, _, kind, size, in_numpy, _ in _core.dtypes:
        assert in_numpy == (name != "bfloat16" and kind != "V")  # the others need ml_dtypes
        made = tenon.tensor([1, 0], dtype=name)
        assert (made.dtype_name, made.nbytes) == (name, 2 * size)
        if in_numpy:
            assert made.dtype == np.dtype(name)
            assert made.numpy().tolist() == [1, 0]
        else:
            zero = 2**-127 if name == "float8_e8m0fnu" else 0  # it has none
            assert tenon.tensor(made, dtype="float32").numpy().tolist() == [1, zero]
            assert (kind == "f") == (name == "bfloat16")


def test_dtypes_of_0_2_need_the_features_dtypes_and_low_bit() -> None:
    features = {name: feature for name, *_, feature in _core.dtypes if feature is not None}
    low_bit = [name for name, _, kind, *_ in _core.dtypes if kind == "V"]
    assert len(low_bit) == 10
    assert features == dict.fromkeys(
        ("int16", "uint16", "uint32", "uint64", "complex64", "complex128"), "dtypes"
    ) | dict.fromkeys(low_bit, "low_bit")


def test_place_is_the_old_name_of_index() -> None:
    info = tenon.ops.add.info
    with pytest.warns(DeprecationWarning, match="use index="):
        assert info.input_at(place=1) == info.input_at(1)
