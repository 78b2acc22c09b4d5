"""tenon.torch.module: a graph as a torch module."""

import copy
import math
import pickle

import numpy as np
import pytest
import tenon
import tenon.torch
import torch
from tenon import nn, ops


def network(dtype="float64", rate=0.0):
    graph = tenon.Graph()
    x = graph.input("x", dtype, (None, 4))
    hidden = nn.batch_norm(nn.dense(x, 6, activation="sigmoid", name="first"), name="norm")
    if rate:
        hidden = ops.dropout(hidden, p=rate, name="drop")
    graph.outputs(y=nn.dense(hidden, 2, name="last"))
    return graph


def inputs(rows=5, dtype=torch.float64):
    return torch.randn(rows, 4, dtype=dtype, generator=torch.Generator().manual_seed(1))


def twin(module):
    """Returns the network made of torch layers, with the module's parameters."""
    own = torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.Sigmoid(), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 2)
    ).double()
    with torch.no_grad():
        for mine, its in zip(own.parameters(), module.parameters(), strict=True):
            mine.copy_(its)
    return own


def test_parameters_are_variables_and_buffers_are_states():
    module = tenon.torch.module(network())
    assert [name for name, _ in module.named_parameters()] == [
        "first_weight",
        "first_bias",
        "norm_gamma",
        "norm_beta",
        "last_weight",
        "last_bias",
    ]
    assert [name for name, _ in module.named_buffers()] == ["norm_moving_mean", "norm_moving_var"]


def test_runs_as_the_graph_does():
    graph = network()
    graph.initialize(3)
    module = tenon.torch.module(graph).eval()
    np.testing.assert_array_equal(module(inputs()).detach().numpy(), graph(x=inputs().numpy())["y"])
    np.testing.assert_array_equal(
        module(x=inputs()).detach().numpy(), graph(x=inputs().numpy())["y"]
    )


@pytest.mark.parametrize("training", [False, True])
def test_passes_gradcheck(training):
    module = tenon.torch.module(network()).train(training)
    assert torch.autograd.gradcheck(
        lambda x, *_: module(x), (inputs().requires_grad_(), *module.parameters())
    )


def test_trains_as_torch_does():
    module = tenon.torch.module(network())
    own = twin(module)
    target = torch.randn(5, 2, dtype=torch.float64)
    optimizers = [torch.optim.AdamW(each.parameters(), lr=1e-2) for each in (module, own)]
    for _ in range(25):
        for each, optimizer in zip((module, own), optimizers):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(each(inputs()), target).backward()
            optimizer.step()
    for mine, its in zip(module.parameters(), own.parameters()):
        torch.testing.assert_close(mine, its, rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(module.norm_moving_mean, own[2].running_mean, rtol=1e-7, atol=1e-9)
    assert len(module._runs) == 2  # one session forward and one backward for all steps


def test_the_graph_gets_what_was_trained():
    graph = network()
    module = tenon.torch.module(graph)
    before = graph["first_weight"].numpy() if graph["first_weight"].tensor is not None else None
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    module(inputs()).square().sum().backward()
    optimizer.step()
    written = module.graph()
    for name, parameter in module.named_parameters():
        np.testing.assert_array_equal(written[name].numpy(), parameter.detach().numpy())
    np.testing.assert_array_equal(
        written["norm_moving_var"].numpy(), module.norm_moving_var.numpy()
    )
    np.testing.assert_array_equal(
        written(x=inputs().numpy())["y"], module.eval()(inputs()).detach().numpy()
    )
    if before is not None:
        np.testing.assert_array_equal(graph["first_weight"].numpy(), before)


def test_states_are_those_of_the_module_to_the_bit():
    """A session of states that are 0.0 is not used again for -0.0."""

    @tenon.operator
    class OverState:
        """x / a state"""

        def describe(op):
            op.types("float64")
            op.input("x")
            op.output("y")
            op.state("divisor", "of all").initial(1)

        def infer(self, io):
            io.set_output("y", io.shape("x"))
            io.set_state("divisor", (1,))

        def forward(self, call):
            with np.errstate(divide="ignore"):
                call.y[...] = call.x / call.divisor

    graph = tenon.Graph()
    graph.outputs(y=ops.over_state(graph.input("x", "float64", (1,)), name="node"))
    module = tenon.torch.module(graph).eval()
    (divisor,) = module.buffers()
    for value in (2.0, 0.0, -0.0, -0.0, 0.0, math.inf, -math.inf, math.nan):
        divisor.fill_(value)
        made = module(torch.ones(1, dtype=torch.float64)).numpy()
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(made, np.ones(1) / np.full(1, value))
        np.testing.assert_array_equal(module.graph()["node_divisor"].tensor.numpy(), [value])
    assert OverState


def test_state_dicts_carry_parameters_and_states():
    first, second = tenon.torch.module(network()), tenon.torch.module(network(), seed=9)
    for _ in range(3):
        first(inputs())
    second.eval()(inputs())  # creates its sessions
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(second.eval()(inputs()), first.eval()(inputs()), rtol=0, atol=0)
    again = copy.deepcopy(first.state_dict())
    first.train()(inputs())
    assert not torch.equal(again["norm_moving_mean"], first.norm_moving_mean)
    first.load_state_dict(again)
    torch.testing.assert_close(first.eval()(inputs()), second(inputs()), rtol=0, atol=0)


def test_dropout_of_the_gradient_is_that_of_the_run():
    graph = tenon.Graph()
    graph.outputs(y=ops.dropout(graph.input("x", "float32", (None,)), p=0.5))
    module = tenon.torch.module(graph, seed=4)
    data = torch.ones(1000, requires_grad=True)
    first, second = module(data), module(data)
    assert not torch.equal(first, second)
    for made in (second, first):
        (grad,) = torch.autograd.grad(made.sum(), data)
        assert torch.equal(grad, made.detach())
    assert torch.equal(module.eval()(data), data)


def test_several_outputs_integers_among_them():
    graph = tenon.Graph()
    scores = nn.dense(graph.input("x", "float32", (None, 4)), 3, name="scores")
    graph.outputs(scores=scores, digit=ops.argmax(scores, axis=[1]), total=ops.sum(scores))
    module = tenon.torch.module(graph)
    out = module(inputs(dtype=torch.float32))
    assert torch.equal(out["digit"], out["scores"].argmax(1)) and not out["digit"].requires_grad
    (out["total"] + out["scores"].sum()).backward()
    torch.testing.assert_close(module.scores_bias.grad, torch.full((3,), 10.0))
    assert module.scores_weight.grad.shape == (3, 4)


def test_parameters_may_be_replaced_frozen_and_shared():
    module = tenon.torch.module(network()).eval()
    module.first_weight.requires_grad_(False)
    module(inputs()).sum().backward()
    assert module.first_weight.grad is None and module.last_bias.grad is not None
    with torch.no_grad():
        module.last_weight.zero_()
        module.last_bias.fill_(2)
    assert torch.equal(module(inputs()), torch.full((5, 2), 2.0, dtype=torch.float64))
    module.last_bias = torch.nn.Parameter(torch.full((2,), 3.0, dtype=torch.float64))
    assert torch.equal(module(inputs()), torch.full((5, 2), 3.0, dtype=torch.float64))


def test_inside_of_a_model_of_torch_and_of_compile():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = tenon.torch.module(network())
            self.head = torch.nn.Linear(2, 1).double()

        def forward(self, x):
            return self.head(self.body(x).relu())

    model = Model().eval()
    compiled = torch.compile(model, backend="aot_eager")
    torch.testing.assert_close(compiled(inputs()), model(inputs()))
    compiled(inputs()).sum().backward()
    assert model.body.first_weight.grad is not None


def test_bad_use_is_refused():
    module = tenon.torch.module(network())
    with pytest.raises(TypeError, match="inputs are x"):
        module()
    with pytest.raises(TypeError, match="inputs are x"):
        module(inputs(), z=inputs())
    with pytest.raises(TypeError, match="inputs are x"):
        module(inputs(), x=inputs())
    with pytest.raises(tenon.Error, match="x"):
        module(inputs()[:, :3])
    graph = network()
    x = graph["x"]
    graph.output("dx", graph.gradient(ops.sum(graph["last"]), [graph["first_weight"]])[0])
    assert x is not None
    with pytest.raises(tenon.UsageError, match="gradients"):
        tenon.torch.module(graph)
    leaf = inputs().requires_grad_()
    (grad,) = torch.autograd.grad(module.eval()(leaf).square().sum(), leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice|once_differentiable"):
        grad.sum().backward()


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))]
)
def test_copies_and_pickles_are_independent(again):
    first = tenon.torch.module(network(rate=0.5))
    x = inputs()
    first(x).sum().backward()
    second = again(torch.nn.Sequential(first))[0]
    assert type(second) is type(first) and second.graph().host is not None
    first.eval(), second.eval()
    assert torch.equal(second(x), first(x))
    if again is copy.copy:
        return  # shares its parameters, as torch's modules do
    with torch.no_grad():
        for parameter in second.parameters():
            parameter.zero_()
    assert not torch.equal(second(x), first(x))


def test_errors_of_wide_graphs_list_sixteen_names():
    graph = tenon.Graph()
    graph.outputs(
        **{
            f"y{number}": ops.neg(graph.input(f"x{number}", "float32", (2,)))
            for number in range(20)
        }
    )
    with pytest.raises(
        TypeError, match="inputs are x0, .*, x15 and 4 more, but got 0 by position and none by"
    ):
        tenon.torch.module(graph)()
