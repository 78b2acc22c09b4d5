"""tenon.compile and tenon.to_cpp: compiling from a string, caching, replacing, and errors in the
source first.
"""

from __future__ import annotations

import enum
import os
import shutil
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import tenon
from tenon import ops
from tenon._authoring import compiler_errors

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
)

SOURCE = """#include <tenon/operator.hpp>

struct Scaled : tenon::Operator {
  double factor = 2;

  static constexpr void describe(auto& op) {
    op.doc("factor * x");
    op.types({tenon::f32, tenon::f64});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("factor", &Scaled::factor, "multiplier").at_least(0);
  }
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::Types{tenon::f32, tenon::f64}>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto y = call.output<T>(0);
      for (std::int64_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(factor) * x[i];
    });
  }
};
TENON_OPERATOR(scaled, Scaled)
"""
FLAGS = ["-O0"]  # compiles three times as fast
SHORT_FLAGS = [*FLAGS, "-DTENON_NO_WIDE"]
X = np.linspace(-1, 2, 7)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    yield folder / "tenon" / "compiled"
    os.environ.pop("XDG_CACHE_HOME") if before is None else os.environ.__setitem__(
        "XDG_CACHE_HOME", before
    )


@pytest.fixture(autouse=True)
def host():
    with tenon.Host(threads=2) as made:
        yield made


def test_compiled_operators_are_functions_and_come_from_the_cache(cache):
    mine = tenon.compile(SOURCE, flags=FLAGS)
    np.testing.assert_array_equal(mine.scaled(X, factor=3.0), 3 * X)
    np.testing.assert_array_equal(ops.scaled(X), 2 * X)
    assert (
        mine.scaled.info.full_name == "compiled.scaled"
        and dir(mine) == ["path", "scaled"]
        and "scaled" in repr(mine)
    )
    assert "multiplier" in mine._repr_html_()
    assert Path(mine.path).is_file() and Path(mine.path).is_relative_to(cache)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    with pytest.raises(AttributeError, match="no operator 'scale'; it has scaled"):
        mine.scale
    with pytest.raises(tenon.UsageError, match="factor"):
        mine.scaled(X, factor=-1.0)
    built = Path(mine.path).stat().st_mtime_ns
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        assert tenon.compile(SOURCE, flags=FLAGS).path == mine.path
        times.append(time.perf_counter() - begin)
    assert Path(mine.path).stat().st_mtime_ns == built
    assert min(times) < 0.05, "no compiler runs"
    other = tenon.compile(SOURCE, flags=[*FLAGS, "-DX=1"])
    assert other.path != mine.path, "flags count"
    assert (
        tenon.compile(SOURCE, flags=FLAGS, name="vendor").scaled.info.full_name == "vendor.scaled"
    )


def test_an_eager_call_reports_once_which_operator_a_short_name_means():
    source = SOURCE.replace("TENON_OPERATOR(scaled", "TENON_OPERATOR(square")
    path = tenon.compile(source, flags=FLAGS, name="vendor").path
    with tenon.Host(prefer=[]) as host:
        host.add_plugins(path)
        with pytest.warns(
            tenon.Warning, match="'square' refers to tenon.square, but vendor.square of "
        ) as said:
            for _ in range(2):
                np.testing.assert_array_equal(ops.square(X), X * X)
        assert len(said) == 1


def test_headers_that_the_source_includes_are_looked_at(tmp_path):
    folder = tmp_path / "own headers"
    folder.mkdir()
    source = SOURCE.replace('factor * x");', 'FACTOR * x");').replace(
        "static_cast<T>(factor)", "static_cast<T>(FACTOR)"
    )
    source = source.replace("#include", '#include "outer.hpp"\n#include', 1)
    flags = [*FLAGS, "-DTENON_NO_WIDE", f"-I{folder}"]
    (folder / "outer.hpp").write_text('#pragma once\n#include "inner.hpp"\n')
    paths = []
    for factor in (2, 5, 2):
        # same size, written within a moment
        (folder / "inner.hpp").write_text(f"#define FACTOR {factor}\n")
        made = tenon.compile(source, flags=flags)
        np.testing.assert_array_equal(made.scaled(X), factor * X)
        paths.append(made.path)
    assert paths[0] != paths[1]
    (folder / "outer.hpp").write_text("#pragma once\n#define FACTOR 7\n")
    np.testing.assert_array_equal(tenon.compile(source, flags=flags).scaled(X), 7 * X)
    (folder / "inner.hpp").unlink()  # no longer included
    before = tenon.compile(source, flags=flags).path
    assert tenon.compile(source, flags=flags).path == before
    (folder / "outer.hpp").unlink()
    with pytest.raises(tenon.CompileError, match="outer.hpp"):
        tenon.compile(source, flags=flags)


def test_headers_that_are_new_are_looked_at(tmp_path):
    early, late = tmp_path / "early", tmp_path / "late"
    early.mkdir()
    late.mkdir()
    source = SOURCE.replace("static_cast<T>(factor)", "static_cast<T>(FACTOR)")
    source = '#include "a.hpp"\n#if __has_include("b.hpp")\n#include "b.hpp"\n#endif\n' + source

    def check(factor):
        for _ in range(2):
            made = tenon.compile(source, flags=[*SHORT_FLAGS, f"-I{early}", f"-I{late}"])
            np.testing.assert_array_equal(made.scaled(X), factor * X)
        return made.path

    (late / "a.hpp").write_text("#define FACTOR 2\n")
    first = check(2)
    assert check(2) == first
    (early / "a.hpp").write_text("#define FACTOR 3\n")
    check(3)
    (late / "b.hpp").write_text("#undef FACTOR\n#define FACTOR 4\n")
    check(4)
    (late / "b.hpp").unlink()
    check(3)


def test_files_that_the_flags_name_are_looked_at(tmp_path):
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")))
    source = SOURCE.replace("static_cast<T>(factor)", "static_cast<T>(other())")
    source = 'extern "C" int other();\n' + source
    code, made, listed = (tmp_path / name for name in ("other.cpp", "other.o", "flags"))
    for factor in (2, 3):
        code.write_text(f'extern "C" int other() {{ return {factor}; }}\n')
        subprocess.run([compiler, "-fPIC", "-c", code, "-o", made], check=True)
        subprocess.run(["ar", "rcs", tmp_path / "libother.a", made], check=True)
        for flags in ([str(made)], [f"-L{tmp_path}", "-lother"]):
            np.testing.assert_array_equal(
                tenon.compile(source, flags=[*SHORT_FLAGS, *flags]).scaled(X), factor * X
            )
        listed.write_text(f"-DFACTOR={factor}")
        by_list = tenon.compile(
            SOURCE.replace("static_cast<T>(factor)", "T(FACTOR)"),
            flags=[*SHORT_FLAGS, f"@{listed}"],
        )
        np.testing.assert_array_equal(by_list.scaled(X), factor * X)
        data = tmp_path / "data"
        data.write_bytes(bytes([factor]))
        embedded = (
            f'asm(".section .rodata\\nfactor_byte: .incbin \\"{data}\\"\\n.previous");\n'
            + SOURCE.replace("static_cast<T>(factor)", "T(factor_byte)").replace(
                "struct Scaled",
                'extern const unsigned char factor_byte __attribute__((visibility("hidden")));\n'
                "struct Scaled",
            )
        )
        np.testing.assert_array_equal(
            tenon.compile(embedded, flags=SHORT_FLAGS).scaled(X), factor * X
        )


def test_a_cell_that_runs_again_replaces_the_operator():
    first = tenon.compile(SOURCE, flags=FLAGS)
    assert first.scaled(X)[-1] == 4
    changed = tenon.compile(
        SOURCE.replace("static_cast<T>(factor) * x[i]", "100 + static_cast<T>(factor) * x[i]"),
        flags=FLAGS,
    )
    assert (
        changed.scaled(X)[-1] == 104
        and ops.scaled(X)[-1] == 104
        and ops.compiled.scaled(X)[-1] == 104
    )
    assert changed.path != first.path
    assert tenon.compile(SOURCE, flags=FLAGS).scaled(X)[-1] == 4, "back again, from the cache"


def test_an_operator_in_python_of_that_name_is_another_one():
    @tenon.operator(name="scaled")
    class Other:
        """minus x"""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            call.y = -call.x

    mine = tenon.compile(SOURCE, flags=FLAGS)
    np.testing.assert_array_equal(mine.scaled(X), 2 * X)
    np.testing.assert_array_equal(ops.scaled(X), -X)  # the first of the spaces in `prefer`


def test_several_operators_and_another_host():
    second = SOURCE.replace("Scaled", "Twice").replace("(scaled,", "(twice,").partition("\n")[2]
    with tenon.Host() as other:
        mine = tenon.compile(SOURCE + second, flags=FLAGS, host=other)
        assert dir(mine) == ["path", "scaled", "twice"]
        np.testing.assert_array_equal(mine.twice(X), 2 * X)
    with pytest.raises(ImportError):
        ops["compiled.twice"]
    np.testing.assert_array_equal(mine.twice(X), 2 * X)  # its host stays alive


@pytest.mark.parametrize(
    "before, after, first_lines",
    [
        (
            "static_cast<T>(factor) * x[i]",
            "unknown_name * x[i]",
            [r"scaled.cpp:17: .*unknown_name.*", r" .*unknown_name.*"],
        ),
        ('op.doc("factor * x");', "", [r"scaled.cpp:21: .*describe has no doc: add op.doc.*"]),
        (
            "factor = 2",
            "factor = -2",
            [r"scaled.cpp:21: .*the default of a parameter is outside its bounds.*"],
        ),
        ("double factor", "std::string factor", [r"scaled.cpp:\d+: .*"]),
        ("y[i] = static", "y[i] = helper(i) + static", [r"scaled.cpp:17: .*helper.*"]),
    ],
)
def test_errors_have_the_authors_lines_first(cache, before, after, first_lines):
    import re

    source = SOURCE.replace(before, after)
    with pytest.raises(tenon.CompileError) as caught:
        tenon.compile(source, flags=FLAGS)
    lines = str(caught.value).splitlines()
    for line, expected in zip(lines, first_lines):
        assert re.fullmatch(expected, line), str(caught.value)
    assert len(lines) < 40 and caught.value.output and isinstance(caught.value, ImportError)
    assert not list(cache.glob("*/*.tmp")) and all(
        not list(folder.glob("tmp*")) for folder in cache.iterdir()
    ), "nothing is left of it"
    again = time.perf_counter()
    with pytest.raises(tenon.CompileError):
        tenon.compile(source, flags=FLAGS)
    assert time.perf_counter() - again > 0.05, "failures are not kept: the compiler runs again"


def test_errors_of_the_linker_and_of_clang_are_read():
    with pytest.raises(tenon.CompileError, match="^undefined reference to .*nowhere"):
        tenon.compile(
            "void nowhere();\n" + SOURCE.replace("const auto x =", "nowhere(); const auto x ="),
            flags=FLAGS,
        )
    output = """In file included from /tmp/x/mine.cpp:1:
/sdk/tenon/checks.hpp:134:3: error: static_assert failed due to requirement 'x' \
"describe has no doc: add op.doc(...)"
  TENON_SENTENCE(no_doc, "describe has no doc: add op.doc(...) with one sentence");
  ^              ~~~~~~
/tmp/x/mine.cpp:21:1: note: in instantiation of template class 'tenon::Verdict' requested here
TENON_OPERATOR(scaled, Scaled)
^
/tmp/x/mine.cpp:17:5: error: use of undeclared identifier 'foo'
    foo * x;
    ^
"""
    assert [fault[0] for fault in compiler_errors.faults(output, "/tmp/x/mine.cpp")] == [
        "mine.cpp:21: static_assert failed due to requirement 'x' "
        '"describe has no doc: add op.doc(...)"',
        "mine.cpp:17: use of undeclared identifier 'foo'",
    ]


def test_what_cannot_be_compiled_at_all(monkeypatch, tmp_path):
    with pytest.raises(tenon.UsageError, match="registers no operator"):
        tenon.compile("int x;")
    with pytest.raises(tenon.UsageError, match="name is 'a b'"):
        tenon.compile(SOURCE, name="a b")
    with monkeypatch.context() as changed:
        changed.setenv("PATH", str(tmp_path))
        changed.delenv("CXX", raising=False)
        with pytest.raises(tenon.UsageError, match="there is no C.. compiler"):
            tenon.compile(SOURCE)
    with monkeypatch.context() as changed:
        changed.setattr(shutil, "which", lambda name: None)
        with pytest.raises(tenon.UsageError, match="there is no CUDA compiler"):
            tenon.compile(SOURCE, cuda=True)
    with monkeypatch.context() as changed:
        (tmp_path / "file").write_text("")
        changed.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        with pytest.raises(tenon.FileError, match="cannot be used"):
            tenon.compile(SOURCE)


def test_processes_that_compile_the_same_wait_for_the_first(tmp_path):
    """One of three processes builds, and all get the result. A held lock times out; a dead
    process's lock does not.
    """
    counter = tmp_path / "runs"
    compiler = tmp_path / "counting"
    compiler.write_text(f'#!/bin/sh\necho run >> {counter}\nexec c++ "$@"\n')
    compiler.chmod(0o755)
    environment = os.environ | {"CXX": str(compiler), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    script = (
        f"import tenon; print(tenon.compile({SOURCE!r}, flags={FLAGS!r})"
        ".scaled([1.0, 2.0]).tolist())"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert [process.communicate(timeout=120)[0].strip() for process in running] == [
        "[2.0, 4.0]"
    ] * 3
    assert counter.read_text() == "run\n"
    (folder,) = (tmp_path / "cache" / "tenon" / "compiled").iterdir()
    next(folder.glob("*/scaled.so")).unlink()
    held = textwrap.dedent(f"""
        import fcntl, sys, time
        file = open({str(folder / "lock")!r}, "w")
        fcntl.flock(file, fcntl.LOCK_EX); print("held", flush=True); time.sleep(60)
    """)
    holder = subprocess.Popen([sys.executable, "-c", held], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        waiting = script.replace(f"flags={FLAGS!r}", f"flags={FLAGS!r}, timeout=0.2")
        done = subprocess.run(
            [sys.executable, "-c", waiting], env=environment, capture_output=True, text=True
        )
        assert "another process has been compiling" in done.stderr
    finally:
        holder.kill()
        holder.wait()
    done = subprocess.run(
        [sys.executable, "-c", waiting], env=environment, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[2.0, 4.0]", done.stderr


class Pad(enum.Enum):
    same = 1
    default = 2


def test_to_cpp_writes_a_class_that_compiles_with_the_same_manifest():
    @tenon.operator
    class Everything:
        """All words of describe(), "quoted"."""

        flag: bool = True
        count: int = 3
        factor: float = 0.5
        text: str = 'a"b\\'
        axes: list[int] = [1, 2]  # noqa: RUF012
        weights: list[float] = []  # noqa: RUF012
        names: list[str] = ["a", "b"]  # noqa: RUF012
        mode: Literal["sum", "mean-it", "3d"] = "mean-it"
        pad: Pad = Pad.default
        needed: int
        single: np.float32 = np.float32(0.1)
        big: float = float("inf")
        double: int = 4

        def describe(op):
            op.version(3)
            op.alias("all_of_it")
            op.types("numeric", "int16")
            op.input("x", "[rows]").types("float32", np.float64)
            op.input("w", "[rows]").initial(0.5).optional()
            op.input("rest").variadic()
            op.output("y", "[rows]")
            op.output("mask").hidden()
            op.output("part").count("count")
            op.output("h").hidden_when("mode", "sum")
            op.state("mean", "of all").initial(2)
            op.param("flag", "f")
            op.param("count", "c").at_least(1).at_most(9)
            op.param("factor").greater_than(0).less_than(1)
            op.param("text").one_of('a"b\\', "c")
            op.param("axes").at_least(0)
            for name in ("weights", "names", "mode", "pad", "needed", "single", "big", "double"):
                op.param(name)
            op.inplace("x", "y")
            op.inplace("w", "y").when("mode", "sum", "3d")
            op.backward_inplace("y", "x")
            op.backward_reads("x")
            op.backward_reads("mask").when("flag", True)
            op.uses_random()
            op.surrogate_gradient()
            op.require("count", "less_than", "needed")
            op.renamed(2, "counts", "count")
            op.added(3, "text")
            op.added(2, "factor").was(0.25)
            op.added(2, "weights").was([0.5, 2.0])
            op.added(2, "axes").was([7])
            op.removed(2, "any")
            op.removed(3, "old").was("max")
            op.added_input(2, "w")
            op.added_input(3, "rest")
            op.added_output(3, "h")
            op.added_state(2, "mean")
            op.example(
                {"x": (3,), "w": np.array([1.0, 2.5, 3.0])},
                {"count": 2, "mode": "3d", "axes": [1, 3], "factor": 0.25},
            )

        def infer(self, io):
            io.set_output("y", io.shape("x"))

        def forward(self, call):
            call.y = call.x

        def backward(self, call):
            pass  # a comment that ends in a backslash \

        def gradient(self, graph):
            pass

    text = tenon.to_cpp(Everything)
    mine = tenon.compile(text, flags=[*FLAGS, "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
    ours, theirs = ops["app.everything"].info.raw, mine.everything.info.raw
    known = {"space", "full_name", "shortest_name", "plugin", "path", "plugin_version", "strides"}
    assert {key: value for key, value in ours.items() if key not in known} == {
        key: value for key, value in theirs.items() if key not in known
    }
    assert "// " in text and "call.y = call.x" in text
    for word in (
        'added(2, "factor").was(0.25);', 'added(2, "weights").was({0.5, 2.0});',
        'added(2, "axes").was({7});', 'removed(2, "any");',
        'removed(3, "old").was("max");', 'added_input(3, "rest");', 'added_output(3, "h");',
        'added_state(2, "mean");',
    ):  # fmt: skip
        assert "op." + word in text
    with pytest.raises(tenon.Error, match="write infer here"):
        mine.everything(X, needed=5)
    with pytest.raises(
        tenon.UsageError, match="'count' is 5 but must be less than 'needed', which is 5"
    ):
        mine.everything(X, needed=5, count=5)
    with pytest.raises(
        tenon.UsageError, match="'count' is 5 but must be less than 'needed', which is 5"
    ):
        ops["app.everything"](X, needed=5, count=5)


def test_to_cpp_of_a_small_class_fails_with_what_to_write():
    @tenon.operator
    class Small:
        """x"""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            call.y = call.x

    mine = tenon.compile(tenon.to_cpp(Small), flags=FLAGS)
    with pytest.raises(tenon.ExecutionError, match=r"\[small\].*write forward here"):
        mine.small(X)
    with pytest.raises(TypeError, match="@tenon.operator"):
        tenon.to_cpp(int)
