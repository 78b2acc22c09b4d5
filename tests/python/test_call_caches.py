"""Cached prepared calls: reused only for the same host and its current operators."""

import functools
import gc
import shutil
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import tenon
from exchange_stand_in import Box, function_of
from tenon import _call_cache, ops
from tenon._call_cache import CallCache, forget

WAIT = 30


def add_whose(host, number, waits=None):
    """An operator whose result identifies who added it. waits: called while a call of it is
    prepared.
    """

    @tenon.operator(name="whose", host=host)
    class Whose:
        """A number, everywhere."""

        def describe(op):
            op.input("x")
            op.output("y")

        def configure(self):
            if waits is not None:
                waits()

        def forward(self, call):
            call.y[...] = number

    return Whose  # must live as long as the host uses it


def numpy_way(name, host=None):
    function = tenon._core.Operator(name, host)
    return lambda *sizes: function(np.zeros(sizes, "float32")).flat[0]


def exchange_way(name, host=None):
    function = function_of(name, host, long_way=lambda box: Box(-np.ones(1)))
    return lambda *sizes: np.ravel(function(Box(np.zeros(sizes))).tolist())[0]


both_ways = pytest.mark.parametrize("way", [numpy_way, exchange_way])


class Gate:
    """A thread that pauses while preparing a call."""

    def __init__(self):
        self.reached, self.go = threading.Event(), threading.Event()

    def __call__(self):
        self.reached.set()
        assert self.go.wait(WAIT)


def run(work):
    failed = []

    def caught():
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised by the test
            failed.append(error)

    thread = threading.Thread(target=caught)
    thread.start()

    def end():
        thread.join(WAIT)
        assert not thread.is_alive(), "a thread hangs"
        if failed:
            raise failed[0]

    return end


@both_ways
def test_an_operator_that_is_replaced_while_a_call_is_prepared(way):
    host, gate = tenon.Host(threads=1), Gate()
    first = add_whose(host, 1, gate)
    whose = way("whose", host)
    end = run(lambda: whose(3))
    assert gate.reached.wait(WAIT)
    second = add_whose(host, 2)
    assert whose(4) == 2
    gate.go.set()
    end()
    assert whose(3) == 2
    assert first is not second


@both_ways
def test_another_host_calls_while_a_call_is_prepared(way):
    own, other, gate = tenon.Host(threads=1), tenon.Host(threads=1), Gate()
    classes = [add_whose(own, 1, gate), add_whose(other, 2)]
    whose = way("whose")
    results = []

    def work():
        with own:
            results.append(whose(3))

    end = run(work)
    assert gate.reached.wait(WAIT)
    with other:
        assert whose(4) == 2
        gate.go.set()
        end()
        assert results == [1]
        assert whose(3) == 2
    with own:
        assert whose(3) == 1
    assert classes


@both_ways
def test_a_host_that_is_closed_while_a_call_is_prepared(way):
    own, other, gate = tenon.Host(threads=1), tenon.Host(threads=1), Gate()
    classes = [add_whose(own, 1), add_whose(other, 2, gate)]
    whose = way("whose")
    results = []

    def work():
        with other:
            results.append(whose(3))

    end = run(work)
    assert gate.reached.wait(WAIT)
    with own:
        assert whose(3) == 1
    other.close()
    gate.go.set()
    end()
    assert results == [2]
    with own:
        assert whose(3) == 1
    assert classes


def test_what_runs_while_results_are_made_may_push_the_call_out(python):
    """Runs in a process whose allocator overwrites freed memory; converting the first result evicts
    the call.
    """
    python(
        """
        import numpy as np, tenon
        from exchange_stand_in import Box, function_of
        @tenon.operator
        class Twice:
            '''x and 2 * x.'''
            def describe(op): op.input("x"); op.output("y"); op.output("z")
            def forward(self, call): call.y[...] = call.x; call.z[...] = 2 * call.x
        twice = function_of("twice")
        tenon.default_host().names()  # reads the plugins
        def others():
            Box.on_result = None
            for size in range(2, 140): twice(Box(np.ones(size)))
        for _ in range(3):
            Box.on_result = others
            y, z = twice(Box([3.0]))
            assert (y.tolist(), z.tolist()) == ([3], [6])
        """,
        GLIBC_TUNABLES="glibc.malloc.tcache_count=0:glibc.malloc.perturb=165",
        PYTHONPATH=_with_this_folder(),
    )


def _with_this_folder():
    import os

    return os.pathsep.join(
        [os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])]
    )


@both_ways
def test_the_call_used_longest_ago_goes_first(way):
    host = tenon.Host(threads=1)
    keep = add_whose(host, 1)
    function = (
        tenon._core.Operator("whose", host) if way is numpy_way else function_of("whose", host)
    )
    counts = lambda: function._counts if way is numpy_way else tenon._core.exchange_counts(function)  # noqa: E731
    array = (
        (lambda size: np.zeros(size, "float32"))
        if way is numpy_way
        else (lambda size: Box(np.zeros(size)))
    )
    for size in range(1, 65):
        function(array(size))
    assert counts() == (0, 64, 0)
    function(array(1))  # now the most recently used
    function(array(65))  # evicts 2
    assert counts() == (1, 65, 1)
    function(array(1)), function(array(3)), function(array(65))
    assert counts() == (4, 65, 1)
    function(array(2))  # evicts 4
    assert counts() == (4, 66, 2)
    assert keep


@both_ways
def test_hosts_by_turns_prepare_once_each(way):
    hosts = [tenon.Host(threads=1) for _ in range(3)]
    classes = [add_whose(host, number) for number, host in enumerate(hosts)]
    function = tenon._core.Operator("whose") if way is numpy_way else function_of("whose")
    array = np.zeros(3, "float32") if way is numpy_way else Box(np.zeros(3))
    for _ in range(4):
        for number, host in enumerate(hosts):
            with host:
                made = function(array)
                assert (made if way is numpy_way else np.array(made.tolist()))[0] == number
    counts = function._counts if way is numpy_way else tenon._core.exchange_counts(function)
    assert counts == (9, 3, 0)
    assert classes


@both_ways
def test_a_call_inside_of_a_call_of_the_same_types(way):
    """The inner call uses a prepared call of its own."""
    calls = []

    @tenon.operator
    class Nested:
        """0 on the outside, 1 on the inside."""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            calls.append(1)
            call.y[...] = len(calls) if len(calls) == 4 else nested(3) + 1

    nested = way("nested")
    assert nested(3) == 7
    assert len(calls) == 4


needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler"
)

WHOSE = """#include <tenon/operator.hpp>
struct WhoseFile : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("NUMBER, everywhere");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  void forward(const tenon::Call& call) const {
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = NUMBER;
  }
};
TENON_OPERATOR(whose_file, WhoseFile)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two plugin files with the same operator."""
    found = []
    for number in (1, 2):
        made = tenon.compile(
            WHOSE.replace("NUMBER", str(number)), flags=["-O0"], host=tenon.Host(threads=1)
        )
        found.append(
            shutil.copy(made.path, tmp_path_factory.mktemp("files") / f"whose_{number}.so")
        )
    return found


@needs_compiler
def test_hosts_that_come_and_go_while_plugins_are_replaced(files):
    by_numpy, by_exchange = numpy_way("whose_file"), exchange_way("whose_file")

    def work(turn):
        for number in range(12):
            with tenon.Host(threads=1) as host:
                for step in range(2):
                    file = (number + turn + step) % 2
                    host.add_plugins(files[file])
                    for size in (number % 3 + 1, 5):
                        assert by_numpy(size) == by_exchange(size) == file + 1
                        assert ops.whose_file.info.doc.startswith(str(file + 1))
                host.close()

    for end in [run(functools.partial(work, turn)) for turn in range(2)]:
        end()


# ---- the cache of the package's own modules -----------------------------------------------------------------------------


class Version:
    """The part of a host that the cache uses."""

    def __init__(self, number, generation=0):
        self.version = number, generation


def lease(cache, host, key, make=object):
    with cache.lease(host, key, make) as entry:
        return entry


def test_entries_are_of_a_host_and_a_generation():
    cache, host, other = CallCache(), Version(1), Version(2)
    first = lease(cache, host, "key")
    assert lease(cache, other, "key") is not first and lease(cache, host, "key") is first
    assert cache.counts == (1, 2, 0) and len(cache) == 2
    host.version = 1, 1
    assert lease(cache, host, "key") is not first and len(cache) == 2  # the older entry was dropped
    assert cache.shared(host, "other", lambda: 5) == cache.shared(host, "other", lambda: 6) == 5


def test_a_lease_belongs_to_one_call():
    cache, host = CallCache(), Version(1)
    with cache.lease(host, "key", object) as one, cache.lease(host, "key", object) as two:
        assert one is not two
    assert {lease(cache, host, "key") for _ in range(4)} <= {one, two} and len(cache) == 2


def test_what_failed_or_is_over_or_does_not_fit_is_not_used_again():
    cache, host = CallCache(), Version(1)
    with pytest.raises(ZeroDivisionError), cache.lease(host, "key", object):
        raise ZeroDivisionError
    assert len(cache) == 0
    with cache.lease(host, "key", object):
        host.version = 1, 1
    assert len(cache) == 0
    with cache.lease(host, "key", lambda: None) as nothing:
        assert nothing is None
    assert len(cache) == 0
    first = lease(cache, host, "key")
    with cache.lease(host, "key", object, lambda entry: False) as second:
        assert second is not first
    assert len(cache) == 1


def test_the_entry_used_longest_ago_goes_first():
    cache, host = CallCache(3), Version(1)
    entries = {key: lease(cache, host, key) for key in "abc"}
    assert lease(cache, host, "a") is entries["a"]
    lease(cache, host, "d")
    assert len(cache) == 3 and cache.counts == (1, 4, 1)
    assert lease(cache, host, "a") is entries["a"] and lease(cache, host, "c") is entries["c"]
    assert lease(cache, host, "b") is not entries["b"]


def test_idle_entries_of_one_key_are_bounded():
    cache, host = CallCache(2), Version(1)
    leases = [cache.lease(host, "key", object) for _ in range(1000)]
    for each in leases:
        with each:
            pass
    assert len(cache) == _call_cache.MAX_IDLE
    assert cache.counts.evictions == 1000 - _call_cache.MAX_IDLE


def test_caches_do_not_keep_a_host_that_is_not_closed():
    function = tenon.value_and_grad(ops.sum)
    host = tenon.Host(threads=1)
    with host:
        function(np.ones(3))
    assert len(function._traces) == len(function._sessions) == 1
    alive = weakref.ref(host)
    del host
    gc.collect()
    assert alive() is None
    assert len(function._traces) == len(function._sessions) == 0


def test_a_host_that_closes_is_forgotten():
    cache, host, other = CallCache(), Version(1), Version(2)
    lease(cache, host, "key"), lease(cache, other, "key")
    forget(1)
    assert len(cache) == 1
    function = tenon.value_and_grad(ops.sum)
    with tenon.Host(threads=1) as own:
        for _ in range(3):
            function(np.ones(3))
        assert len(function._traces) == 1
        own.close()
    assert len(function._traces) == 0


@pytest.mark.parametrize("way", ["lease", "shared"])
def test_what_is_made_while_its_host_closes_is_dropped(way):
    cache, host = CallCache(), tenon.Host(threads=1, search_defaults=False)

    def make():
        host.close()
        return object()

    entry = lease(cache, host, "key", make) if way == "lease" else cache.shared(host, "key", make)
    assert entry is not None and len(cache._entries) == 0


def test_what_is_kept_while_its_host_closes_is_dropped():
    """The host closes between the check of its version and the insertion."""

    class Closing(Version):
        def __init__(self):
            self.closed = False

        @property
        def version(self):
            if self.closed:
                raise tenon.UsageError("closed")
            return 1, 0

    host = Closing()

    class Key:
        def __hash__(self):
            if ready:  # the key is looked up to be inserted
                ready.clear()
                forget(1)
                host.closed = True
            return 1

    cache, ready = CallCache(), []
    with cache.lease(host, Key(), object):
        ready.append(True)
    assert len(cache._entries) == 0


@pytest.fixture
def rapid_switches():
    """Threads take turns after nearly every instruction."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def while_others(work, do):
    """Calls do() for a second, with two threads that repeat work() meanwhile."""
    stop = threading.Event()

    def repeat():
        while not stop.is_set():
            work()

    ends = [run(repeat) for _ in range(2)]
    try:
        end = time.monotonic() + 1
        while time.monotonic() < end:
            do()
    finally:
        stop.set()
        for each in ends:
            each()


def test_a_host_is_forgotten_while_other_threads_make_caches(rapid_switches):
    live, host = [CallCache() for _ in range(2000)], Version(1)

    def close():
        lease(live[0], host, "key"), lease(live[-1], host, "key")
        forget(1)
        assert len(live[0]) == len(live[-1]) == 0

    while_others(lambda: [CallCache() for _ in range(50)], close)


def test_a_host_is_forgotten_while_other_threads_use_the_same_cache(rapid_switches):
    """With keys that are hashed by Python code."""

    class Key:
        def __init__(self, number):
            self.number = number

        def __hash__(self):
            return hash(self.number)

        def __eq__(self, other):
            return self.number == other.number

    cache, host, other = CallCache(), Version(1), Version(2)
    use = lambda: [cache.shared(other, Key(number), object) for number in range(60)]  # noqa: E731
    use()

    def close():
        cache.shared(host, "key", object)
        assert len(cache) > 0
        forget(1)
        assert not any(key[0] == host.version for key in dict.keys(cache._entries))

    while_others(use, close)


def test_caches_that_nothing_uses_are_destroyed():
    gc.collect()
    before = len(_call_cache._caches)
    made = [CallCache() for _ in range(5)]
    assert len(_call_cache._caches) == before + 5
    del made
    gc.collect()
    assert len(_call_cache._caches) == before


def test_what_entries_do_when_they_go_may_use_the_cache():
    cache, host = CallCache(2), Version(1)

    class Ends:
        def __del__(self):
            lease(cache, host, "from the end")

    for key in range(20):
        lease(cache, host, key, Ends)
    gc.collect()
    assert len(cache._entries) <= 2


def test_many_threads_never_share_a_lease():
    cache, hosts, out, errors = CallCache(4), [Version(1), Version(2)], set(), []
    lock = threading.Lock()

    def work(number):
        for turn in range(2000):
            host = hosts[(number + turn // 7) % 2]
            if number == 0 and turn % 50 == 0:
                hosts[1].version = 2, turn
            with cache.lease(host, turn % 3, lambda: [host.version, 0]) as entry:
                with lock:
                    if id(entry) in out or entry[0][0] != host.version[0]:
                        errors.append(entry)
                    out.add(id(entry))
                entry[1] += 1
                with lock:
                    out.remove(id(entry))

    for end in [run(functools.partial(work, number)) for number in range(4)]:
        end()
    assert not errors and len(cache._entries) <= 4 and 0 < sum(cache.counts[:2]) <= 8000


def test_value_and_grad_is_of_the_callers_host():
    hosts = [tenon.Host(threads=1), tenon.Host(threads=1)]

    @tenon.operator(name="scaled_by_host", host=hosts[0])
    class Doubled:
        """2 * x"""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            call.y[...] = 2 * call.x

        def backward(self, call):
            call.x_grad[...] = 2 * call.y_grad

    @tenon.operator(name="scaled_by_host", host=hosts[1])
    class Tripled:
        """3 * x"""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            call.y[...] = 3 * call.x

        def backward(self, call):
            call.x_grad[...] = 3 * call.y_grad

    function = tenon.value_and_grad(lambda x: ops.sum(ops.scaled_by_host(x)))
    for _ in range(3):
        for host, factor in zip(hosts, (2, 3)):
            with host:
                value, gradient = function(np.ones(2))
                assert value == 2 * factor and gradient.tolist() == [factor] * 2
    assert function._traces.counts == (4, 2, 0)
    assert Doubled is not Tripled
