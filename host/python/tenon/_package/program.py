"""The program `tenon`, started by the console script and by `python -m tenon`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from .paths import program


def main() -> NoReturn:
    """Replaces this process by the program. Raises OSError if it cannot be run."""
    os.execv(program(), ["tenon", *sys.argv[1:]])
