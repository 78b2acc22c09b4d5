"""Objects are released: memory after many calls, the end of the interpreter, forks, reference
cycles.
"""

import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest
import tenon
from tenon import nn, ops

X = np.ones((4, 4), "float32")

# ---- memory --------------------------------------------------------------------------------------


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def objects():
    gc.collect()
    return len(gc.get_objects())


def make_graph():
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None, 4))
    graph.output("y", ops.relu(x @ graph.variable("w", X) + 1, name="r"))
    return graph


GRAPH = make_graph()
SESSION = tenon.Session(GRAPH)
EXPORTED = tenon._core.tensor_from(X)


def failing(call):
    try:
        call()
    except (tenon.Error, TypeError, AttributeError):
        return
    raise AssertionError("it did not fail")


# Calls, and how many of them take about a second.
CALLS = {
    "quick": (lambda: ops.add(X, X), 100_000),
    "quick with a parameter": (lambda: ops.quadratic(X, a=2.0), 100_000),
    "other shapes": (
        lambda: ops.add(np.ones(len(gc.get_stats()) + id(object()) % 97), 1.0),
        20_000,
    ),
    "the long way": (lambda: ops.add(X, [1, 2, 3, 4]), 20_000),
    "several outputs": (lambda: ops.split(X, sections=2), 10_000),
    "random": (lambda: ops.normal(shape=[4]), 10_000),
    "out": (lambda: ops.add(X, X, out=np.empty_like(X)), 10_000),
    "tensors": (lambda: ops.relu(EXPORTED).numpy(), 10_000),
    "exports": (
        lambda: (
            np.from_dlpack(tenon._core.tensor_from(X))
            if hasattr(tenon.Tensor, "__dlpack__")
            else EXPORTED._dlpack()
        ),
        20_000,
    ),
    "capsules that nobody reads": (
        lambda: (
            EXPORTED.__dlpack__() if hasattr(tenon.Tensor, "__dlpack__") else EXPORTED._dlpack()
        ),
        20_000,
    ),
    "wrong": (lambda: failing(lambda: ops.add(X, "a")), 5_000),
    "wrong parameter": (lambda: failing(lambda: ops.quadratic(X, d=1)), 5_000),
    "wrong name": (lambda: failing(lambda: ops.nix), 300),
    "run": (lambda: SESSION(X), 50_000),
    "run the long way": (lambda: SESSION.run({"x": X.tolist()}, outputs="y"), 10_000),
    "wrong run": (lambda: failing(lambda: SESSION(X[:, :2])), 5_000),
    "graphs": (make_graph, 500),
    "graphs that run": (lambda: make_graph()(X), 300),
    "wrong nodes": (lambda: failing(lambda: GRAPH.ops.relu(5, 6)), 2_000),
    "bytes": (lambda: tenon._graph.graph._from_bytes(GRAPH.to_bytes()), 200),
    "clones": (lambda: GRAPH.clone().session(), 300),
    "plans": (lambda: GRAPH.plan(x=(3, 4)).svg(), 200),
}


@pytest.mark.memory
@pytest.mark.parametrize("what", CALLS)
def test_memory_does_not_grow(what):
    """Leaking one object, or 64 bytes, per call exceeds the limit."""
    call, times = CALLS[what]
    for _ in range(times // 10 + 3):
        call()
    before, counted = resident(), objects()
    for _ in range(times):
        call()
    assert objects() - counted < 50
    assert resident() - before < max(64 * times, 3 << 20)


@pytest.mark.memory
def test_hosts_go_away():
    def use():
        with tenon.Host(threads=2, search_defaults=False) as host:
            pass
        return weakref.ref(host)

    use()
    before = resident()
    assert all(use()() is None for _ in range(200))
    assert resident() - before < 8 << 20


# ---- circles -------------------------------------------------------------------------------------


def test_references_in_circles():
    def make():
        host = tenon.Host()
        op = host.ops.relu
        op.__dict__["self"] = op
        host.op, host.graph = op, tenon.Graph(host)
        host.graph.output("y", op(host.graph.input("x", "float32", (None, 4))))
        host.graph(X)
        host.graph.session_of_its_own = tenon.Session(host.graph)
        host.graph.session_of_its_own.graph_of_mine = host.graph
        return [weakref.ref(each) for each in (host, op, host.graph, host.graph.session_of_its_own)]

    dead = make()
    gc.collect()
    assert [each() for each in dead] == [None] * 4


def test_a_result_outlives_everything():
    host = tenon.Host()
    graph = tenon.Graph(host)
    graph.output("y", graph.input("x", "float32", (None, 4)) * 2)
    out = graph(X)["y"]
    tensor = tenon.Session(graph).run({"x": tenon._core.tensor_from(X)})["y"]
    view = tensor.numpy()
    host.close()
    del graph, host, tensor
    gc.collect()
    assert np.array_equal(out, X * 2) and np.array_equal(view, X * 2)


def test_a_reshaped_tensor_outlives_its_session():
    graph = tenon.Graph()
    graph.output("y", nn.dense(graph.input("x", "float32", (None, 64)), 256, name="dense"))
    session = tenon.Session(graph)
    del graph
    weight = session.tensor("dense_weight")
    copy, view = weight.numpy().ravel().copy(), weight.reshape(-1).numpy()
    del session, weight
    gc.collect()
    others = [np.full(copy.shape, 7, copy.dtype) for _ in range(32)]
    assert np.array_equal(view, copy) and len(others) == 32


def test_an_array_lives_as_long_as_its_tensor():
    array = np.arange(1000.0)
    dead = weakref.ref(array)
    tensor = tenon._core.tensor_from(array)
    del array
    gc.collect()
    assert dead() is not None and tensor.numpy()[-1] == 999
    view = tensor.numpy()
    del tensor
    gc.collect()
    assert view[-1] == 999
    del view
    gc.collect()
    assert dead() is None


def test_an_owner_that_another_thread_drops(python):
    """A graph holds an array that the last run releases while no thread holds the GIL."""
    out = python(
        """
        import gc, threading, weakref, numpy as np, tenon
        class Owned(np.ndarray):
            def __del__(self): dropped.append(threading.get_ident())
        dropped = []
        def work():
            for _ in range(50):
                array = np.ones((64, 64), "float32").view(Owned)
                graph = tenon.Graph()
                graph.output("y", graph.input("x", "float32", (64, 64)) * 2)
                session = tenon.Session(graph)
                session.run({"x": array})
                del array
        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads: each.start()
        for each in threads: each.join()
        gc.collect()
        for _ in range(100): pass
        print(len(dropped) >= 200)
        """
    )
    assert out == "True\n"


# ---- the end of the interpreter ------------------------------------------------------------------

ALIVE = """
import sys, gc, atexit, threading, numpy as np
{first}
import tenon
from tenon import ops
host = tenon.Host()
graph = tenon.Graph(host)
x = graph.input("x", "float32", (None, 4))
y = graph.output("y", x * 2)
session = tenon.Session(graph)
array = np.ones((3, 4), "float32")
out = session(array)
tensor = tenon._core.tensor_from(array)
view = tensor.numpy()
result = ops.relu(tensor)
relu = host.ops.relu
plan = graph.plan(x=(3, 4))
info = ops.relu.info
capsule = tensor._dlpack() if hasattr(tensor, "_dlpack") else tensor.__dlpack__()
{last}
"""

ENDS = {
    "everything is alive": "",
    "in a circle": (
        "circle = [host, graph, session, tensor, relu]; circle.append(circle); "
        "graph.circle = circle"
    ),
    "in sys.modules": "sys.modules['nix'] = circle = [host, session, tensor, relu]",
    "in builtins": (
        "import builtins; builtins.nix = [host, session, tensor, view, relu, plan, capsule]"
    ),
    "the host is closed": "host.close()",
    "the host goes first": "del host, relu; gc.collect()",
    "in a default argument": "def f(a=session, b=[host, tensor]): pass",
    "in a __del__": (
        "class D:\n"
        " def __del__(self): assert session(array)['y'][0, 0] == 2; relu(array)\n"
        "d = D()"
    ),
    "in an atexit function": (
        "atexit.register(lambda: (session(array), relu(array), ops.add(1, 2)))"
    ),
    "gc is frozen": "gc.freeze()",
    "sys.exit": "sys.exit(0)",
    "a context that is open": "host.__enter__()",
    "a thread that has ended": (
        "t = threading.Thread(target=lambda: session(array)); t.start(); t.join()"
    ),
    "a thread that waits": (
        "threading.Thread(target=lambda: "
        "(threading.main_thread().join(), session(array), ops.add(1, 2))).start()"
    ),
    "a daemon that waits": (
        "e = threading.Event(); threading.Thread(target=e.wait, daemon=True).start()"
    ),
    "a worker": "isolated = tenon.Host(isolate=True); isolated.ops.relu(array)",
}  # fmt: skip


@pytest.mark.parametrize("how", ENDS)
def test_the_interpreter_ends(how, python):
    python(ALIVE.format(first="", last=ENDS[how]))


def test_functions_of_atexit_that_come_last(python):
    """Functions registered before tenon is imported run after tenon has ended."""
    out = python(
        ALIVE.format(
            first="atexit.register(lambda: print(session(array)['y'][0, 0], "
            "relu(array)[0, 0], ops.add(1, 2)))",
            last="",
        )
    )
    assert out == "2.0 1.0 3\n"


@pytest.mark.parametrize(
    "what",
    [
        "session(big)",
        "ops.exp(big)",
        "ops.add(big[:3_000].tolist(), 1)",
        "tenon.Session(graph)",
        "ops.add(array, array)",
        "relu(array.tolist())",
    ],
)
def test_daemons_that_run_when_the_interpreter_ends(what, python):
    code = ALIVE.format(
        first="",
        last=f"""
import time
big = np.ones((250_000, 4), "float32")
def work():
    while True:
        try: {what}
        except tenon.UsageError: pass
graph2 = tenon.Graph(); graph2.output("y", graph2.input("x") * 2)
session = tenon.Session(graph2)
for _ in range(3): threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
""",
    )
    for _ in range(2):
        python(code)


def test_an_import_that_does_nothing_else(python):
    assert (
        python(
            "import sys, tenon; print([name for name in ('scipy', 'torch', 'IPython', "
            "'importlib.metadata') if name in sys.modules])"
        )
        == "[]\n"
    )


def test_an_import_in_a_thread(python):
    python(
        """
        import threading
        def work():
            import tenon
            results.append(tenon.ops.add(1, 2))
        results = []
        threads = [threading.Thread(target=work) for _ in range(8)]
        for each in threads: each.start()
        for each in threads: each.join()
        assert results == [3] * 8
        import tenon
        """
    )


def test_a_first_call_in_many_threads_makes_one_host(python):
    python(
        """
        import threading, tenon, tenon._host.host
        start, made = threading.Barrier(8), []
        plain = tenon._host.host.Host.add_installed
        tenon._host.host.Host.add_installed = lambda host: (made.append(host), plain(host))
        def work():
            start.wait()
            hosts.append(tenon.default_host())
            results.append(tenon.ops.add(1, 2))
        hosts, results = [], []
        threads = [threading.Thread(target=work) for _ in range(8)]
        for each in threads: each.start()
        for each in threads: each.join()
        assert results == [3] * 8 and len({id(host) for host in hosts}) == len(made) == 1
        """
    )


def test_subinterpreters(python):
    """Either Tenon works there or importing it raises ImportError; nothing crashes."""
    python(
        """
        import tenon, importlib
        assert tenon.ops.add(1, 2) == 3
        for name in ("concurrent.interpreters", "_interpreters", "_xxsubinterpreters"):
            try: interpreters = importlib.import_module(name)
            except ImportError: continue
            break
        made = interpreters.create()
        code = "try:\\n import tenon\\n assert tenon.ops.add(1, 2) == 3\\nexcept ImportError: pass"
        if hasattr(made, "exec"): made.exec(code)
        else: getattr(interpreters, "run_string", getattr(interpreters, "exec", None))(made, code)
        assert tenon.ops.add(1, 2) == 3
        """,
        quiet=False,
    )


# ---- forks ---------------------------------------------------------------------------------------

FORK = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import numpy as np, tenon
from tenon import ops
array = np.ones((3, 4), "float32")
{before}
child = os.fork()
if child == 0:
    {inside}
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert ops.add(array, 1).sum() == 24
{after}
"""

BEFORE = """
host = tenon.Host(threads=4)
graph = tenon.Graph(host)
graph.output("y", graph.input("x", "float32", (None, 4)) * 2)
session = tenon.Session(graph)
session(np.ones((100_000, 4), "float32"))
tensor = tenon._core.tensor_from(array)
relu = host.ops.relu
ops.add(array, 1)
"""

REFUSED = """
    calls = [lambda: ops.add(array, 1), lambda: relu(array), lambda: session(array),
             lambda: session.run({"x": [[1] * 4]}), lambda: graph(array),
             lambda: ops.add([1], 2), lambda: tenon.Graph(), lambda: tenon.Host(),
             lambda: ops["nix"], lambda: graph.nodes, lambda: session.step,
             lambda: tenon.load("nix.tenon"), lambda: graph.to_bytes(), lambda: tensor.clone(),
             lambda: graph.input("z")]
    for number, call in enumerate(calls):
        try: call()
        except tenon.UsageError as error:
            assert "forked" in str(error) and "spawn" in error.hint, (number, error)
        else: raise AssertionError(number)
    assert tensor.numpy().sum() == 12 and repr(tensor)
"""

EXITS = {
    "os._exit": "os._exit(0)",
    "sys.exit": "sys.exit(0)",
    "deletes": (
        "del session, graph, relu, host, tensor; ops.__dict__.clear(); "
        "import gc; gc.collect(); sys.exit(0)"
    ),
    "closes": "\n".join(
        [
            "",
            "    for one in (session, host):",
            "        try: one.close()",
            "        except tenon.UsageError: pass",
            "    sys.exit(0)",
        ]
    ),
}


@pytest.mark.parametrize("how", EXITS)
def test_a_fork_after_the_first_use(how, python):
    after = "assert session(array)['y'].sum() == 24 and relu(array).sum() == 12"
    python(FORK.format(before=BEFORE, inside=REFUSED.strip() + "\n    " + EXITS[how], after=after))


def test_a_fork_before_the_first_use(python):
    python(
        FORK.format(
            before="",
            inside="assert ops.add(array, 1).sum() == 24 and "
            "tenon.Graph().input('x').name == 'x'; sys.exit(0)",
            after="",
        )
    )


def test_a_fork_with_workers(python):
    """A child that ends does not end its parent's workers."""
    before = (
        BEFORE
        + "isolated = tenon.Host(isolate=True)\nassert isolated.ops.relu(array).sum() == 12\n"
    )
    python(
        FORK.format(
            before=before, inside="sys.exit(0)", after="assert isolated.ops.relu(array).sum() == 12"
        )
    )


PROGRAM = """
import multiprocessing, tenon
def work(number): return int(tenon.ops.add(number, 1))
if __name__ == "__main__":
    assert tenon.ops.add(1, 1) == 2
    for method in ("spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(work, range(4)) == [1, 2, 3, 4]
"""


def test_multiprocessing(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and not done.stderr, done
