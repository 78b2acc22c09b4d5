"""tenon.check: checks whether an operator does what it declares."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from .. import _core, _errors  # noqa: F401 - imported now, not by a checked kernel
from .._arrays.tensors import save_array, tensor
from .._calls import views  # noqa: F401 - imported now, not by a checked kernel
from .._define.decorator import Definition, decorated
from .._errors import ExecutionError, UsageError
from .._host import context
from .._host.host import Host
from .compile import Compiled

FAULTS = ("failed", "crashed", "untried")


class CheckResult(NamedTuple):
    """The result of one check of one operator."""

    op: str
    check: str
    verdict: str
    """passed, skipped, warning, failed, crashed, or untried if no call was found that the operator
    accepts.
    """
    sentence: str
    calls: list[str]
    """Inputs and parameters of each call that the check made."""


class CheckReport(Sequence[CheckResult]):
    """The results of tenon.check, one per check and operator. True if nothing failed."""

    def __init__(self, results: Iterable[CheckResult]) -> None:
        self.results = list(results)

    @property
    def ok(self) -> bool:
        """Whether no check failed, crashed or found nothing to try."""
        return not self.failed

    @property
    def failed(self) -> list[CheckResult]:
        return [result for result in self.results if result.verdict in FAULTS]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return next(result for result in self.results if result.check == index)
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def __bool__(self) -> bool:
        return self.ok

    def _by_operator(self) -> dict[str, list[CheckResult]]:
        groups: dict[str, list[CheckResult]] = {}
        for result in self.results:
            groups.setdefault(result.op, []).append(result)
        return groups

    @staticmethod
    def _counts(results: Iterable[CheckResult]) -> str:
        return ", ".join(
            f"{count} {verdict}"
            for verdict, count in Counter(result.verdict for result in results).items()
        )

    def __repr__(self) -> str:
        lines = []
        for op, results in self._by_operator().items():
            lines.append(f"{op}: {self._counts(results)}")
            width = max(len(result.check) for result in results)
            for result in results:
                verdict = result.verdict
                verdict = verdict.upper() if verdict in FAULTS else verdict
                lines.append(f"  {result.check:{width}}  {verdict:8} {result.sentence}".rstrip())
        return "\n".join(lines) or "no operator was checked"

    def _repr_html_(self) -> str:
        tables = []
        for op, results in self._by_operator().items():
            rows = ""
            for result in results:
                verdict = f"<b>{result.verdict}</b>" if result.verdict in FAULTS else result.verdict
                rows += (
                    f"<tr><td>{escape(result.check)}</td><td>{verdict}</td>"
                    f'<td style="text-align:left">{escape(result.sentence)}</td></tr>'
                )
            tables.append(
                f"<table><caption>{escape(op)}: {self._counts(results)}</caption>{rows}</table>"
            )
        return "".join(tables)


_Calls = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


def check(
    what: Any,
    *,
    op: str = "",
    checks: Sequence[str] = (),
    device: str = "",
    seed: int = 0,
    timeout: float = 60.0,
    plugins: Sequence[str | os.PathLike[str]] = (),
    memory_limit: int = 0,
    shape: _Calls = None,
    set: _Calls = None,
    input: _Calls = None,
) -> CheckReport:
    """Checks whether operators do what they declare: inference, gradients, reads and writes,
    reproducible bits, files.

    what: a class decorated with @tenon.operator, the result of tenon.compile, a function of
        tenon.ops, or the path of a plugin.
    op: only this operator of a plugin.
    checks: only these checks, by name.
    device: compare the kernels of this device with the CPU's; for plugins.
    seed: of all inputs.
    timeout: seconds for each check.
    plugins: folders and files of other plugins that the operators may need.
    memory_limit: bytes that the checks may allocate; 0: no limit.
    shape, set, input: the calls to try instead of searching for some: shapes of inputs, values of
        parameters, and elements of inputs as arrays or file paths. Each is a mapping by name or a
        list of mappings; every combination is a call. What they do not specify comes from the
        operator's examples if those fit, or is searched for.

    The checks run in separate processes: whatever an operator does there becomes a result and does
    not affect this process. An operator in Python is checked in a fork of this process, without
    other threads; it may call other operators of the default host, on one thread. Raises UsageError
    and FileError for what cannot be checked at all.
    """
    options = {
        "op": op, "checks": list(checks), "device": device, "seed": seed,
        "time_limit": float(timeout), "memory_limit": memory_limit, "trust_writable": False,
        "plugins": [os.fspath(path) for path in plugins], "calls": _calls(shape, set, input),
    }  # fmt: skip
    if isinstance(what, _core.Operator):
        found = decorated(what.info.full_name)
        if what.info.path is None and found is None:
            raise UsageError(f"{what.info.full_name} is part of Tenon itself and not of a plugin")
        what, options["op"] = (
            (found, "") if found is not None else (what.info.path, what.info.full_name)
        )
    if isinstance(what, Compiled):
        what = what.path
    if isinstance(what, type):
        definition = what.__dict__.get("_tenon_definition")
        if not isinstance(definition, Definition):
            raise TypeError(f"expected a class decorated with @tenon.operator, not {what!r}")
        return _report(_of_class(what, definition, options))
    return _report(_of_plugin(os.fspath(what), options))


def _calls(shape: _Calls, values: _Calls, arrays: _Calls) -> list[dict[str, dict[str, Any]]]:
    if shape is None and values is None and arrays is None:
        return []
    several: list[list[Mapping[str, Any]]] = [
        [{}] if calls is None else [calls] if isinstance(calls, Mapping) else list(calls)
        for calls in (shape, values, arrays)
    ]
    return [
        {
            "shape": dict(shapes),
            "set": dict(parameters),
            "input": {
                name: tensor(array) if not _is_path(array) else os.fspath(array)
                for name, array in elements.items()
            },
        }
        for shapes, parameters, elements in itertools.product(*several)
    ]


def _is_path(array: Any) -> bool:
    return isinstance(array, str | os.PathLike)


def _report(lines: Iterator[dict[str, Any]]) -> CheckReport:
    results = []
    for line in lines:
        if "kind" in line:
            raise getattr(_errors, line["kind"])(line["text"], line["hint"])
        results.append(CheckResult(**line))
    return CheckReport(results)


def _write_results(
    write: Callable[[bytes], Any], work: Callable[[Callable[..., None]], None]
) -> None:
    """Runs the checks and writes each result, or the error that they raise, as a line of JSON."""

    def report(op: str, check: str, verdict: str, sentence: str, calls: list[str]) -> None:
        write(
            json.dumps(
                {"op": op, "check": check, "verdict": verdict, "sentence": sentence, "calls": calls}
            ).encode()
            + b"\n"
        )

    try:
        work(report)
    except _errors.Error as error:
        write(
            json.dumps(
                {"kind": type(error).__name__, "text": str(error.args[0]), "hint": error.hint}
            ).encode()
            + b"\n"
        )


def _of_class(
    cls: type, definition: Definition, options: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    before = _core.default_host()
    read, write = os.pipe()
    with warnings.catch_warnings():
        # about threads, which the child does not use
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read)
            _use_one_thread(before)

            def work(report: Callable[..., None]) -> None:
                _core.check_operator(
                    definition.data,
                    cls,
                    definition.call_type,
                    definition.declared,
                    dict(options),
                    report,
                )

            _write_results(lambda line: _write_all(write, line), work)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    ended = False
    try:
        with os.fdopen(read) as lines:
            for line in lines:
                yield json.loads(line)
        _, state = os.waitpid(pid, 0)
        ended = True
        if state != 0:
            raise ExecutionError(
                f"the check process ended with status {os.waitstatus_to_exitcode(state)}"
            )
    finally:
        if not ended:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _use_one_thread(before: _core.Host) -> None:
    """Gives a forked child, which has none of its parent's host threads, a new host with the same
    operators.
    """
    _core.allow_fork()
    paths = [file["path"] for file in before.files() if file["usable"]]
    host = Host(threads=1)
    context.replace_all(host)
    known = {file["path"] for file in host.files()}
    for path in paths:
        if path not in known:
            host.add_plugins(path)
    for cls in decorated():
        host.add(cls)
    _core.allow_fork()


def _of_plugin(path: str, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Runs the checks in a new interpreter, since they fork, which a process with threads must not.
    Passes arrays as files.
    """
    with tempfile.TemporaryDirectory(prefix="tenon-check-") as folder:
        for number, call in enumerate(options["calls"]):
            for name, array in call["input"].items():
                if not _is_path(array):
                    call["input"][name] = os.path.join(folder, f"{number}-{name}.npy")
                    save_array(call["input"][name], array.to("cpu").to_storage("dense"))
        yield from _in_interpreter(path, options)


def _in_interpreter(path: str, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", "from tenon._authoring.check import _main; _main()"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert (
            process.stdin is not None and process.stdout is not None and process.stderr is not None
        )
        try:
            with contextlib.suppress(BrokenPipeError):  # the process has ended; its stderr says why
                process.stdin.write(pickle.dumps((path, options)))
                process.stdin.close()
            for line in process.stdout:
                yield json.loads(line)
            errors = process.stderr.read().decode(errors="replace")
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise ExecutionError(
            f"the check process ended with status {process.returncode}: {errors.strip()[-2000:]}"
        )


def _main() -> None:
    path, options = pickle.load(sys.stdin.buffer)
    _write_results(
        lambda line: _write_all(1, line), lambda report: _core.check_plugin(path, options, report)
    )
