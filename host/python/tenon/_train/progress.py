"""Progress of a training: tqdm's bar if tqdm is installed, else a line on stderr."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any, Protocol


class Progress(Protocol):
    def step(self, text: str) -> None: ...

    def epoch(self, text: str) -> None: ...

    def end(self) -> None: ...


class Silent:
    def step(self, text: str) -> None:
        pass

    def epoch(self, text: str) -> None:
        pass

    def end(self) -> None:
        pass


class Line:
    """On a terminal, a line that is overwritten; elsewhere, a line for each epoch."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done = total, done
        self._terminal = sys.stderr.isatty()
        self._shown = 0.0
        self._open = False

    def step(self, text: str) -> None:
        self._done += 1
        now = time.monotonic()
        if not self._terminal or now - self._shown < 0.1:
            return
        self._shown = now
        self._open = True
        print(
            f"\r\033[Kstep {self._done}/{self._total}  {text}", end="", file=sys.stderr, flush=True
        )

    def epoch(self, text: str) -> None:
        print(("\r\033[K" if self._open else "") + text, file=sys.stderr, flush=True)
        self._open = False

    def end(self) -> None:
        if self._open:
            print(file=sys.stderr, flush=True)
        self._open = False


class Bar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def step(self, text: str) -> None:
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update()

    def epoch(self, text: str) -> None:
        self._bar.set_postfix_str(text, refresh=True)

    def end(self) -> None:
        self._bar.close()


def make_progress(requested: bool | None, total: int, done: int) -> Progress:
    """requested: None shows progress only in notebooks and on terminals, True everywhere, False
    nowhere.
    """
    if requested is False:
        return Silent()
    bar = _bar(total, done, None if requested is None else False)
    if bar is not None:
        return Bar(bar)
    return (
        Line(total, done)
        if requested or (sys.stderr is not None and sys.stderr.isatty())
        else Silent()
    )


def _bar(total: int, done: int, disable: bool | None) -> Any:
    """None if tqdm is missing. In notebooks without ipywidgets, tqdm.auto raises and tqdm's plain
    bar is used.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in ("tqdm.auto", "tqdm.std"):
            try:
                found = __import__(module, fromlist=["tqdm"]).tqdm
                return found(total=total, initial=done, disable=disable, unit="step")
            except Exception:  # an ImportError, or whatever a broken installation raises
                continue
    return None
