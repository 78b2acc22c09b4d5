"""torch.ops.tenon: compared with torch's arithmetic, under its modes and torch.compile, and how
operators are registered.
"""

import numpy as np
import pytest
import tenon
import tenon.torch
import torch
from torch.library import opcheck


def registered(name):
    return tenon.torch.register(name)


# ---- torch's own arithmetic as the oracle --------------------------------------------------------


def test_gradients_are_those_of_torch():
    data = torch.randn(2, 3, 7, 7, dtype=torch.float32)
    weight, bias = torch.randn(4, 3, 3, 3), torch.randn(4)
    tensors = [each.requires_grad_() for each in (data, weight, bias)]
    registered("max_pool")
    ours = torch.ops.tenon.max_pool(
        registered("convolution")(*tensors, num_filter=4, kernel=[3, 3], pad=[1, 1]),
        kernel=[2, 2],
        stride=[2, 2],
    )
    theirs = torch.nn.functional.max_pool2d(torch.nn.functional.conv2d(*tensors, padding=1), 2)
    torch.testing.assert_close(ours, theirs)
    weights = torch.randn_like(theirs)
    for mine, its in zip(
        torch.autograd.grad((ours * weights).sum(), tensors),
        torch.autograd.grad((theirs * weights).sum(), tensors),
    ):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-4)


def test_batch_norm_takes_and_returns_its_states():
    norm = registered("batch_norm")
    data = torch.randn(8, 3, dtype=torch.float64)
    own = torch.nn.BatchNorm1d(3, momentum=0.1, dtype=torch.float64)
    expected = own(data)
    mean, var = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    made, new_mean, new_var = norm(
        data, own.weight, own.bias, mean, var, momentum=0.9, training=True
    )
    torch.testing.assert_close(made, expected)
    torch.testing.assert_close(new_mean, own.running_mean)
    assert mean.abs().sum() == 0  # its arguments are never changed
    unbiased = data.var(0, unbiased=False)
    torch.testing.assert_close(new_var, 0.9 + 0.1 * unbiased)


def test_dropout_draws_in_training_and_its_gradient_is_of_the_same_draw():
    drop = registered("dropout")
    data = torch.ones(1000, requires_grad=True)
    assert torch.equal(drop(data, p=0.5), data)
    first, second = drop(data, p=0.5, training=True), drop(data, p=0.5, training=True)
    assert not torch.equal(first, second)
    for made in (second, first):
        (grad,) = torch.autograd.grad(made.sum(), data)
        assert torch.equal(grad, made.detach())


def test_operators_whose_parameters_are_graphs():
    body = tenon.Graph()
    x = body.input("x", "float32", (2,))
    body.output("y", x * 2.0)
    other = tenon.Graph()
    z = other.input("x", "float32", (2,))
    other.output("y", z + 1.0)
    branch = registered("if")
    graphs = {"then": body.to_json(), "else_": other.to_json()}
    data = torch.tensor([1.0, 2.0])
    assert branch(torch.tensor(True), [data], **graphs)[0].tolist() == [2, 4]
    assert branch(torch.tensor(False), [data], **graphs)[0].tolist() == [2, 3]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int32, torch.complex64])
def test_dtypes_go_in_and_out(dtype):
    data = torch.tensor([1, 2, 3]).to(dtype)
    made = registered("add")(data, data)
    assert made.dtype == dtype
    assert torch.equal(made, data + data)


def test_views_and_pending_conjugations_agree_with_torch():
    data = torch.arange(12.0).reshape(3, 4)
    add, neg = registered("add"), registered("neg")
    for view in (data.T, data[:, ::2], data.expand(2, 3, 4), data[1:1], torch.tensor(3.0)):
        assert torch.equal(add(view, view), view + view)
    numbers = torch.tensor([1 + 2j, 3 - 1j])
    assert torch.equal(neg(numbers.conj()), -(numbers.conj().resolve_conj()))
    assert torch.equal(neg(numbers.conj().imag), -(numbers.conj().imag))
    with torch.inference_mode():
        assert torch.equal(neg(numbers.conj()), -(numbers.conj().resolve_conj()))


def test_calls_are_cached_by_types_and_parameters():
    leaky, pool = registered("leaky_relu"), registered("max_pool")
    for _ in range(2):
        for slope in (0.1, 0.5, 0.01):
            for data in (torch.randn(4), torch.randn(5), torch.randn(4).double()):
                torch.testing.assert_close(
                    leaky(data, slope=slope), torch.nn.functional.leaky_relu(data, slope)
                )
        for kernel in ([2, 2], [3, 3], [2, 3]):
            data = torch.randn(1, 1, 6, 6)
            expected = torch.nn.functional.max_pool2d(data, kernel, stride=1)
            torch.testing.assert_close(pool(data, kernel=kernel, stride=[1, 1]), expected)


def test_an_output_that_a_flag_requests_is_another_operator():
    pool = registered("max_pool")
    data = torch.randn(1, 2, 6, 6, requires_grad=True)
    theirs, places = torch.nn.functional.max_pool2d(data, 2, return_indices=True)
    made, indices = torch.ops.tenon.max_pool_with_indices(data, kernel=[2, 2], stride=[2, 2])
    torch.testing.assert_close(made, theirs)
    assert torch.equal(indices % 36, places)  # torch counts within a channel
    assert "return_indices" not in str(torch.ops.tenon.max_pool_with_indices.default._schema)
    weights = torch.randn_like(made)
    (mine,) = torch.autograd.grad((made * weights).sum(), data)
    (its,) = torch.autograd.grad((theirs * weights).sum(), data)
    torch.testing.assert_close(mine, its)
    with pytest.raises(tenon.UsageError, match="'return_indices'") as caught:
        pool(data, kernel=[2, 2], return_indices=True)
    assert "max_pool_with_indices" in caught.value.hint


def test_a_list_of_texts_may_be_left_out():
    rnn = registered("rnn")
    assert "str[]? activations=None" in str(rnn.default._schema)
    tensors = [torch.randn(3, 2, 4), torch.randn(1, 5, 4), torch.randn(1, 5, 5)]
    by_default, same, other = (
        rnn(*tensors, **params)[0]
        for params in ({}, {"activations": ["Tanh"]}, {"activations": ["Relu"]})
    )
    assert torch.equal(by_default, same)
    assert not torch.equal(by_default, other)


# ---- shapes that follow from elements ------------------------------------------------------------


def test_shapes_that_follow_from_elements():
    reshape, total = registered("reshape"), registered("sum")
    data = torch.randn(2, 6, dtype=torch.float64, requires_grad=True)
    for sizes in ([3, 4], [4, 3], [12, 1]):
        made = reshape(data, torch.tensor(sizes))
        assert torch.equal(made, data.reshape(sizes))
        weights = torch.randn_like(made)
        (grad,) = torch.autograd.grad((made * weights).sum(), data)
        assert torch.equal(grad, weights.reshape(2, 6))
    for axis in (0, 1):
        axes = torch.tensor([axis])
        made = total(data, axes)
        torch.testing.assert_close(made, data.sum(axis))
        axes.fill_(1 - axis)  # the gradient, if any, is of the elements that the call saw
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            made.sum().backward()
    with pytest.raises(tenon.ExecutionError, match="reshape"):
        reshape(data, torch.tensor([5, 5]))


@pytest.mark.parametrize("name", ["reshape", "sum"])
def test_a_trace_ends_where_a_shape_follows_from_other_elements(name):
    op = registered(name)
    compiled = torch.compile(lambda x, given: op(x + 1, given) * 2, backend="aot_eager")
    data = torch.randn(2, 6)
    for given in ([1], [0]) if name == "sum" else ([3, 4], [6, 2]):
        torch.testing.assert_close(
            compiled(data, torch.tensor(given)), op(data + 1, torch.tensor(given)) * 2
        )
    if name == "sum":  # the rank depends on elements, too, for which torch has no symbol
        whole = torch.compile(lambda x, given: op(x, given), backend="aot_eager", fullgraph=True)
        with pytest.raises(torch._dynamo.exc.Unsupported, match="[Dd]ynamic"):
            whole(data, torch.tensor([1]))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_dimensions_that_follow_from_elements_are_symbols(backend):
    reshape = registered("reshape")
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(
            lambda x, sizes: reshape(x, sizes) * 2, backend=backend, fullgraph=True
        )
        data = torch.randn(2, 6, requires_grad=True)
        for sizes in ([3, 4], [6, 2]):
            made = compiled(data, torch.tensor(sizes))
            assert torch.equal(made, data.reshape(sizes) * 2)
            (grad,) = torch.autograd.grad(made.sum(), data)
            assert torch.equal(grad, torch.full((2, 6), 2.0))


# ---- modes of torch ------------------------------------------------------------------------------


def test_grad_modes():
    sigmoid = registered("sigmoid")
    data = torch.randn(3, requires_grad=True)
    assert sigmoid(data).requires_grad
    with torch.no_grad():
        assert not sigmoid(data).requires_grad
    with torch.inference_mode():
        assert not sigmoid(data).requires_grad
    assert not sigmoid(data.detach()).requires_grad
    assert sigmoid(torch.nn.Parameter(data.detach())).requires_grad


def test_gradients_of_gradients_are_refused():
    data = torch.randn(3, requires_grad=True)
    (grad,) = torch.autograd.grad(registered("sigmoid")(data).sum(), data, create_graph=True)
    with pytest.raises(tenon.UsageError, match="no second derivative in torch"):
        grad.sum().backward()


def test_a_tensor_that_backward_does_not_read_may_change():
    data = torch.randn(3, dtype=torch.float64)
    leaf = data.clone().requires_grad_()
    between = leaf * 1
    made = registered("sigmoid")(between)
    between.add_(1)  # sigmoid's gradient reads only its output
    made.sum().backward()
    expected = torch.sigmoid(data)
    torch.testing.assert_close(leaf.grad, expected * (1 - expected))


def test_modes_see_the_operator():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.names.append(str(function))
            return function(*args, **(kwargs or {}))

    add = registered("add")
    with Seen() as seen:
        add(torch.ones(2), torch.ones(2))
    assert "tenon.add.default" in seen.names


def test_compiles_with_fixed_and_with_free_dimensions():
    sigmoid, matmul, concat = registered("sigmoid"), registered("matmul"), registered("concat")

    def function(x, y):
        made = concat([sigmoid(x) @ y, matmul(x, y)], axis=0)
        return made * made.shape[0]

    runs = []

    def count(module, inputs):
        runs.append(module)
        return module.forward

    for dynamic in (False, True):
        compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)
        for rows in (3, 5, 9):
            x, y = torch.randn(rows, 4), torch.randn(4, 2)
            torch.testing.assert_close(compiled(x, y), function(x, y))
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=count, fullgraph=True, dynamic=True)
    for rows in (3, 5, 9):
        compiled(torch.randn(rows, 4), torch.randn(4, 2))
    assert len(runs) == 1  # one graph for all of them


def test_compiles_to_code_where_parameters_are_called_as_torch_calls_its_own():
    convolution, norm, drop = (
        registered("convolution"),
        registered("batch_norm"),
        registered("dropout"),
    )

    def function(x, weight, gamma, beta):
        made = convolution(x, weight, num_filter=2, kernel=[3, 3], no_bias=True)
        made, mean, _ = norm(made, gamma, beta, training=True)
        return drop(made, p=0.0, training=True).square().mean() + mean.sum()

    tensors = [torch.randn(2, 1, 3, 3), torch.randn(2), torch.randn(2)]
    data = torch.randn(3, 1, 8, 8)
    parameters = [each.requires_grad_() for each in tensors]
    compiled = torch.compile(function, fullgraph=True)  # by inductor
    torch.testing.assert_close(compiled(data, *parameters), function(data, *parameters))
    ours = torch.autograd.grad(compiled(data, *parameters), parameters)
    for mine, its in zip(
        ours, torch.autograd.grad(function(data, *parameters), parameters), strict=True
    ):
        torch.testing.assert_close(mine, its)


def test_gradients_compile():
    sigmoid = registered("sigmoid")
    compiled = torch.compile(
        lambda x: (sigmoid(x) ** 2).sum(), backend="aot_eager", fullgraph=True, dynamic=True
    )
    for rows in (3, 6):
        data = torch.randn(rows, 2, dtype=torch.float64, requires_grad=True)
        (mine,) = torch.autograd.grad(compiled(data), data)
        (its,) = torch.autograd.grad((torch.sigmoid(data) ** 2).sum(), data)
        torch.testing.assert_close(mine, its)


def test_a_dimension_that_no_rule_gives_is_traced_anew():
    pool = registered("avg_pool")

    def function(x):
        made = pool(x, kernel=[3, 3], stride=[2, 2])
        return made * made.shape[2]

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=True)
    for size in (7, 8, 12):
        data = torch.randn(2, 1, size, size)
        expected = torch.nn.functional.avg_pool2d(data, 3, 2)
        torch.testing.assert_close(compiled(data), expected * expected.shape[2])


# ---- registering ---------------------------------------------------------------------------------


def test_schemas_say_what_manifests_say():
    schema = str(registered("convolution").default._schema)
    assert "Tensor data" in schema and "Tensor? bias=None" in schema
    assert (
        "int num_filter" in schema and "int groups=1" in schema and "bool no_bias=False" in schema
    )
    assert str(registered("split").default._schema).endswith("-> Tensor[]")
    assert "str dtype" in str(registered("cast").default._schema)


def test_bad_calls_are_refused():
    add, relu = registered("add"), registered("relu")
    with pytest.raises(tenon.ExecutionError, match="add"):
        add(torch.ones(2), torch.ones(3))
    with pytest.raises(RuntimeError, match="missing value|expected"):
        add(torch.ones(2))
    with pytest.raises(tenon.ExecutionError, match="relu"):
        relu(torch.ones(2, dtype=torch.bool))
    with pytest.raises((tenon.UsageError, tenon.ExecutionError), match="p"):
        registered("dropout")(torch.ones(2), p=2.0)
    with pytest.raises(tenon.PluginError, match="no_such"):
        registered("no_such")


def test_registering_again_gives_the_same_operator():
    assert registered("add") is registered("add")
    assert tenon.torch.register(tenon.ops.add) is registered("add")
    other = tenon.torch.register("add", namespace="tenon_test")
    assert torch.equal(other(torch.ones(2), torch.ones(2)), torch.tensor([2.0, 2.0]))


def test_an_operator_written_in_python():
    @tenon.operator
    class TorchCube:
        scale: float = 1.0

        def describe(op):
            op.doc("scale * x^3")
            op.types("float64")
            op.input("x", "any shape")
            op.output("y", "same shape")
            op.param("scale", "multiplier")

        def forward(self, call):
            np.multiply(call.x**3, self.scale, out=call.y)

        def backward(self, call):
            call.x_grad[...] = 3 * self.scale * call.x**2 * call.y_grad

    cube = tenon.torch.register(TorchCube)
    data = torch.randn(4, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(cube(data, scale=2.0), 2 * data**3)
    assert torch.autograd.gradcheck(lambda x: cube(x, scale=2.0), (data,))
    opcheck(cube.default, (data,), {"scale": 2.0})


def test_eager_functions_refuse_tensors_that_want_a_gradient():
    data = torch.randn(3, requires_grad=True)
    with pytest.raises(tenon.UsageError, match="gradient") as caught:
        tenon.ops.relu(data)
    assert "tenon.torch.register" in caught.value.hint
    with torch.no_grad():
        assert torch.equal(tenon.ops.relu(data), torch.relu(data))
    assert torch.equal(tenon.ops.relu(data.detach()), torch.relu(data))


def test_100_000_calls_do_not_grow():
    import resource

    add = registered("add")
    data = torch.ones(4)
    for _ in range(2000):
        add(data, data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(100_000):
        add(data, data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # KiB


def test_threads_call_one_operator():
    from concurrent.futures import ThreadPoolExecutor

    add, sigmoid = registered("add"), registered("sigmoid")

    def work(number):
        data = torch.full((5000,), float(number), dtype=torch.float64, requires_grad=True)
        for _ in range(20):
            made = sigmoid(add(data, data))
            (grad,) = torch.autograd.grad(made.sum(), data)
        expected = torch.sigmoid(2 * data.detach())
        torch.testing.assert_close(made.detach(), expected)
        torch.testing.assert_close(grad, 2 * expected * (1 - expected))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))
