"""`with tenon.Host(...)`: the default host of one thread or task until the block ends."""

import asyncio
import contextvars
import gc
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tenon
from tenon import ops
from tenon._host import context

WAIT = 30


@pytest.fixture(autouse=True)
def ends_as_it_began():
    before = tenon.default_host()
    yield
    assert tenon.default_host() is before


@pytest.fixture
def hosts():
    made = [tenon.Host(threads=1) for _ in range(3)]
    yield made
    for host in made:
        host.close()


def in_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(WAIT)


def test_version_names_a_host_and_its_operators(hosts):
    first, second, _ = hosts
    assert first.version == (first.number, first.generation) and hash(first.version)
    assert first.version != second.version and first.number != second.number

    @tenon.operator(name="of_version", host=first)
    class OfVersion:
        """x"""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            call.y[...] = call.x

    before = second.version
    assert first.version[0] == first.number and first.version[1] > 0 and second.version == before
    numbers = {
        tenon.Host(threads=1, search_defaults=False).number for _ in range(20)
    }  # each is destroyed when the next is created
    assert len(numbers) == 20 and first.number not in numbers
    first.close()
    with pytest.raises(tenon.UsageError, match="closed"):
        first.version  # noqa: B018
    assert OfVersion


def test_blocks_nest_and_a_host_may_be_entered_twice(hosts):
    outer, inner, _ = hosts
    before = tenon.default_host()
    with outer as entered:
        assert entered is outer and tenon.default_host() is outer
        with inner:
            assert tenon.default_host() is inner
            with outer:
                assert tenon.default_host() is outer
            assert tenon.default_host() is inner
        assert tenon.default_host() is outer
        with outer, outer:
            pass
        assert tenon.default_host() is outer
    assert tenon.default_host() is before


def test_an_error_in_the_block_ends_it(hosts):
    before = tenon.default_host()
    with pytest.raises(ZeroDivisionError), hosts[0], hosts[1]:
        raise ZeroDivisionError
    assert tenon.default_host() is before


def test_threads_whose_blocks_overlap(hosts):
    """A enters, B enters, A leaves, B leaves."""
    before, seen, barrier = tenon.default_host(), {}, threading.Barrier(2, timeout=WAIT)

    def first():
        with hosts[0]:
            barrier.wait()
            barrier.wait()
            seen["A inside"] = tenon.default_host(), ops.add(np.ones(2), 1.0)[0]
        seen["A after"] = tenon.default_host()
        barrier.wait()
        barrier.wait()

    def second():
        barrier.wait()
        with hosts[1]:
            barrier.wait()
            barrier.wait()
            seen["B inside"] = tenon.default_host(), ops.add(np.ones(2), 1.0)[0]
            hosts[0].close()
            assert ops.add(np.ones(3), 1.0)[0] == 2
            barrier.wait()
        seen["B after"] = tenon.default_host()

    threads = [threading.Thread(target=work) for work in (first, second)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WAIT)
    assert seen == {
        "A inside": (hosts[0], 2),
        "A after": before,
        "B inside": (hosts[1], 2),
        "B after": before,
    }
    assert tenon.default_host() is before


def test_threads_in_blocks_of_one_host(hosts):
    """A enters, B enters, A leaves: B is still in its block."""
    before, seen, barrier = tenon.default_host(), [], threading.Barrier(2, timeout=WAIT)

    def first():
        with hosts[0]:
            barrier.wait()
            barrier.wait()
        seen.append(tenon.default_host())
        barrier.wait()

    def second():
        barrier.wait()
        with hosts[0]:
            barrier.wait()
            barrier.wait()
            seen.append(tenon.default_host())
        seen.append(tenon.default_host())

    threads = [threading.Thread(target=work) for work in (first, second)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WAIT)
    assert seen == [before, hosts[0], before]


def test_blocks_of_one_host_that_end_at_the_same_time(hosts, monkeypatch):
    before, is_here = tenon.default_host(), context.is_here
    contexts = [contextvars.copy_context() for _ in range(3)]
    for each in contexts:
        each.run(hosts[0].__enter__)
    others = contexts[:1]

    def while_another_ends(block):
        if others:
            others.pop().run(hosts[0].__exit__, None, None, None)
        return is_here(block)

    monkeypatch.setattr(context, "is_here", while_another_ends)
    contexts[1].run(hosts[0].__exit__, None, None, None)
    assert [each.run(tenon.default_host) for each in contexts] == [before, before, hosts[0]]
    contexts[2].run(hosts[0].__exit__, None, None, None)
    assert contexts[2].run(tenon.default_host) is before


def test_a_thread_begins_with_the_default_host_of_the_process(hosts):
    before = tenon.default_host()
    with hosts[0]:
        assert in_thread(tenon.default_host) is before
        assert in_thread(lambda: ops.add(np.ones(2), 1.0)[0]) == 2
        assert in_thread(lambda: contextvars.copy_context().run(tenon.default_host)) is before
        here = contextvars.copy_context()
        assert in_thread(lambda: here.run(tenon.default_host)) is hosts[0]
    assert here.run(tenon.default_host) is before  # the block has ended there, too
    with hosts[1]:
        assert here.run(tenon.default_host) is before


def test_tasks_have_blocks_of_their_own(hosts):
    before = tenon.default_host()

    async def task(host):
        with host:
            for _ in range(5):
                await asyncio.sleep(0)
                assert tenon.default_host() is host
        assert tenon.default_host() is before

    async def late():
        await asyncio.sleep(0.01)
        return tenon.default_host()

    async def main():
        await asyncio.gather(*(task(host) for host in hosts))
        with hosts[0]:
            assert await asyncio.create_task(asyncio.sleep(0, tenon.default_host())) is hosts[0]
            assert await asyncio.to_thread(tenon.default_host) is hosts[0]
            inside = asyncio.create_task(late())
            outlives = asyncio.create_task(late())
            assert await inside is hosts[0]
            outlives = asyncio.create_task(late())
        assert await outlives is before  # not a host that its user has already closed

    asyncio.run(main())


@pytest.mark.parametrize("ends", ["cancelled", "timed out", "raises"])
def test_a_task_that_ends_early_leaves_its_blocks(hosts, ends):
    before, seen = tenon.default_host(), []

    async def task(go):
        try:
            with hosts[0]:
                try:
                    with hosts[1]:
                        go.set()
                        if ends == "raises":
                            raise ZeroDivisionError
                        await asyncio.sleep(WAIT)
                finally:
                    seen.append(tenon.default_host())
                    await asyncio.sleep(0)
                    seen.append(tenon.default_host())
        finally:
            seen.append(tenon.default_host())

    async def main():
        go = asyncio.Event()
        with hosts[2]:
            running = asyncio.create_task(task(go))
            await go.wait()
            assert tenon.default_host() is hosts[2]
            if ends == "cancelled":
                running.cancel()
            kind = {
                "cancelled": asyncio.CancelledError,
                "timed out": asyncio.TimeoutError,
                "raises": ZeroDivisionError,
            }[ends]
            with pytest.raises(kind):
                await asyncio.wait_for(running, 0.01 if ends == "timed out" else WAIT)
            assert tenon.default_host() is hosts[2]
        assert tenon.default_host() is before

    asyncio.run(main())
    assert seen == [hosts[0], hosts[0], hosts[2]]


def test_tasks_whose_hosts_come_and_go():
    """Blocks of tasks and of the threads that they wait for end in any order; each call is of the
    host of its block, which closes right afterwards.
    """
    before = tenon.default_host()

    def of(host):
        assert tenon.default_host() is host
        return ops.add(np.ones(3), 1.0)[0]

    def nested(outer):
        with tenon.Host(threads=1, search_defaults=False) as inner:
            assert tenon.default_host() is inner
        return of(outer)

    async def task(number):
        for turn in range(2):
            host = tenon.Host(threads=1)
            with host:
                await asyncio.sleep(0.001 * ((number * 7 + turn * 3) % 5))
                assert of(host) == 2
                assert await asyncio.to_thread(nested, host) == 2
                assert of(host) == 2
            host.close()
            assert tenon.default_host() is before

    async def main():
        await asyncio.gather(*map(task, range(4)))

    asyncio.run(main())


def test_a_thread_of_a_cancelled_task_is_in_its_block_until_that_ends(hosts):
    before, begun, go, seen = tenon.default_host(), threading.Event(), threading.Event(), []

    def work():
        with hosts[1]:
            seen.append(tenon.default_host())
            begun.set()
            go.wait(WAIT)
            seen.append(tenon.default_host())
        seen.append(tenon.default_host())

    async def task():
        with hosts[0]:
            await asyncio.to_thread(work)

    async def main():
        running = asyncio.create_task(task())
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, WAIT)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert tenon.default_host() is before
        hosts[0].close()
        go.set()

    asyncio.run(main())  # waits for the thread
    assert seen == [hosts[1], hosts[1], before]


def test_a_task_that_outlives_a_block_does_not_keep_its_host(hosts):
    """The context of the task holds on to the block that it began in."""
    before = tenon.default_host()

    async def late(go):
        inside = weakref.ref(tenon.default_host())
        await go.wait()
        gc.collect()
        return inside(), tenon.default_host()

    async def main():
        go = asyncio.Event()
        with hosts[0]:
            with tenon.Host(threads=1, search_defaults=False):
                below = asyncio.create_task(late(go))
                await asyncio.sleep(0)
            go.set()
            assert await below == (None, hosts[0])
            go.clear()
            with tenon.Host(threads=1, search_defaults=False):
                alone = asyncio.create_task(late(go))
                await asyncio.sleep(0)
        go.set()
        assert await alone == (None, before)

    asyncio.run(main())


def test_blocks_that_end_in_another_order(hosts):
    """The blocks are in generators, which share their caller's context."""
    before = tenon.default_host()

    def block(host):
        with host:
            yield tenon.default_host()

    first, second = block(hosts[0]), block(hosts[1])
    assert next(first) is hosts[0] and next(second) is hosts[1]
    first.close()
    hosts[0].close()
    assert tenon.default_host() is hosts[1]
    second.close()
    assert tenon.default_host() is before
    again, last = block(hosts[1]), block(hosts[1])
    next(again), next(last)
    again.close()
    assert tenon.default_host() is hosts[1]
    last.close()
    assert tenon.default_host() is before


def test_a_block_that_ends_in_another_thread(hosts):
    before = tenon.default_host()

    def block(host):
        with host:
            yield

    entered = block(hosts[0])
    next(entered)
    assert tenon.default_host() is hosts[0]
    in_thread(entered.close)
    assert tenon.default_host() is before


def test_the_default_host_of_the_process_changes_below_a_block(hosts):
    before = tenon.default_host()
    try:
        with hosts[0]:
            tenon._core.set_default_host(hosts[1])
            assert tenon.default_host() is hosts[0]
        assert tenon.default_host() is hosts[1]
    finally:
        tenon._core.set_default_host(before)


def test_operators_find_the_host_of_the_block_on_the_threads_of_a_host():
    """Operators that a graph runs concurrently, on behalf of the caller."""
    seen = []
    with tenon.Host(threads=4) as host, tenon.Host(threads=1) as block:

        @tenon.operator(host=host)
        class Sleeper:
            """x, after a while."""

            def describe(op):
                op.input("x")
                op.output("y")

            def forward(self, call):
                time.sleep(0.002)
                seen.append(
                    (threading.get_ident(), tenon.default_host(), int(ops.add(np.ones(1), 1.0)[0]))
                )
                call.y[...] = call.x

        graph = tenon.Graph(host)
        x = graph.input("x", "float32", (4,))
        graph.outputs(**{f"y{place}": host.ops.sleeper(x) for place in range(4)})
        session = graph.session()
        for _ in range(12):
            session(x=np.ones(4, "float32"))
        assert {each[1:] for each in seen} == {(block, 2)}
        if len({each[0] for each in seen}) == 1:
            pytest.skip("no run of the graph used a second thread")
        assert Sleeper


def test_an_operator_is_checked_inside_of_a_block():
    """The check runs in a fork, which has none of the block's threads."""
    with tenon.Host(threads=2):

        @tenon.operator
        class Checked:
            """2 * x, by an operator of the default host."""

            def describe(op):
                op.input("x")
                op.output("y")

            def forward(self, call):
                assert tenon.default_host().threads == 1
                call.y[...] = ops.add(call.x, call.x)

        report = tenon.check(Checked)
        assert not [each for each in report if each.verdict in ("failed", "crashed")], report


def test_random_numbers_are_of_the_blocks_host():
    def draws(count):
        return [float(ops.uniform(shape=[1])[0]) for _ in range(count)]

    with tenon.Host(seed=1, threads=1):
        expected = draws(4)
    with tenon.Host(seed=1, threads=1) as inner:
        first = draws(2)
        outside = in_thread(lambda: draws(2))
        assert inner is tenon.default_host()
        assert first + draws(2) == expected
    assert not set(outside + draws(2)) & set(expected)


def test_a_closed_host_ends_its_workers(python: Callable[..., str]):
    """Prepared calls of operators that are not called again do not keep a closed host alive."""
    code = """
    import os, time
    import numpy as np, tenon
    from tenon import ops

    def workers():
        found = 0
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat") as file:
                    name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue
            state, parent = rest.split()[:2]
            found += "worker" in name and int(parent) == os.getpid() and state != "Z"
        return found

    x = np.ones(5000, "float32")
    for name in ("exp", "abs", "neg"):
        host = tenon.Host(isolate=True, threads=1)
        with host:
            getattr(ops, name)(x)
        before = workers()
        host.close()
        for _ in range(100):
            if workers() == 0:
                break
            time.sleep(0.05)
        print(before, workers())
    """
    assert python(code).split("\n")[:3] == ["1 0"] * 3


def test_a_block_that_was_not_entered_cannot_be_left():
    host = tenon.Host(threads=1)
    with host:
        pass
    with pytest.raises(tenon.UsageError, match="no open `with` block"):
        host.__exit__(None, None, None)
