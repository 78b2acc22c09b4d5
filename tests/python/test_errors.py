"""Errors and warnings: their classes and texts, and that warnings of the host reach Python."""

import copy
import os
import pickle
import traceback

import numpy as np
import pytest
import tenon
from tenon import ops

X = np.ones((2, 3), "float32")


@pytest.mark.parametrize(
    "kind, base, name",
    [(tenon.UsageError, ValueError, "usage"), (tenon.ExecutionError, RuntimeError, "failed"),
     (tenon.PluginError, ImportError, "plugin"),
     (tenon.FileError, OSError, "file"), (tenon.CompileError, ImportError, "plugin")],
)  # fmt: skip
def test_classes(kind, base, name):
    error = kind("what", "do this")
    assert (
        isinstance(error, base)
        and isinstance(error, tenon.Error)
        and (error.kind, error.hint) == (name, "do this")
    )
    assert str(kind("what")) == "what" and str(kind()) == ""
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind and str(again) == str(error) and again.hint == "do this"
    shown = "".join(traceback.format_exception(error))
    assert "what" in shown and shown.count("do this") == 1


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda: ops.quadratic(X, d=1), tenon.UsageError),
        (lambda: ops.matmul(X, X), tenon.ExecutionError),
        (lambda: ops["nix"], tenon.PluginError),
        (lambda: tenon.load("/nix/net.tenon"), tenon.FileError),
        (lambda: tenon.add_plugins("/nix"), tenon.FileError),
        (lambda: tenon.add_plugins(__file__), tenon.PluginError),
        (lambda: tenon.Host(threads=-1), tenon.UsageError),
    ],
)
def test_each_kind(call, kind):
    with pytest.raises(kind) as error:
        call()
    assert (
        type(error.value) is kind
        and str(error.value)
        and "--" not in str(error.value) + error.value.hint
    )


@pytest.mark.parametrize(
    "options",
    [
        dict(threads="a"),
        dict(seed=-1),
        dict(nix=1),
        dict(isolate=5),
        dict(prefer=5),
        dict(prefer=[5]),
        dict(memory_limit=-1),
        dict(threads=10**6),
    ],
    ids=str,
)
def test_options_of_hosts(options):
    with pytest.raises((TypeError, tenon.UsageError)) as error:
        tenon.Host(**options)
    assert "incompatible" not in str(error.value) and next(iter(options)) in str(error.value)


def test_one_name_is_a_list_of_one():
    with tenon.Host(prefer="tenon_nn", isolate="tenon_nix") as host:
        assert ops.relu(X).sum() == 6
    host.close()


# ---- warnings ------------------------------------------------------------------------------------

SPARSE = """
    import numpy as np, tenon, warnings, sys
    from tenon import ops
    dense = np.eye(3, dtype="float32")
    csr = ops.cast_storage(tenon._core.tensor_from(dense), storage="csr")
    def densify():
        return ops.softmax(csr, axis=1)
"""


def test_a_warning_of_the_host_is_one_of_python(python):
    out = python(SPARSE + """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        densify()
    (found,) = caught
    print(found.category.__module__, found.category.__name__, found.filename, found.lineno,
          found.message)
    """)  # fmt: skip
    assert "Warning <string>" in out and "softmax" in out and "dense" in out


def test_a_warning_that_is_an_error_is_raised(python):
    out = python(SPARSE + """
    warnings.simplefilter("error")
    try:
        densify()
        for _ in range(10): pass
    except tenon.Warning as error:
        print("raised", error)
    densify()  # said once for each operator and storage
    """)  # fmt: skip
    assert out.startswith("raised ") and "softmax" in out


def test_a_warning_in_another_thread(python):
    out = python(SPARSE + """
    import threading
    warnings.simplefilter("always")
    warnings.showwarning = lambda message, *rest: print("shown", message)
    thread = threading.Thread(target=densify)
    thread.start(); thread.join()
    for _ in range(100): pass
    """)  # fmt: skip
    assert out.count("shown") == 1


def test_operators_in_showwarning(python):
    """A warning handler may call operators and the session that warns, and may close anything."""
    out = python(SPARSE + """
    graph = tenon.Graph()
    graph.output("y", ops.softmax(graph.input("x", "float32", (3, 3)), axis=1))
    session = tenon.Session(graph)
    calls = []
    def show(message, *rest):
        calls.append(ops.add(np.ones(2), 1).sum())
        calls.append(ops.softmax(dense, axis=1).sum())
        session(dense)
        session.close()
        tenon.default_host().close()
    warnings.simplefilter("always")
    warnings.showwarning = show
    try:
        session.run({"x": csr})
    except tenon.UsageError: pass
    for _ in range(100): pass
    print(calls[0], round(float(calls[1])))
    """)  # fmt: skip
    assert out.split() == ["4.0", "3"]


def test_a_package_of_plugins_that_fails(tmp_path, python):
    package = tmp_path / "broken-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[tenon.plugins]\nbroken = nix_package:plugins\nfolder = os.path:basename\n"
    )
    out = python("""
        import warnings, tenon
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert tenon.ops.add(1, 2) == 3
        for found in caught: print(found.category is tenon.Warning, found.message)
        """,
        PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    )  # fmt: skip
    assert out.count("True skipped the plugins of the package") == 2 and "nix_package" in out


# ---- hostile objects -----------------------------------------------------------------------------


class Number:
    def __init__(self, act):
        self.act = act

    def __float__(self):
        return self.act() or 1.0

    def __index__(self):
        return int(self.act() or 1)


class Array(Number):
    def __array__(self, dtype=None, copy=None):
        return self.act()


class Exchanged(Number):
    def __dlpack__(self, **_):
        return self.act()

    def __dlpack_device__(self):
        return (1, 0)


def fail():
    raise ZeroDivisionError("mine")


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("act, kind", [(fail, ZeroDivisionError), (interrupt, KeyboardInterrupt)])
@pytest.mark.parametrize(
    "use",
    [lambda one: ops.add(one, 1), lambda one: ops.quadratic(X, a=one),
     lambda one: ops.sum(X, axis=[one]), lambda one: tenon.Graph().input("x", "float32", [one]),
     lambda one: tenon.Graph().constant(one), lambda one: ops.add(X, one)],
)  # fmt: skip
def test_what_objects_raise_is_raised(use, act, kind):
    for make in (Array, Exchanged):
        with pytest.raises(kind):
            use(make(act))


@pytest.mark.parametrize(
    "result",
    [None, 5, "a", [], object(), np.zeros(2, object)],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("make", [Array, Exchanged])
def test_what_is_no_array_after_all(make, result):
    if make is Array and isinstance(result, np.ndarray):
        result = np.zeros(2, object)
    with pytest.raises((TypeError, ValueError, AttributeError)):
        ops.relu(make(lambda: result))


def test_a_parameter_that_changes_its_list():
    values = [0]

    class Shrinks:
        def __index__(self):
            values.clear()
            return 0

    values[:] = [Shrinks(), 1, 1]
    with pytest.raises((TypeError, ValueError, tenon.Error)):
        ops.sum(X, axis=values)
    assert values == []


def test_an_array_that_is_resized_by_an_argument():
    x = np.ones(100_000, "float32")

    class Resizes:
        def __float__(self):
            x.resize(1, refcheck=True)
            return 1.0

        __index__ = None

    with pytest.raises((ValueError, TypeError, tenon.Error)):
        ops.quadratic(x, a=Resizes())
    assert x.size == 100_000


def test_keywords_of_other_classes():
    class Text(str):
        pass

    assert ops.sum(X, **{Text("axis"): [0]}).tolist() == [2, 2, 2]
    assert ops.cast(X, dtype=Text("int32")).dtype == "int32"
    assert np.array_equal(ops.add(**{"".join(["le", "ft"]): X, Text("right"): X}), X + X)
