"""Threads: many concurrent calls, two on one object, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import tenon
from tenon import ops

X = np.ones((8, 8), "float32")


def together(count, work):
    """Runs work(number) in threads that start together, and raises what any of them raises."""
    start, errors = threading.Barrier(count), []

    def run(number):
        start.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
        assert not each.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def graph_of(size=8):
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None, size))
    graph.output("y", ops.relu(x @ graph.variable("w", np.eye(size, dtype="float32")) * 2 + 1))
    return graph


def test_eight_threads_with_eight_sessions():
    graph = graph_of()
    sessions = [tenon.Session(graph) for _ in range(8)]

    def work(number):
        for rows in list(range(1, 20)) * 3:
            x = np.full((rows, 8), number, "float32")
            assert np.array_equal(sessions[number](x)["y"], x * 2 + 1)

    together(8, work)


def test_eight_threads_that_call_operators():
    def work(number):
        for turn in range(300):
            x = np.full(turn % 70 + 1, number, "float32")
            assert np.array_equal(
                ops.quadratic(x, a=1.0, b=float(turn % 90)), x * x + turn % 90 * x
            )
            assert ops.add(x.tolist(), 1)[0] == number + 1

    together(8, work)


def test_large_calls_of_one_operator():
    x = np.ones(500_000, "float32")

    def work(number):
        for _ in range(10):
            assert ops.add(x, float(number))[-1] == number + 1

    together(4, work)


@pytest.mark.parametrize("what", ["session", "graph"])
def test_two_threads_on_one_object(what):
    """One thread succeeds; the other one gets a result or an error message."""
    graph = graph_of(64)
    session = tenon.Session(graph)
    use = (lambda x: session(x)) if what == "session" else (lambda x: graph(x))
    x, refused, served = np.ones((5_000, 64), "float32"), [], []

    def work(number):
        for _ in range(30):
            try:
                served.append(use(x)["y"][0, 0] == 3)
            except tenon.UsageError as error:
                assert "in use" in str(error) and "each thread" in error.hint
                refused.append(number)

    together(4, work)
    assert refused and served and all(served) and use(x)["y"][0, 0] == 3


def test_two_threads_that_build_one_graph():
    graph = tenon.Graph()
    made = []

    def work(number):
        for turn in range(100):
            try:
                made.append(ops.relu(graph.input(f"x{number}_{turn}")).name)
            except tenon.UsageError as error:
                assert "in use" in str(error)

    together(4, work)
    assert set(made) <= {node["name"] for node in graph.nodes}


@pytest.mark.parametrize("what", ["session", "host"])
def test_close_while_others_run(what):
    for _ in range(10):
        host = tenon.Host()
        graph = tenon.Graph(host)
        graph.output("y", host.ops.exp(graph.input("x", "float32", (None,))))
        session, exp = tenon.Session(graph), host.ops.exp
        x, one = np.zeros(200_000, "float32"), session if what == "session" else host

        def work(number):
            try:
                if number == 0:
                    time.sleep(0.002)
                    one.close()
                else:
                    for _ in range(20):
                        assert (
                            exp(x)
                            if number % 2
                            else exp(x.reshape(2, -1).tolist() if number == 4 else x[::2])
                        ).flat[0] == 1
                        session(x)
            except tenon.UsageError as error:
                assert "closed" in str(error) or "in use" in str(error)

        together(5, work)


def test_the_default_host_changes_while_others_call():
    def work(number):
        for _ in range(20):
            if number < 2:
                host = tenon.Host(threads=1)
                before = tenon.default_host()
                tenon._core.set_default_host(host)
                tenon._core.set_default_host(before)
                host.close()
            else:
                try:
                    assert ops.add(np.ones(1000), 1.0)[0] == 2 and ops.add([1.0], 1)[0] == 2
                    assert tenon.Graph().input("x").name == "x"
                except tenon.UsageError as error:
                    assert "closed" in str(error)

    before = tenon.default_host()
    together(6, work)
    tenon._core.set_default_host(before)


def test_a_dict_that_changes_while_its_run_goes_on():
    graph = graph_of(64)
    session = tenon.Session(graph)
    given, stop = {"x": np.ones((2_000, 64), "float32")}, threading.Event()

    def change():
        while not stop.is_set():
            given["x"] = np.ones((2_000, 64), "float32")

    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert all((session.run(given)["y"] == 3).all() for _ in range(50))
    finally:
        stop.set()
        thread.join()


def test_an_array_that_is_resized_while_it_is_read():
    x, stop, refused = np.ones(400_000, "float32"), threading.Event(), []

    def resize():
        while not stop.is_set():
            try:
                x.resize(10)
            except ValueError:
                refused.append(1)

    thread = threading.Thread(target=resize)
    thread.start()
    try:
        for _ in range(30):
            ops.add(x, 1.0)
    finally:
        stop.set()
        thread.join()


def test_plugins_are_added_while_others_call():
    folder = os.path.dirname(ops.add.info.path)

    def work(number):
        for _ in range(10):
            if number == 0:
                tenon.add_plugins(folder)
            else:
                assert ops.add(np.ones(3), 1.0).sum() == 6 and ops.mul([1, 2], 3).tolist() == [3, 6]

    together(4, work)


# ---- Ctrl-C --------------------------------------------------------------------------------------

LONG = """
import signal, sys, threading, time
import numpy as np, tenon
from tenon import ops
graph = tenon.Graph()
y = graph.input("x", "float32", (None,))
for _ in range(4000): y = ops.sin(y)
graph.output("y", y)
session = tenon.Session(graph)
x = np.ones(100_000, "float32")
session(x[:10])
"""


def interrupted(code, seconds=60):
    """Runs code, sends SIGINT after it prints "go"; returns status, later output, and seconds after
    the signal.
    """
    program = subprocess.Popen(
        [sys.executable, "-u", "-c", textwrap.dedent(LONG) + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout.readline() == "go\n", program.stderr.read()
        time.sleep(0.3)
        program.send_signal(signal.SIGINT)
        sent = time.monotonic()
        out, err = program.communicate(timeout=seconds)
        return program.returncode, out, err, time.monotonic() - sent
    finally:
        program.kill()


def test_an_interrupt_ends_a_run():
    status, out, err, took = interrupted(
        """
        start = time.monotonic()
        session(x)
        whole = time.monotonic() - start
        many = np.ones(int(100_000 * 5 / whole), "float32")  # a run of five seconds
        print("go")
        try: session(many)
        except KeyboardInterrupt: print("interrupted")
        assert session(x[:10])["y"].shape == (10,)
        """
    )
    assert (status, out, err) == (0, "interrupted\n", "") and took < 2.5


def test_an_interrupt_ends_the_first_run_after_a_handler_is_set():
    """As in notebooks, which set one for each cell."""
    status, out, err, took = interrupted(
        """
        start = time.monotonic()
        session(x)
        whole = time.monotonic() - start
        many = np.ones(int(100_000 * 5 / whole), "float32")
        for _ in range(20): session(x[:10])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        time.sleep(0.02)
        print("go")
        try: session(many)
        except KeyboardInterrupt: print("interrupted")
        """
    )
    assert (status, out, err) == (0, "interrupted\n", "") and took < 2.5


def test_an_interrupt_without_a_handler_ends_the_program():
    status, _, err, took = interrupted("print('go')\nwhile True: session(x)")
    assert status == -signal.SIGINT and err.strip().endswith("KeyboardInterrupt") and took < 3


def test_a_handler_of_the_user_is_called():
    status, out, err, _ = interrupted(
        """
        def handle(number, frame): calls.append(number)
        calls = []
        signal.signal(signal.SIGINT, handle)
        print("go")
        while not calls:
            try: session(x)
            except tenon.ExecutionError as error: print("ended", "stopped" in str(error))
        print(calls == [signal.SIGINT], session(x[:10])["y"].shape)
        """
    )
    assert status == 0 and not err and out.endswith("True (10,)\n")


def test_interrupts_of_other_threads():
    """They arrive while this thread prepares the next run."""
    status, out, err, _ = interrupted(
        """
        calls = []
        signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
        done = threading.Event()
        others = [threading.Thread(target=done.wait) for _ in range(4)]
        for other in others: other.start()
        small = x[:1]
        for turn in range(300):
            signal.pthread_kill(others[turn % 4].ident, signal.SIGINT)
            try: session(small)
            except tenon.ExecutionError: pass
        done.set()
        for other in others: other.join()
        calls.clear()
        print("go")
        while not calls: time.sleep(0.01)
        print(session(small)["y"].shape)
        """
    )
    assert (status, out, err) == (0, "(1,)\n", "")


def test_a_handler_that_raises():
    status, out, err, _ = interrupted(
        """
        class Stop(Exception): pass
        def handle(number, frame): raise Stop
        session(x[:10])
        signal.signal(signal.SIGINT, handle)
        time.sleep(0.02)
        print("go")
        try:
            while True: session(x)
        except Stop: print("stopped")
        """
    )
    assert (status, out, err) == (0, "stopped\n", "")


def test_an_interrupt_while_a_thread_runs():
    """The main thread is interrupted; the other thread's run may end or continue, but nothing
    hangs.
    """
    status, out, err, took = interrupted(
        """
        done = []
        def work():
            try: done.append(session(x)["y"].shape)
            except tenon.ExecutionError: done.append("stopped")
        thread = threading.Thread(target=work)
        thread.start()
        print("go")
        try: time.sleep(50)
        except KeyboardInterrupt: print("interrupted")
        thread.join()
        print(len(done))
        """
    )
    assert (status, out, err) == (0, "interrupted\n1\n", "") and took < 30


def test_an_interrupt_that_is_ignored():
    status, out, err, _ = interrupted(
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(0.02)
        print("go")
        end = time.monotonic() + 1
        while time.monotonic() < end: session(x[:1000])
        print("done")
        """
    )
    assert (status, out, err) == (0, "done\n", "")
