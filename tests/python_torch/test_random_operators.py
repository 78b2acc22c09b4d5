"""Random operators in torch: each backward pass draws the random numbers of its own forward pass,
whatever has been called in between.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import tenon
import tenon.torch
import torch
from torch.library import opcheck
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

LARGE_SEED = 2**64 - 1


@tenon.operator
class DrawnMask:
    """scale * x * mask, for a random mask of 0 and 1 that backward draws again"""

    scale: float = 1.0

    def describe(op):
        op.types("float32")
        op.input("x")
        op.output("y")
        op.param("scale", "multiplier")
        op.uses_random()

    def forward(self, call):
        call.y = self.scale * call.x * call.random.integers(0, 2, call.x.shape)

    def backward(self, call):
        call.x_grad = self.scale * call.y_grad * call.random.integers(0, 2, call.x.shape)


@pytest.fixture(scope="module")
def drawn_mask():
    return tenon.torch.register(DrawnMask)


def ones(count=64):
    return torch.ones(count, requires_grad=True)


def require_own_masks(function, order):
    """Two forward calls, then their backward passes. The input is 1, so that an output equals its
    mask, and the gradient of its sum must, too.
    """
    inputs = [ones(), ones()]
    made = [function(each) for each in inputs]
    assert not torch.equal(*made)
    for index in order:
        made[index].sum().backward()
    for each, output in zip(inputs, made):
        assert torch.equal(each.grad, output.detach())


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_forward_calls_then_both_backward_passes(drawn_mask, order):
    require_own_masks(drawn_mask, order)


@pytest.mark.parametrize("backend", [None, "aot_eager", "inductor"])
def test_one_graph_has_both_calls(drawn_mask, backend):
    """Compiled, too, where neither may be removed as a common subexpression, or run again."""

    def function(x):
        return 3 * drawn_mask(x) + 5 * drawn_mask(x)

    if backend is not None:
        function = torch.compile(function, backend=backend, fullgraph=True)
    for _ in range(2):
        data = ones()
        made = function(data)
        assert set(made.unique().tolist()) == {0, 3, 5, 8}
        (grad,) = torch.autograd.grad(made.sum(), data)
        assert torch.equal(grad, made.detach())


def test_a_graph_that_is_kept_gives_the_same_gradient_again(drawn_mask):
    data = ones()
    made = drawn_mask(data)
    for _ in range(2):
        (grad,) = torch.autograd.grad(made.sum(), data, retain_graph=True)
        assert torch.equal(grad, made.detach())
        drawn_mask(data)


def test_evaluation_between_forward_and_backward(drawn_mask):
    data = ones()
    made = drawn_mask(data)
    with torch.no_grad():
        drawn_mask(data)
    tenon.seed(7)
    made.sum().backward()
    assert torch.equal(data.grad, made.detach())


def test_an_operator_that_is_added_between_forward_and_backward(drawn_mask):
    """It empties the caches of prepared calls."""
    data = ones()
    made = drawn_mask(data)

    @tenon.operator
    class AddedMeanwhile:
        """x"""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            call.y = call.x

    made.sum().backward()
    assert torch.equal(data.grad, made.detach())


def test_a_backward_pass_on_a_thread_outside_of_the_block_of_the_host():
    with tenon.Host(seed=3, threads=1) as host:
        assert host.add(DrawnMask)
        data = ones()
        drawn_mask = tenon.torch.register("drawn_mask")
        made = drawn_mask(data)
        drawn_mask(data)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(made.sum().backward).result()
    assert torch.equal(data.grad, made.detach())


def test_seeds_of_64_bits():
    with tenon.Host(seed=LARGE_SEED, threads=1) as host:
        operator = tenon.operator(host=host)(type("LargeMask", (DrawnMask,), dict(vars(DrawnMask))))
        require_own_masks(tenon.torch.register("large_mask", host=host), (1, 0))
    assert operator


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_functions(drawn_mask, backend, order):
    require_own_masks(torch.compile(drawn_mask, backend=backend, fullgraph=True), order)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_checkpoints_that_save_the_call(drawn_mask, backend):
    def function(x):
        contexts = partial(
            create_selective_checkpoint_contexts, [torch.ops.tenon.drawn_mask_forward.default]
        )
        return checkpoint(lambda y: drawn_mask(y * 1), x, use_reentrant=False, context_fn=contexts)

    if backend is not None:
        function = torch.compile(function, backend=backend, fullgraph=True)
    require_own_masks(function, (1, 0))


def test_transforms_of_functions(drawn_mask):
    """torch refuses to differentiate calls of operators like these, also its own custom ones."""
    assert torch.func.vmap(drawn_mask)(torch.ones(3, 8)).shape == (3, 8)
    with pytest.raises(RuntimeError, match="setup_context"):
        torch.func.grad(lambda x: drawn_mask(x).sum())(torch.ones(8))


def test_schemas_of_random_operators(drawn_mask):
    """Others have no position: sigmoid has no `_forward`, and uniform no gradient."""
    schema = str(torch.ops.tenon.drawn_mask_forward.default._schema)
    assert schema.endswith("-> (Tensor, Tensor)")
    tenon.torch.register("sigmoid"), tenon.torch.register("uniform")
    assert not hasattr(torch.ops.tenon, "sigmoid_forward")
    assert not hasattr(torch.ops.tenon, "uniform_forward")


def test_opcheck(drawn_mask):
    opcheck(drawn_mask.default, (ones(),), test_utils=("test_schema", "test_faketensor"))
