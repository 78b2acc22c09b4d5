"""Paths of the files that the package installs for authors of plugins and of C++ applications."""

from __future__ import annotations

import os

from .. import _core

# The core module is in the installation folder, even if this source is not (an editable
# installation).
_package = os.path.dirname(_core.__file__)


def include_dir() -> str:
    """The folder of the headers <tenon/...>, of the SDK and of the C++ library, for a compiler's
    -I.
    """
    return os.path.join(_package, "include")


def cmake_dir() -> str:
    """The folder of the CMake package, for cmake -DTenon_DIR=... or list(APPEND CMAKE_PREFIX_PATH
    ...).
    """
    return os.path.join(_package, "lib", "cmake", "Tenon")


def program() -> str:
    """The path of the program `tenon`."""
    return os.path.join(_package, "bin", "tenon")
