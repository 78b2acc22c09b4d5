"""Lifetimes of operators in Python: memory, threads, the end of hosts and of the interpreter."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest
import tenon
from python_operators import X, cosine
from tenon import ops


@pytest.mark.memory
def test_memory_does_not_grow():
    cosine()
    x = np.ones(4)
    graph = tenon.Graph()
    v = graph.input("x", "float64", (None,))
    (dx,) = graph.gradient(ops.sum(ops.cosine(v)), [v])
    graph.outputs(dx=dx)
    session = tenon.Session(graph)

    def work(count):
        for _ in range(count):
            ops.cosine(x)
        for _ in range(count // 10):
            session.run({"x": x})

    work(5000)
    gc.collect()
    objects, before = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(100_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000, "kilobytes"
    assert len(gc.get_objects()) - objects < 100


def test_objects_of_kernels_go_when_sessions_do():
    gone = []

    @tenon.operator
    class Mortal:
        """Is destroyed."""

        def describe(op):
            op.input("x")
            op.output("y")

        def configure(self):
            weakref.finalize(self, gone.append, 1)

        def forward(self, call):
            call.y = call.x

    graph = tenon.Graph()
    graph.outputs(y=ops.mortal(graph.input("x", "float64", (None, 4))))
    for _ in range(3):
        session = tenon.Session(graph)
        session.run({"x": X})
        session.close()
    del graph, session
    gc.collect()
    ops.relu(X)  # handles what other threads deferred
    assert len(gone) >= 3


def test_a_function_of_a_closed_host_gives_an_error():
    with tenon.Host() as other:
        other.add(cosine())
        function = other.ops.cosine
        assert function(X).shape == X.shape
        other.close()
    with pytest.raises(tenon.UsageError, match="closed"):
        function(X)


def test_no_deadlock_between_python_threads_host_threads_and_callbacks():
    """Runs in a separate process, whose threads faulthandler shows if it hangs."""
    source = """
        import faulthandler, threading
        faulthandler.dump_traceback_later(60, exit=True)
        import numpy as np, tenon
        from tenon import ops

        host = tenon.Host(threads=8)
        tenon._core.set_default_host(host)

        @tenon.operator
        class Inner:
            '''Calls operators of the host.'''
            def describe(op): op.input("x"); op.output("y")
            def infer(self, io):
                ops.relu(np.zeros(2))
                io.set_output("y", io.shape("x"))
            def forward(self, call): call.y = ops.relu(call.x)
            def backward(self, call): call.x_grad = ops.mul(call.y_grad, np.ones_like(call.y_grad))

        @tenon.operator
        class Outer:
            '''Calls an operator in Python.'''
            def describe(op): op.input("x"); op.output("y")
            def forward(self, call): call.y = ops.inner(call.x)

        big, small, failed = np.ones(300_000, np.float32), np.ones(4, np.float32), []
        def work(kind):
            try:
                graph = tenon.Graph(); v = graph.input("x", "float32", (None,))
                y = ops.outer(v) if kind % 2 else ops.inner(v)
                if kind % 2 == 0:
                    (d,) = graph.gradient(ops.sum(y), [v]); graph.outputs(y=y, d=d)
                else:
                    graph.outputs(y=y)
                for i in range(40):
                    x = big if i % 5 == 0 else small
                    assert np.array_equal(ops.outer(x), x)
                    ops.add(x, x)
                    assert np.array_equal(graph(x=x)["y"], x)
                    if i % 10 == 0: tenon.operator(Inner)
            except BaseException as error:
                failed.append(repr(error))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        [t.start() for t in threads]; [t.join() for t in threads]
        print(failed or "done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "done", done.stdout + done.stderr


def test_the_interpreter_ends_clean_with_operators_alive():
    source = """
        import numpy as np, tenon, threading, time
        from tenon import ops

        @tenon.operator
        class Slow:
            '''Sleeps.'''
            def describe(op): op.input("x"); op.output("y")
            def forward(self, call): time.sleep(0.01); call.y = call.x
        graph = tenon.Graph(); graph.outputs(y=ops.slow(graph.input("x", "float64", (None,))))
        session = tenon.Session(graph); session.run({"x": np.ones(3)}); held = ops.slow
        print("end")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "end", "")


def test_two_threads_may_use_one_operator():
    cosine()
    results = []
    threads = [
        threading.Thread(
            target=lambda: results.append(
                all(np.allclose(ops.cosine(X), np.cos(X)) for _ in range(300))
            )
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def test_layers_and_signs_mean_tenons_operators_whatever_the_application_calls_its_own():
    from tenon import nn

    def own(name):
        def describe(op):
            op.input("x")
            op.input("rest").variadic()
            op.output("y")

        def forward(self, call):
            raise AssertionError(f"{name} is called")

        tenon.operator(
            type(name, (), {"__doc__": "Fails.", "describe": describe, "forward": forward})
        )

    for name in ("Add", "Relu", "FullyConnected", "Reshape", "Where"):
        own(name)
    graph = tenon.Graph()
    x = graph.input("x", "float64", (3, 4))
    y = nn.dense(x, 2, name="layer")
    graph.outputs(y=y, sum=x + x, ordered=x <= x)
    graph.initialize(seed=1)
    out = graph(x=X)
    np.testing.assert_allclose(
        out.y, X @ graph["layer_weight"].numpy().T + graph["layer_bias"].numpy()
    )
    np.testing.assert_array_equal(out.sum, X + X)
    with pytest.raises(tenon.ExecutionError, match="Relu is called"):
        ops.relu(X)
