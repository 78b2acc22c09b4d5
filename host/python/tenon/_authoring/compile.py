"""tenon.compile: C++ operators from a string."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .. import _core
from .._errors import CompileError, FileError, UsageError, listed
from .._operators.manifest import doc_of
from .._package.paths import include_dir
from . import compiler_errors

OPERATOR = re.compile(r"^[^/\n]*\bTENON_(?:OPERATOR|KERNEL\w*)\s*\(\s*(\w+)", re.MULTILINE)
SPACE = "compiled"
MAX_UNUSED_DAYS = 30
_INCLUDE_VARIABLES = ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH")


class Compiled:
    """The operators of a plugin built by tenon.compile, as functions: `mine.half_square(x)`. `path`
    is the plugin's file.
    """

    def __init__(self, name: str, path: str, operators: Sequence[str], host: _core.Host) -> None:
        self._name, self.path = name, path
        self._functions = {
            full.rpartition(".")[2]: _core.Operator(full, host) for full in operators
        }

    def __getattr__(self, name: str) -> _core.Operator:
        functions: dict[str, _core.Operator] = self.__dict__.get("_functions", {})
        bare = name[:-1] if name.endswith("_") and name not in functions else name
        if bare in functions:
            return functions[bare]
        raise AttributeError(
            f"the compiled plugin has no operator '{name}'; it has {listed(functions)}"
        )

    def __dir__(self) -> list[str]:
        return ["path", *map(_core.python_name, self._functions)]

    def __repr__(self) -> str:
        return f"<compiled plugin '{self._name}': {listed(self._functions)}>"

    def _repr_html_(self) -> str:
        return "".join(
            f"<pre>{escape(doc_of(each) or '')}</pre>" for each in self._functions.values()
        )


def compile(  # noqa: A001 - tenon.compile
    source: str,
    *,
    cuda: bool = False,
    flags: Sequence[str] = (),
    name: str | None = None,
    host: _core.Host | None = None,
    timeout: float = 600.0,
) -> Compiled:
    """Compiles C++ operators and adds them to the default host, or to `host`. The result has each
    operator as a function.

    source: the content of a plugin's source file, from `#include <tenon/operator.hpp>` to
        `TENON_OPERATOR(name, Class)`.
    cuda: compile with nvcc, for element-wise operators and kernels on a GPU.
    flags: further compiler options, after -O2.
    name: the name of the plugin and the space of its operators. Default: the name of its first
        operator, and the space `compiled`, unless describe() sets op.space().
    timeout: seconds to wait for another process that builds the same source.

    A changed source replaces the operators that it defined before, for everything created later.

    Plugins are cached in the user's cache folder (XDG_CACHE_HOME) by source, flags, compiler, all
    included headers, and the files that the flags name. A source that may include its own headers
    is preprocessed by each call, which also finds new headers; for others, a cached plugin needs no
    process. The compiler is $CXX, c++, g++ or clang++; for CUDA sources $CUDACXX or nvcc.

    Raises CompileError with the errors in the source first and the compiler's whole output as
    `.output`; UsageError if there is no compiler; FileError if the cache folder cannot be used or
    the wait exceeds `timeout`.

    Threads: any. Processes that compile the same source concurrently wait for the first.
    """
    found = OPERATOR.search(source)
    if found is None:
        raise UsageError(
            "the source registers no operator", "end it with TENON_OPERATOR(name, Class)"
        )
    space = name or SPACE
    name = name or found[1]
    if not name.isidentifier():
        raise UsageError(
            f"the plugin's name is '{name}', but it must consist of letters, digits and "
            "underscores and not start with a digit"
        )
    compiler = _compiler(cuda)
    headers = _headers()
    folder = _cache() / _key(source, space, cuda, flags, compiler, headers)
    build = _Build(source, folder, name, _command(compiler, cuda, headers, name, space), flags)
    path = build.made()
    if path is None:
        with _locked(folder, timeout):
            path = build.made() or build.make()
            _forget_old(folder.parent)
    os.utime(folder)
    return _added(name, space, path, host if host is not None else _core.default_host())


def _added(name: str, space: str, path: Path, host: _core.Host) -> Compiled:
    host.add_plugins(str(path))
    file = next((each for each in reversed(host.files()) if each["path"] == str(path)), None)
    if file is None or not file["usable"]:
        reason = (
            file["reason"] if file is not None and file["reason"] else "the host did not find it"
        )
        raise CompileError(
            f"the compiled plugin '{name}' cannot be used: {reason}",
            file["hint"] if file is not None else "",
        )
    return Compiled(
        name,
        str(path),
        [_full_name(host, space, each, str(path)) for each in file["operators"]],
        host,
    )


def _full_name(host: _core.Host, space: str, operator: str, path: str) -> str:
    """The full name of the operator in this file. Other operators may share its short name."""
    for name in itertools.chain([f"{space}.{operator}", operator], host.names()):
        if name.rpartition(".")[2] == operator:
            with contextlib.suppress(ImportError):
                described = host.describe(name)
                if described["path"] == path and described["name"] == operator:
                    return str(described["full_name"])
    raise CompileError(
        f"the compiled operator '{operator}' was not added to the host",
        listed(host.notes(), none="", separator="; "),
    )


def _compiler(cuda: bool) -> str:
    if cuda:
        candidates = [os.environ.get("CUDACXX"), "nvcc", "/usr/local/cuda/bin/nvcc"]
    else:
        candidates = [os.environ.get("CXX"), "c++", "g++", "clang++"]
    for candidate in candidates:
        found = shutil.which(candidate) if candidate else None
        if found is not None:
            return found
    if cuda:
        raise UsageError(
            "there is no CUDA compiler (nvcc)",
            "install the CUDA toolkit, set CUDACXX to nvcc, or omit cuda=True",
        )
    raise UsageError(
        "there is no C++ compiler",
        "install g++ 12, clang 14 or later, or set the environment variable CXX to yours",
    )


def _headers() -> Path:
    """The headers of the installed package, or of the source tree that contains this file."""
    for folder in (Path(include_dir()), Path(__file__).resolve().parents[4] / "sdk" / "include"):
        if (folder / "tenon" / "operator.hpp").exists():
            return folder
    raise UsageError(
        f"the headers <tenon/...> are not in {include_dir()}", "install the package again"
    )


def _command(compiler: str, cuda: bool, headers: Path, name: str, space: str) -> list[str]:
    shared = [
        f"-I{headers}",
        f'-DTENON_PLUGIN_NAME="{name}"',
        f'-DTENON_SPACE="{space}"',
        "-std=c++20",
        "-O2",
        "-shared",
    ]
    if not cuda:
        numbers = ["-ffp-contract=off", "-fno-math-errno"]  # the same as tenon_add_plugin's
        return [
            compiler,
            *shared,
            *numbers,
            "-fPIC",
            "-fvisibility=hidden",
            "-Wl,--exclude-libs,ALL",
            "-Wl,--no-undefined",
        ]
    architectures = "native" if os.path.exists("/dev/nvidiactl") else "all-major"
    return [
        compiler,
        *shared,
        "-x",
        "cu",
        f"-arch={architectures}",
        "--extended-lambda",
        "-Xcompiler",
        "-fPIC,-fvisibility=hidden",
    ]


def _key(
    source: str, space: str, cuda: bool, flags: Sequence[str], compiler: str, headers: Path
) -> str:
    """A key of everything that may affect the compiler's output. Compiler and headers count by size
    and time, which needs no process.
    """
    inputs: list[Any] = [
        source,
        space,
        cuda,
        list(flags),
        compiler,
        *_stamp(os.path.realpath(compiler)),
    ]
    inputs += [os.environ.get(name) for name in _INCLUDE_VARIABLES]
    if any(flag.startswith(("-I", "-i")) or not flag.startswith("-") for flag in flags):
        inputs.append(os.getcwd())  # for relative paths
    for folder, folders, files in os.walk(headers / "tenon"):
        folders.sort()
        inputs += [_stamp(os.path.join(folder, file)) for file in sorted(files)]
    return hashlib.sha256(repr(inputs).encode()).hexdigest()[:32]


def _stamp(path: str) -> tuple[int, int]:
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base) / "tenon" / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        state = folder.stat()
        if state.st_uid == os.getuid() and state.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise FileError(
            f"the cache folder {folder} of compiled operators cannot be used: {error.strerror}",
            "set XDG_CACHE_HOME to another folder",
        ) from error
    if state.st_uid != os.getuid():
        raise FileError(
            f"the cache folder {folder} belongs to another user, who could change what is loaded "
            "from it",
            "set XDG_CACHE_HOME to another folder",
        )
    return folder


@contextlib.contextmanager
def _locked(folder: Path, timeout: float) -> Iterator[None]:
    """A file lock, which the system releases when the process ends."""
    folder.mkdir(exist_ok=True, mode=0o700)
    with open(folder / "lock", "w") as file:
        until = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise FileError(
                        f"another process has been compiling {folder} for {timeout:g} seconds",
                        "increase timeout=",
                    ) from None
                time.sleep(0.02)
        yield


class _Build:
    """A plugin in a cache folder, which has a subfolder for each state of the compiler's inputs."""

    def __init__(
        self, source: str, folder: Path, name: str, command: Sequence[str], flags: Sequence[str]
    ) -> None:
        self._source, self._folder, self._name = source, folder, name
        self._command, self._flags = list(command), list(flags)
        # Headers other than Tenon's and the system's: the set of included headers may change even
        # if none of its members does.
        self._has_own_headers = (
            any(word in source for word in ('#include "', "__has_include", "#embed"))
            or any(flag.startswith(("-I", "-i", "@", "-B")) for flag in flags)
            or any(os.environ.get(name) for name in _INCLUDE_VARIABLES)
        )

    def made(self) -> Path | None:
        """The plugin for the compiler's current inputs; None if it is not cached."""
        try:
            included = json.loads((self._folder / "headers.json").read_text())
            path = self._folder / self._state(included, self._read_now()) / f"{self._name}.so"
        except (OSError, ValueError):
            return None
        return path if path.exists() else None

    def make(self) -> Path:
        """Builds the plugin. A failed build leaves no file; the plugin appears atomically."""
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            written, made, rule = (
                Path(folder) / f"{self._name}{end}" for end in (".cpp", ".so", ".d")
            )
            written.write_text(self._source)
            began = time.time_ns()
            before = self._read_now()
            self._run(
                [
                    *self._command,
                    "-MD",
                    "-MF",
                    str(rule),
                    str(written),
                    "-o",
                    str(made),
                    *self._flags,
                ],
                written,
            )
            included = _included(rule.read_text(errors="surrogateescape"), written)
            # A plugin is used only once if an input changed meanwhile or is not listed among the
            # headers.
            once = (
                any(os.stat(each).st_mtime_ns > began for each in included)
                or self._read_now() != before
            )
            once = (
                once
                or ".incbin" in self._source
                or any(".incbin" in _text(each) for each in included)
            )
            path = (
                self._folder
                / ("once-" + Path(folder).name if once else self._state(included, before))
                / made.name
            )
            path.parent.mkdir(exist_ok=True, mode=0o700)
            listed = Path(folder) / "headers.json"
            listed.write_text(json.dumps(included))
            os.replace(written, path.with_suffix(".cpp"))
            os.replace(made, path)
            if not once:
                os.replace(listed, self._folder / "headers.json")
            return path

    @staticmethod
    def _state(included: Sequence[str], read: Sequence[Any]) -> str:
        """The state of the included headers and of the compiler's other inputs."""
        inputs = [*map(_content, included), *read]
        return hashlib.sha256(repr(inputs).encode()).hexdigest()[:16]

    def _read_now(self) -> list[Any]:
        """The files that the flags name and, for a source with its own headers, a hash of the
        preprocessed source.
        """
        inputs: list[Any] = [_content(each) for each in _files_of(self._flags)]
        if self._has_own_headers:
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                written = Path(folder) / f"{self._name}.cpp"
                written.write_text(self._source)
                text = self._run([*self._command, "-E", str(written), *self._flags], written)
                inputs.append(hashlib.sha256(text.replace(folder, "").encode()).hexdigest())
        return inputs

    def _run(self, command: list[str], written: Path) -> str:
        # Messages in English, since compiler_errors parses them.
        environment = os.environ | {"LC_ALL": "C"}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", env=environment
            )
        except OSError as error:
            raise UsageError(
                f"the compiler {command[0]} cannot be run: {error.strerror}"
            ) from error
        if done.returncode != 0:
            output = done.stderr + done.stdout
            summary = compiler_errors.summary(output, str(written))
            refusal = CompileError(summary or f"{command[0]} ended with status {done.returncode}")
            refusal.output = output
            raise refusal
        return done.stdout


def _is_of_system(path: str) -> bool:
    return path.startswith(("/usr/include/", "/usr/lib/"))


def _content(path: str) -> Any:
    """System headers count by size and time, so that they need not be read."""
    return path, _stamp(path) if _is_of_system(path) else hashlib.sha256(
        Path(path).read_bytes()
    ).hexdigest()


def _text(path: str) -> str:
    return "" if _is_of_system(path) else Path(path).read_text(errors="replace")


def _files_of(flags: Sequence[str]) -> list[str]:
    """Objects, libraries and response files that the flags name."""
    folders = [flag[2:] for flag in flags if flag.startswith("-L")]
    libraries = [flag[2:] for flag in flags if flag.startswith("-l")]
    named = [flag.removeprefix("@") for flag in flags if not flag.startswith("-")]
    named += [
        os.path.join(folder, f"lib{name}.{end}")
        for folder in folders
        for name in libraries
        for end in ("a", "so")
    ]
    return [each for each in named if os.path.isfile(each)]


def _included(rule: str, source: Path) -> list[str]:
    """The prerequisites of a make rule, without the source itself."""
    named = re.findall(r"(?:\\[ #]|\$\$|[^\s\\])+", rule.partition(": ")[2].replace("\\\n", " "))
    paths = [re.sub(r"\\([ #])", r"\1", each).replace("$$", "$") for each in named]
    return sorted({os.path.abspath(each) for each in paths} - {str(source)})


def _forget_old(cache: Path) -> None:
    """Removes plugins that were not used for MAX_UNUSED_DAYS."""
    oldest = time.time() - MAX_UNUSED_DAYS * 86400
    for folder in cache.iterdir():
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
