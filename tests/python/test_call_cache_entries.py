"""The cache of the package's own modules: leases, bounds, and hosts that close or go."""

import functools
import gc
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import tenon
from background import run
from tenon import _call_cache, ops
from tenon._call_cache import CallCache, forget


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


def test_entries_that_survive_errors_are_used_again():
    cache, host = CallCache(survive_errors=True), Version(1)
    with pytest.raises(ZeroDivisionError), cache.lease(host, "key", object) as first:
        raise ZeroDivisionError
    assert lease(cache, host, "key") is first
    with pytest.raises(ZeroDivisionError), cache.lease(host, "key", object):
        host.version = 1, 1
        raise ZeroDivisionError
    assert len(cache) == 0


def test_arrays_that_do_not_fit_cost_no_session():
    function = tenon.value_and_grad(lambda w, x: ops.sum(ops.matmul(x, w)))
    function(np.ones((3, 2)), np.ones((5, 3)))
    for _ in range(3):
        with pytest.raises(tenon.Error):
            function(np.ones((3, 2)), np.ones((5, 4)))
        assert len(function._sessions) == 1
    function(np.ones((3, 2)), np.ones((5, 3)))
    assert function._sessions.counts == (4, 1, 0)


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


def test_entries_added_while_their_host_closes_are_dropped():
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


def test_value_and_grad_follows_an_operator_replaced_while_it_traces():
    host = tenon.Host(threads=1)

    def define(factor):
        @tenon.operator(name="scaled_by_version", host=host)
        class Scaled:
            """factor * x"""

            def describe(op):
                op.input("x")
                op.output("y")

            def forward(self, call):
                call.y[...] = factor * call.x

            def backward(self, call):
                call.x_grad[...] = factor * call.y_grad

    versions = [3]

    def sum_scaled(x):
        result = ops.sum(ops.scaled_by_version(x))
        if versions:
            define(versions.pop())  # as another thread may do at any time
        return result

    function = tenon.value_and_grad(sum_scaled)
    define(2)
    with host:
        for factor in (2, 3, 3):
            value, gradient = function(np.ones(2))
            assert value == 2 * factor and gradient.tolist() == [factor] * 2
