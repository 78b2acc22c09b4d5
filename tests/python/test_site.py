"""The Python calls on the pages of `tenon docs -o` run and return arrays."""

from __future__ import annotations

import html
import re
import subprocess
import sys

import numpy as np
import pytest
import tenon


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    site = tmp_path_factory.mktemp("site") / "site"
    subprocess.run(
        [sys.executable, "-m", "tenon", "docs", "-o", str(site)], check=True, capture_output=True
    )
    found = {}
    for page in site.glob("*.html"):
        call = re.search(r"<h3[^>]*>Python</h3>.*?<pre>(.*?)</pre>", page.read_text(), re.DOTALL)
        if call is not None:
            found[page.stem] = html.unescape(re.sub(r"<[^>]*>", "", call.group(1)))
    return found


def test_every_page_has_a_call(programs: dict[str, str]) -> None:
    missing = {name for name in tenon.default_host().names() if name not in programs}
    assert not missing


def test_the_calls_run(programs: dict[str, str]) -> None:
    faults = []
    for name, program in programs.items():
        if "import numpy" not in program:  # only the form of a call, if the manifest has no example
            continue
        names: dict[str, object] = {}
        try:
            exec(compile(program, name, "exec"), names)
        except Exception as error:
            faults.append(f"{name}: {type(error).__name__}: {error}\n{program}")
            continue
        if not any(
            isinstance(value, np.ndarray | tuple | tenon.Tensor)
            for key, value in names.items()
            if key != "np"
        ):
            faults.append(f"{name}: no array is made\n{program}")
    assert not faults, "\n\n".join(faults)
    assert len([program for program in programs.values() if "import numpy" in program]) > 80
