"""What all tests share: a cache of their own, so that no test sees what another run left in the user's."""

from __future__ import annotations

import os
import shutil
import tempfile

_cache = tempfile.mkdtemp(prefix="tenon-tests-")
os.environ["XDG_CACHE_HOME"] = _cache  # before tenon is imported


def pytest_unconfigure() -> None:
    shutil.rmtree(_cache, ignore_errors=True)
