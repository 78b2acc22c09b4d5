"""The program `tenon`, which the console script and `python -m tenon` become."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from ._places import program


def main() -> NoReturn:
    """Runs the program in place of this process. Raises OSError if it cannot be run."""
    os.execv(program(), ["tenon", *sys.argv[1:]])
