"""The programs in the package's README print the documented output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "host" / "python" / "README.md"
PROGRAMS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text(), re.DOTALL)


def test_every_program_is_followed_by_what_it_prints() -> None:
    assert len(PROGRAMS) == README.read_text().count("```python\n") >= 8


@pytest.mark.parametrize(
    "program, expected", PROGRAMS, ids=lambda text: text.strip().splitlines()[-1][:40]
)
def test_a_program_prints_the_output_in_the_readme(
    program: str, expected: str, tmp_path: Path
) -> None:
    if sys.version_info < (3, 11) and ".hint" in program:
        pytest.skip("exceptions of Python 3.10 have no notes: the hint stands in the text, too")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected
    assert done.stderr == ""
