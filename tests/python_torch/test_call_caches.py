"""Registered operators called in `with` blocks of hosts: each call uses its own host."""

import shutil
import threading

import pytest
import tenon
import tenon.torch
import torch

WAIT = 60


def draws(operator, count):
    return [float(operator(shape=[1])) for _ in range(count)]


def test_a_random_operator_draws_from_the_host_of_the_block():
    uniform = tenon.torch.register("uniform")
    with tenon.Host(seed=1, threads=1):
        expected = draws(uniform, 6)
    with tenon.Host(seed=1, threads=1):
        assert draws(uniform, 2) == expected[:2]
        outside = []
        thread = threading.Thread(target=lambda: outside.extend(draws(uniform, 2)))
        thread.start()
        thread.join(WAIT)
        assert draws(uniform, 2) == expected[2:4]
    outside += draws(uniform, 2)
    assert len(outside) == 4 and not set(outside) & set(expected)


def test_a_dropout_in_training_draws_from_the_host_of_the_block():
    dropout = tenon.torch.register("dropout")
    data = torch.ones(64)

    def masks(count):
        return [tuple(dropout(data, p=0.5, training=True).tolist()) for _ in range(count)]

    with tenon.Host(seed=1, threads=1):
        expected = masks(4)
    with tenon.Host(seed=1, threads=1):
        assert masks(2) == expected[:2]
    assert not set(masks(2)) & set(expected)


def scaled_by(factor, host, by):
    """An operator that multiplies by a number of its host, with a gradient by a kernel or a
    graph.
    """

    class Scaled:
        """factor * x"""

        def describe(op):
            op.types("float32")
            op.input("x")
            op.output("y")

        def forward(self, call):
            call.y[...] = factor * call.x

    def backward(self, call):
        call.x_grad[...] = factor * call.y_grad

    def gradient(self, graph):
        graph.set_input_grad(
            "x", graph.add("tenon.leaky_relu", graph.output_grad("y"), slope=float(factor))
        )

    setattr(Scaled, by, {"backward": backward, "gradient": gradient}[by])
    return tenon.operator(name=f"scaled_{by}", host=host)(Scaled)


@pytest.mark.parametrize("by", ["backward", "gradient"])
def test_gradients_are_of_the_host_of_the_forward_call(by):
    hosts = [tenon.Host(threads=1), tenon.Host(threads=1)]
    classes = [scaled_by(factor, host, by) for factor, host in zip((2, 3), hosts)]
    with hosts[0]:
        scaled = tenon.torch.register(f"scaled_{by}")
    for _ in range(3):
        for factor, host in zip((2, 3), hosts):
            with host:
                data = torch.ones(3, requires_grad=True)
                made = scaled(data)
            assert made.tolist() == [factor] * 3
            with hosts[0]:
                (-made).sum().backward()
            assert data.grad.tolist() == [-factor] * 3
    assert classes


@pytest.mark.parametrize("by", ["backward", "gradient"])
def test_a_new_operator_replaces_the_previous_one(by):
    with tenon.Host(threads=1) as host:
        first = scaled_by(2, host, by)
        scaled = tenon.torch.register(f"scaled_{by}", namespace="replaced", host=host)
        for expected in (2, 2, 5):
            if expected == 5:
                second = scaled_by(5, host, by)
            data = torch.ones(3, requires_grad=True)
            made = scaled(data)
            (-made).sum().backward()
            assert made.tolist() == [expected] * 3 and data.grad.tolist() == [-expected] * 3
        assert first is not second


def test_a_module_of_a_graph_follows_replaced_operators():
    with tenon.Host(threads=1) as host:
        first = scaled_by(2, host, "backward")
        graph = tenon.Graph()
        graph.output("y", host.ops.scaled_backward(graph.input("x", "float32", (3,))))
        module = tenon.torch.module(graph)
        assert module(torch.ones(3)).tolist() == module(torch.ones(3)).tolist() == [2] * 3
        second = scaled_by(5, host, "backward")
        data = torch.ones(3, requires_grad=True)
        made = module(data)
        made.sum().backward()
        assert made.tolist() == data.grad.tolist() == [5] * 3
        assert first is not second


SCALED_BY_TABLE = """#include <tenon/operator.hpp>
#include <tenon/table.hpp>
struct ScaledByTable : tenon::Operator {
  tenon::Table<double> factors = {1};
  static constexpr void describe(auto& op) {
    op.doc("x times the factor in the middle");
    op.types({tenon::f64});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("factors", &ScaledByTable::factors, "any");
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<double>(0);
    const auto y = call.output<double>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = factor() * x[i];
  }
  void gradient(tenon::Gradient& g) const {
    g.set_input_grad("x", g.add("quadratic", {g.output_grad(0)}, {{"b", factor()}}));
  }
  double factor() const { return factors[factors.size() / 2]; }
};
TENON_OPERATOR(scaled_by_table, ScaledByTable)
"""


@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler")
def test_gradients_by_graphs_are_of_the_tensors_of_the_call():
    """Also if torch prints two of them alike: it rounds, and leaves out elements of long ones."""
    compiled = tenon.compile(SCALED_BY_TABLE, flags=["-O0"])
    scaled = tenon.torch.register("scaled_by_table")
    long = torch.zeros(2000, dtype=torch.float64)
    middle = long.clone()
    middle[1000] = 1
    for factors in (
        torch.tensor([2.00001], dtype=torch.float64),
        torch.tensor([2.00002], dtype=torch.float64),
        long,
        middle,
    ):
        for _ in range(2):
            data = torch.ones(3, dtype=torch.float64, requires_grad=True)
            made = scaled(data, factors=factors)
            made.sum().backward()
            expected = torch.full((3,), float(factors[len(factors) // 2]), dtype=torch.float64)
            torch.testing.assert_close(made.detach(), expected, rtol=1e-12, atol=0)
            torch.testing.assert_close(data.grad, expected, rtol=1e-6, atol=0)
    assert compiled
