"""Where the files lie that the package brings for authors of plugins and of C++ applications."""

from __future__ import annotations

import os

from . import _core

# The core module lies where the files were installed, also where this source is elsewhere (an editable installation).
_package = os.path.dirname(_core.__file__)


def include_dir() -> str:
    """The folder of the headers <tenon/...>, for a compiler's -I: those of the SDK and of the C++ library."""
    return os.path.join(_package, "include")


def cmake_dir() -> str:
    """The folder of CMake's package, for cmake -DTenon_DIR=..., or list(APPEND CMAKE_PREFIX_PATH ...)."""
    return os.path.join(_package, "lib", "cmake", "Tenon")


def program() -> str:
    """The program `tenon`."""
    return os.path.join(_package, "bin", "tenon")
