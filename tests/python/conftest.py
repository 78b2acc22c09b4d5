"""What all tests share: a cache of their own, so that no test sees what another run left in the user's, and other interpreters."""

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
os.environ["XDG_CACHE_HOME"] = _cache  # before tenon is imported
# A shell lets what runs in the background ignore it, and its children, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def python() -> Callable[..., str]:
    """Runs code in another interpreter and returns what it prints. Another exit status, or a word on stderr, is a failure."""

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
                    os.killpg(running.pid, 9)  # what it forked, too
                except ProcessLookupError:
                    pass
        assert running.returncode == 0 and not (quiet and err), f"{running.returncode}\n{out}\n{err}"
        return out

    return run


def pytest_unconfigure() -> None:
    shutil.rmtree(_cache, ignore_errors=True)
