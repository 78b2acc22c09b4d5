"""Writes _core.pyi, the types of the core module, from the signatures that nanobind keeps:
core_types.py MODULE.so OUTPUT.
"""

import importlib.util
import re
import sys
from pathlib import Path

from nanobind.stubgen import ReplacePattern, StubGen

# Classes made with Python's C API instead of nanobind; test_core_types.py checks their members.
BY_HAND = {
    "Operator": """
        class Operator:
            def __new__(cls, name: str, host: Host | None = None) -> Operator: ...
            def __call__(self, *inputs: Any, **params: Any) -> Any: ...
            @property
            def __signature__(self) -> inspect.Signature: ...
            @property
            def __name__(self) -> str: ...
            @property
            def __qualname__(self) -> str: ...
            @property
            def info(self) -> OperatorInfo: ...
            @property
            def _name(self) -> str: ...
            @property
            def _host(self) -> Host | None: ...
            @property
            def _counts(self) -> tuple[int, int, int]: ...
            def _repr_html_(self) -> str: ...
    """,
    "SessionBase": """
        class SessionBase:
            def __call__(self, *inputs: Any, **named: Any) -> Any: ...
            def run(
                self,
                inputs: Mapping[str, Any] | None = None,
                *,
                outputs: str | Sequence[str] | None = None,
                into: Mapping[str, Any] | None = None,
                add: bool = False,
                batch: int = 0,
            ) -> Any: ...
            def _attach(
                self,
                core: Session,
                inputs: tuple[str, ...],
                outputs: tuple[str, ...],
                results: type[Any],
                quick: bool,
                /,
            ) -> None: ...
    """,
}
IMPORTS = (
    "import inspect\nfrom typing import Any\n\nfrom ._operators.manifest import OperatorInfo\n"
)
# Types that nanobind writes for arguments and results of any kind, and their equivalents for
# mypy --strict.
GENERIC = [
    (r"(?<=: |> )object( \| None)?", "Any"),
    (r"\btuple\b(?!\[)", "tuple[Any, ...]"),
    (r"\blist\b(?!\[)", "list[Any]"),
    (r"\bdict\b(?!\[)", "dict[str, Any]"),
    (r"Sequence\[object\]", "Sequence[Any]"),
    (r"\bPyCapsule\b", "Any"),
    (r"(\*\w+)(?=[,)])", r"\1: Any"),
]


def types_of(path: str) -> str:
    spec = importlib.util.spec_from_file_location("tenon._core", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tenon._core"] = module
    spec.loader.exec_module(module)
    patterns = [
        ReplacePattern(re.compile(rf"^tenon\._core\.{name}$"), dedented(text), 0)
        for name, text in BY_HAND.items()
    ]
    generator = StubGen(module, patterns=patterns)
    generator.put(module)
    text = generator.get()
    for pattern, replacement in GENERIC:
        text = re.sub(pattern, replacement, text)
    return IMPORTS + text


def dedented(text: str) -> list[str]:
    return [line[8:] for line in text.strip("\n").split("\n")]


if __name__ == "__main__":
    output = Path(sys.argv[2])
    output.unlink(missing_ok=True)  # never through a link into the sources
    output.write_text(types_of(sys.argv[1]), encoding="utf-8")
