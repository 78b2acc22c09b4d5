"""Fixtures shared by all tests: a separate cache, so that no test depends on the user's cache, and
subprocesses.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable

import pytest

_cache = tempfile.mkdtemp(prefix="tenon-tests-")
os.environ["XDG_CACHE_HOME"] = _cache  # set before tenon is imported
# Shells make background processes and their children ignore SIGINT.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def python() -> Callable[..., str]:
    """Runs code in another interpreter and returns its stdout. Fails on another exit status or
    output on stderr.
    """

    def run(code: str, *, quiet: bool = True, timeout: float = 60, **environment: str) -> str:
        program = [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)]
        with subprocess.Popen(
            program,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
            start_new_session=True,
        ) as running:
            try:
                out, err = running.communicate(timeout=timeout)
            finally:
                try:
                    os.killpg(running.pid, 9)  # including forked processes
                except ProcessLookupError:
                    pass
        assert running.returncode == 0 and not (quiet and err), (
            f"{running.returncode}\n{out}\n{err}"
        )
        return out

    return run


def pytest_unconfigure() -> None:
    shutil.rmtree(_cache, ignore_errors=True)
