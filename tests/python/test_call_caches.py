"""Cached prepared calls: reused only for the same host and its current operators."""

import contextlib
import functools
import shutil
import threading
import time

import numpy as np
import pytest
import tenon
from background import WAIT, run
from exchange_stand_in import Box, function_of
from tenon import ops


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


def test_a_host_that_is_closed_while_its_plugins_are_found_leaves_no_calls():
    for delay in range(20):
        relu = tenon._core.Operator("relu")
        host = tenon.Host(threads=1)  # finds its plugins in its first call

        def work(relu=relu, host=host):
            with host, contextlib.suppress(tenon.Error):  # if it is closed before
                relu(np.ones(3))

        end = run(work)
        time.sleep(delay * 5e-4)
        host.close()
        end()
        assert relu._counts == (0, 0, 0)


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
    counts = lambda: (  # noqa: E731
        function._counts if way is numpy_way else tenon._core.exchange_counts(function)
    )
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
