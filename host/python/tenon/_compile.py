"""tenon.compile: operators in C++ from a string."""

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

from . import _compiler_errors, _core
from ._errors import CompileError, FileError, UsageError
from ._places import include_dir

OPERATOR = re.compile(r"^[^/\n]*\bTENON_(?:OPERATOR|KERNEL\w*)\s*\(\s*(\w+)", re.MULTILINE)
SPACE = "compiled"
KEPT_DAYS = 30
_INCLUDE_VARIABLES = ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH")


class Compiled:
    """The operators of a plugin that tenon.compile made: `mine.half_square(x)`. `path` is the plugin's file."""

    def __init__(self, name: str, path: str, operators: Sequence[str], host: _core.Host) -> None:
        self._name, self.path = name, path
        self._functions = {full.rpartition(".")[2]: _core.Operator(full, host) for full in operators}

    def __getattr__(self, name: str) -> _core.Operator:
        functions: dict[str, _core.Operator] = self.__dict__.get("_functions", {})
        bare = name[:-1] if name.endswith("_") and name not in functions else name
        if bare in functions:
            return functions[bare]
        raise AttributeError(f"the compiled plugin has no operator '{name}'; it has {', '.join(functions)}")

    def __dir__(self) -> list[str]:
        return ["path", *map(_core.python_name, self._functions)]

    def __repr__(self) -> str:
        return f"<compiled plugin '{self._name}': {', '.join(self._functions)}>"

    def _repr_html_(self) -> str:
        from ._operators import doc_of

        return "".join(f"<pre>{escape(doc_of(each) or '')}</pre>" for each in self._functions.values())


def compile(  # noqa: A001 - tenon.compile
    source: str,
    *,
    cuda: bool = False,
    flags: Sequence[str] = (),
    name: str | None = None,
    host: _core.Host | None = None,
    timeout: float = 600.0,
) -> Compiled:
    """Compiles operators in C++ and adds them to the default host, or to `host`. The result has each of them as a function.

    source: what a plugin's file has, from `#include <tenon/operator.hpp>` to `TENON_OPERATOR(name, Class)`. cuda: compile it by nvcc, for
    element-wise operators and kernels on a GPU. flags: more options for the compiler, after -O2. name: the plugin's and its operators'
    space; default: that of its first operator, and the space `compiled`, which the op.space() of a describe() goes before. A source that
    changed replaces the operators that it made before, for what is made from then on.

    What was compiled is kept in the user's cache folder (XDG_CACHE_HOME) by source, flags, compiler, all headers that the source includes,
    and the files that the flags name. A source that may include headers of its own is preprocessed by each call, which finds headers that
    are new, too; others take no process. The compiler is $CXX, c++, g++ or clang++; of CUDA sources $CUDACXX or nvcc. Raises CompileError with the author's lines first and the compiler's whole output as
    `.output`; UsageError without compiler; FileError where the cache folder cannot be used, or another process builds the same source for
    longer than `timeout` seconds.

    Threads: any. Processes that compile the same source at once wait for the first.
    """
    found = OPERATOR.search(source)
    if found is None:
        raise UsageError("the source registers no operator", "end it with TENON_OPERATOR(name, Class)")
    space = name or SPACE
    name = name or found[1]
    if not name.isidentifier():
        raise UsageError(
            f"the plugin's name is '{name}', but it must have letters, digits and underscores, and no digit first"
        )
    compiler = _compiler(cuda)
    headers = _headers()
    kept = _cache() / _key(source, space, cuda, flags, compiler, headers)
    build = _Build(source, kept, name, _command(compiler, cuda, headers, name, space), flags)
    path = build.made()
    if path is None:
        with _locked(kept, timeout):
            path = build.made() or build.make()
            _forget_old(kept.parent)
    os.utime(kept)
    return _added(name, space, path, host if host is not None else _core.default_host())


def _added(name: str, space: str, path: Path, host: _core.Host) -> Compiled:
    host.add_plugins(str(path))
    file = next((each for each in reversed(host.files()) if each["path"] == str(path)), None)
    if file is None or not file["usable"]:
        reason = file["reason"] if file is not None and file["reason"] else "the host does not know it"
        raise CompileError(
            f"the compiled plugin '{name}' cannot be used: {reason}", file["hint"] if file is not None else ""
        )
    return Compiled(name, str(path), [_full_name(host, space, each, str(path)) for each in file["operators"]], host)


def _full_name(host: _core.Host, space: str, operator: str, path: str) -> str:
    """Of the operator of that file: others may have its short name."""
    for name in itertools.chain([f"{space}.{operator}", operator], host.names()):
        if name.rpartition(".")[2] == operator:
            with contextlib.suppress(ImportError):
                described = host.describe(name)
                if described["path"] == path and described["name"] == operator:
                    return str(described["full_name"])
    raise CompileError(f"the compiled operator '{operator}' has not become part of the host", "; ".join(host.notes()))


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
            "there is no nvcc, which compiles for CUDA",
            "install the CUDA toolkit, name nvcc by CUDACXX, or leave cuda=True out",
        )
    raise UsageError(
        "there is no C++ compiler",
        "install g++ 12 or clang 14, or a later one, or name yours by the environment variable CXX",
    )


def _headers() -> Path:
    """Those of the installed package, or of the source tree that this file lies in."""
    for folder in (Path(include_dir()), Path(__file__).resolve().parents[3] / "sdk" / "include"):
        if (folder / "tenon" / "operator.hpp").exists():
            return folder
    raise UsageError(f"the headers <tenon/...> are not in {include_dir()}", "install the package again")


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
        numbers = ["-ffp-contract=off", "-fno-math-errno"]  # as tenon_add_plugin has it
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


def _key(source: str, space: str, cuda: bool, flags: Sequence[str], compiler: str, headers: Path) -> str:
    """Another one wherever the compiler could give something else. Compiler and headers count by size and time, which takes no process."""
    parts: list[Any] = [source, space, cuda, list(flags), compiler, *_stamp(os.path.realpath(compiler))]
    parts += [os.environ.get(name) for name in _INCLUDE_VARIABLES]
    if any(flag.startswith(("-I", "-i")) or not flag.startswith("-") for flag in flags):
        parts.append(os.getcwd())  # which paths may be relative to
    for folder, folders, files in os.walk(headers / "tenon"):
        folders.sort()
        parts += [_stamp(os.path.join(folder, file)) for file in sorted(files)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


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
            f"{folder}, where compiled operators are kept, cannot be used: {error.strerror}",
            "name another folder by XDG_CACHE_HOME",
        ) from error
    if state.st_uid != os.getuid():
        raise FileError(
            f"{folder} belongs to another user, who could change what is loaded from it",
            "name another folder by XDG_CACHE_HOME",
        )
    return folder


@contextlib.contextmanager
def _locked(folder: Path, timeout: float) -> Iterator[None]:
    """A lock of the system's, which ends with its process: none is ever left behind."""
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
                        f"another process has been compiling {folder} for {timeout:g} seconds", "give a longer timeout="
                    ) from None
                time.sleep(0.02)
        yield


class _Build:
    """A plugin in a folder of the cache, with one more folder for each state of what the compiler reads."""

    def __init__(self, source: str, kept: Path, name: str, command: Sequence[str], flags: Sequence[str]) -> None:
        self._source, self._kept, self._name = source, kept, name
        self._command, self._flags = list(command), list(flags)
        # Headers besides Tenon's and the system's: which ones they are may change while none of those that were included does.
        self._has_own_headers = (
            any(word in source for word in ('#include "', "__has_include", "#embed"))
            or any(flag.startswith(("-I", "-i", "@", "-B")) for flag in flags)
            or any(os.environ.get(name) for name in _INCLUDE_VARIABLES)
        )

    def made(self) -> Path | None:
        """The plugin of what the compiler would read now, if it is there."""
        try:
            included = json.loads((self._kept / "headers.json").read_text())
            path = self._kept / self._state(included, self._read_now()) / f"{self._name}.so"
        except (OSError, ValueError):
            return None
        return path if path.exists() else None

    def make(self) -> Path:
        """Nothing is left of a build that fails; the plugin appears whole or not at all."""
        with tempfile.TemporaryDirectory(dir=self._kept) as folder:
            written, made, rule = (Path(folder) / f"{self._name}{end}" for end in (".cpp", ".so", ".d"))
            written.write_text(self._source)
            began = time.time_ns()
            before = self._read_now()
            self._run([*self._command, "-MD", "-MF", str(rule), str(written), "-o", str(made), *self._flags], written)
            included = _included(rule.read_text(errors="surrogateescape"), written)
            # What changed meanwhile, or is in no header, makes this a plugin for one use.
            once = any(os.stat(each).st_mtime_ns > began for each in included) or self._read_now() != before
            once = once or ".incbin" in self._source or any(".incbin" in _text(each) for each in included)
            path = self._kept / ("once-" + Path(folder).name if once else self._state(included, before)) / made.name
            path.parent.mkdir(exist_ok=True, mode=0o700)
            listed = Path(folder) / "headers.json"
            listed.write_text(json.dumps(included))
            os.replace(written, path.with_suffix(".cpp"))
            os.replace(made, path)
            if not once:
                os.replace(listed, self._kept / "headers.json")
            return path

    @staticmethod
    def _state(included: Sequence[str], read: Sequence[Any]) -> str:
        """Of the headers that were included, and what the compiler reads besides."""
        parts = [*map(_content, included), *read]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def _read_now(self) -> list[Any]:
        """The files that the flags name, and for a source with headers of its own the text that the compiler makes of all."""
        parts: list[Any] = [_content(each) for each in _files_of(self._flags)]
        if self._has_own_headers:
            with tempfile.TemporaryDirectory(dir=self._kept) as folder:
                written = Path(folder) / f"{self._name}.cpp"
                written.write_text(self._source)
                text = self._run([*self._command, "-E", str(written), *self._flags], written)
                parts.append(hashlib.sha256(text.replace(folder, "").encode()).hexdigest())
        return parts

    def _run(self, command: list[str], written: Path) -> str:
        # Plain English, so that the output can be read here.
        environment = os.environ | {"LC_ALL": "C"}
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
        except OSError as error:
            raise UsageError(f"the compiler {command[0]} cannot be run: {error.strerror}") from error
        if done.returncode != 0:
            output = done.stderr + done.stdout
            told = _compiler_errors.told(output, str(written))
            refusal = CompileError(told or f"{command[0]} ended with status {done.returncode}")
            refusal.output = output
            raise refusal
        return done.stdout


def _is_of_system(path: str) -> bool:
    return path.startswith(("/usr/include/", "/usr/lib/"))


def _content(path: str) -> Any:
    """Headers of the system's count by size and time, which takes no reading."""
    return path, _stamp(path) if _is_of_system(path) else hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _text(path: str) -> str:
    return "" if _is_of_system(path) else Path(path).read_text(errors="replace")


def _files_of(flags: Sequence[str]) -> list[str]:
    """Objects, libraries and files of options that the flags name."""
    folders = [flag[2:] for flag in flags if flag.startswith("-L")]
    libraries = [flag[2:] for flag in flags if flag.startswith("-l")]
    named = [flag.removeprefix("@") for flag in flags if not flag.startswith("-")]
    named += [
        os.path.join(folder, f"lib{name}.{end}") for folder in folders for name in libraries for end in ("a", "so")
    ]
    return [each for each in named if os.path.isfile(each)]


def _included(rule: str, source: Path) -> list[str]:
    """The files that a rule for make names after its target, but for the source itself."""
    named = re.findall(r"(?:\\[ #]|\$\$|[^\s\\])+", rule.partition(": ")[2].replace("\\\n", " "))
    paths = [re.sub(r"\\([ #])", r"\1", each).replace("$$", "$") for each in named]
    return sorted({os.path.abspath(each) for each in paths} - {str(source)})


def _forget_old(cache: Path) -> None:
    """What nobody has used for a month goes."""
    oldest = time.time() - KEPT_DAYS * 86400
    for folder in cache.iterdir():
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
