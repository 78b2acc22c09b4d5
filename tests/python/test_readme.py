"""The Python programs on the pages print the documented output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIRST_OPERATOR = "sdk/docs/first_operator.md"
PAGES = {
    page: (ROOT / page).read_text()
    for page in ("host/python/README.md", "host/docs/graphs.md", FIRST_OPERATOR)
}
PROGRAMS = [
    (page, *found)
    for page, text in PAGES.items()
    for found in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
]


def test_every_program_is_followed_by_what_it_prints() -> None:
    assert len(PROGRAMS) == sum(text.count("```python\n") for text in PAGES.values()) >= 12


@pytest.fixture(scope="module")
def plugin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the plugin that the page of the first operator compiles."""
    folder = tmp_path_factory.mktemp("first_operator")
    (folder / "sdk").symlink_to(ROOT / "sdk")
    (folder / "my_plugins").mkdir()
    text = PAGES[FIRST_OPERATOR]
    source, command = re.search(r"```cpp\n(.*?)```", text, re.DOTALL), re.search(r"g\+\+ .*", text)
    assert source is not None and command is not None
    (folder / "scaled_cos.cpp").write_text(source[1])
    subprocess.run(command[0].split(), cwd=folder, check=True, timeout=300)
    return folder / "my_plugins"


@pytest.mark.parametrize(
    "page, program, expected", PROGRAMS, ids=lambda text: text.strip().splitlines()[-1][:40]
)
def test_a_program_prints_the_output_on_the_page(
    page: str, program: str, expected: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if sys.version_info < (3, 11) and ".hint" in program:
        pytest.skip("exceptions of Python 3.10 have no notes: the hint stands in the text, too")
    environment = dict(os.environ)
    if page == FIRST_OPERATOR:
        environment["TENON_PLUGIN_PATH"] = str(request.getfixturevalue("plugin_folder"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected
    assert done.stderr == ""
