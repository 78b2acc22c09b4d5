"""The other files of the package: the program, headers, CMake's package, operators, and the
version.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon import ops


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_python_m_tenon_is_the_program() -> None:
    done = run(sys.executable, "-m", "tenon", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tenon ")
    # The exit codes are the program's: 2 is wrong usage.
    assert run(sys.executable, "-m", "tenon", "trian").returncode == 2


def test_program_finds_the_operators_that_come_along() -> None:
    listed = run(sys.executable, "-m", "tenon", "list")
    assert listed.returncode == 0, listed.stderr
    names = {line.split()[0] for line in listed.stdout.splitlines()}
    assert {"relu", "matmul", "convolution", "adam", "normal"} <= names
    assert {keyword.removesuffix("_") for keyword in dir(ops)} == names


ONE_OF_EACH_PLUGIN: dict[str, tuple[Callable[[], object], object]] = {
    "tenon_comm": (lambda: ops.all_reduce(np.array([1.0, 2.0])), [1, 2]),
    "tenon_elementwise": (lambda: ops.relu(np.array([-1.0, 2.0])), [0, 2]),
    "tenon_linalg": (lambda: ops.matmul(np.eye(2), np.full((2, 2), 3.0)), [[3, 3], [3, 3]]),
    "tenon_ml": (lambda: ops.normalizer(np.array([[3.0, 4.0]]), norm="l2"), [[0.6, 0.8]]),
    "tenon_nn": (lambda: ops.softmax(np.zeros((1, 4))), [[0.25, 0.25, 0.25, 0.25]]),
    "tenon_optim": (lambda: ops.scale_by(np.array([2.0]), np.array(3.0, np.float32)), [6]),
    "tenon_random": (
        lambda: ops.uniform(shape=[3], low=2.0, high=np.nextafter(2.0, 3.0)),
        [2, 2, 2],
    ),
    "tenon_reduce": (lambda: ops.sum(np.arange(4.0)), 6),
    "tenon_shape": (lambda: ops.reshape(np.arange(2.0), shape=[2, 1]), [[0], [1]]),
}


@pytest.mark.parametrize("plugin", ONE_OF_EACH_PLUGIN)
def test_each_plugin_that_comes_along_loads(plugin: str) -> None:
    call, expected = ONE_OF_EACH_PLUGIN[plugin]
    np.testing.assert_allclose(call(), expected)


def test_these_are_all_plugins() -> None:
    listed = json.loads(run(sys.executable, "-m", "tenon", "--json", "list").stdout)
    files = {Path(op["file"]).stem for op in listed["operators"] if "file" in op}
    assert files == set(ONE_OF_EACH_PLUGIN)


def test_libraries_of_plugins_compute() -> None:
    # Uses OpenBLAS and oneDNN, which wheels contain.
    left, right = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(ops.matmul(left, right), left @ right)
    image, kernel = (
        np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4),
        np.ones((1, 1, 3, 3), np.float32),
    )
    out = ops.convolution(image, kernel, num_filter=1, kernel=[3, 3], no_bias=True)
    windows = np.lib.stride_tricks.sliding_window_view(image[0, 0], (3, 3))
    np.testing.assert_allclose(out[0, 0], windows.sum(axis=(2, 3)))


def test_a_compiler_finds_the_headers(tmp_path: Path) -> None:
    source = tmp_path / "half_square.cpp"
    source.write_text(
        "#include <tenon/elementwise.hpp>\n#include <tenon/host/host.hpp>\n"
        "struct HalfSquare : tenon::Elementwise {\n"
        '  static constexpr void describe(auto& op) { op.doc("x*x/2"); op.input("x", "any"); '
        'op.output("y", "as x"); }\n'
        "  template <class T> TENON_FN T operator()(T x) const { return 0.5f * x * x; }\n"
        "};\nTENON_OPERATOR(half_square, HalfSquare)\n"
    )
    compiler = os.environ.get("CXX", "g++")
    done = run(compiler, "-std=c++20", "-fsyntax-only", f"-I{tenon.include_dir()}", str(source))
    assert done.returncode == 0, done.stderr


def test_cmake_finds_the_package() -> None:
    folder = Path(tenon.cmake_dir())
    assert (folder / "TenonConfig.cmake").is_file()
    text = (folder / "TenonConfigVersion.cmake").read_text()
    version = run(sys.executable, "-m", "tenon", "--version").stdout.split()[1]
    assert f'set(PACKAGE_VERSION "{version}")' in text


def test_console_script_is_the_program() -> None:
    script = Path(sysconfig.get_path("scripts")) / "tenon"
    if not script.exists():
        pytest.skip("the package is not installed in this environment")
    assert (
        run(str(script), "--version").stdout
        == run(sys.executable, "-m", "tenon", "--version").stdout
    )


def test_type_checkers_find_the_marker() -> None:
    assert (Path(tenon.__file__).parent / "py.typed").is_file()
