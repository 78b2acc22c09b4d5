"""torch.ops.tenon: every operator of the catalog under torch's own checks."""

import numpy as np
import pytest
import tenon
import tenon.torch
import torch
from torch.library import opcheck
from torch.testing._internal.optests import OpCheckError

HOST = tenon.default_host()
NAMES = [name for name in HOST.names() if "." not in name]
DTYPES = ("float64", "float32", "bool")
WHOLE_GRAPHS = ("branch", "if", "loop", "scan", "while")  # parameters are graphs; tested below
# intentionally zero; less exact than finite differences need
NO_DERIVATIVE = ("stop_gradient", "cast")
FROM_ONE = ("acosh",)  # nan below 1
RANK_FOLLOWS = (
    "broadcast_to",
    "max",
    "mean",
    "min",
    "prod",
    "sum",
)  # depend on elements of the second input, so they cannot be traced
OPTIMIZERS = (
    "adagrad",
    "adam",
    "adamw",
    "global_norm_scale",
    "momentum",
    "nesterov",
    "rmsprop",
    "sgd",
)
TRADITIONAL = (
    "classify_scores",
    "label_encoder",
    "normalizer",
    "svm_classifier",
    "svm_regressor",
    "tfidf_vectorizer",
    "transform_scores",
    "tree_ensemble",
    "tree_ensemble_classifier",
)
NO_GRADIENT = (
    *OPTIMIZERS,
    *TRADITIONAL,
    "bit_cast",
    "fused_fully_connected",
    "max_roi_pool",
    "unique",
)


def registered(name, params=None):
    """Registers an operator. For operators with an optional output, returns the variant that has
    it, without its flag.
    """
    found = tenon.torch.register(name)
    for condition in HOST.describe(name)["conditions"]:
        if condition["of"] == "hidden" and params and params.pop(condition["param"], False):
            found = getattr(torch.ops.tenon, f"{name}_with_{condition['names'][0]}")
    return found


def examples(info):
    """The manifest's examples; for elementwise operators, two shapes that broadcast."""
    if info["examples"]:
        return info["examples"]
    shapes = [[2, 3], [3], [2, 1]]
    return [
        {
            "inputs": [
                {"name": each["name"], "dtype": None, "shape": shape, "values": []}
                for each, shape in zip(info["inputs"], shapes)
            ],
            "params": [],
        }
    ]


def arguments(info, example, dtype):
    rng = np.random.default_rng(3)

    named_types = {each["name"]: each["dtype"] for each in example["inputs"]}
    # Inputs without types of their own share one: the example's, if it sets one for all of them.
    shared = [
        named_types[each["name"]]
        for each in info["inputs"]
        if not each["types"] and each["name"] in named_types
    ]
    is_open = None in shared

    def tensor(declared, given):
        types = declared["types"] or [dtype]
        name = given["dtype"] or (dtype if dtype in types else types[0])
        if not declared["types"] and is_open:
            name = dtype
        values = (
            np.array(given["values"]).reshape(given["shape"])
            if given["values"]
            else rng.uniform(0.2, 0.9, given["shape"]) + (info["name"] in FROM_ONE)
        )
        return torch.tensor(values).to(getattr(torch, name))

    made = []
    for declared in info["inputs"]:
        named = [
            each
            for each in example["inputs"]
            if each["name"].rstrip("0123456789" if declared["variadic"] else "") == declared["name"]
        ]
        tensors = [tensor(declared, each) for each in named]
        made.append(tensors if declared["variadic"] else tensors[0] if tensors else None)
    while made and made[-1] is None:
        made.pop()
    return tuple(made), {each["name"]: each["value"] for each in example["params"]}


def cases():
    return [
        pytest.param(name, example, id=f"{name}-{place}")
        for name in NAMES
        if name not in WHOLE_GRAPHS
        for place, example in enumerate(examples(HOST.describe(name)))
    ]


def dtype_for(info, dtypes=DTYPES):
    return next((dtype for dtype in dtypes if dtype in info["types"]), "int64")


def leaves(args):
    return [
        each
        for arg in args
        for each in (arg if isinstance(arg, list) else [arg])
        if each is not None
    ]


def is_exact(value):
    return value is not None and value.dtype in (torch.float64, torch.complex128)


def call_of(op, args, params):
    """The operator as a function of its 64-bit inputs, with its differentiable outputs, as
    gradcheck needs it.
    """

    def call(*given):
        rest = iter(given)

        def put(value):
            if isinstance(value, list):
                return [put(each) for each in value]
            return next(rest) if is_exact(value) else value

        made = op(*[put(arg) for arg in args], **params)
        return tuple(
            each
            for each in (made if isinstance(made, tuple | list) else (made,))
            if each.requires_grad
        )

    return call


@pytest.mark.parametrize(("name", "example"), cases())
def test_passes_opcheck(name, example):
    info = HOST.describe(name)
    args, params = arguments(info, example, dtype_for(info))
    tests = ["test_schema", "test_autograd_registration", "test_faketensor"]
    if not info["random"]:  # different numbers each time
        tests.append("test_aot_dispatch_dynamic")
    op = registered(name, params).default
    if name in RANK_FOLLOWS and len(args) == 2:
        with pytest.raises(OpCheckError, match="test_faketensor failed with tenon."):
            opcheck(op, args, params, test_utils="test_faketensor")
        tests = tests[:2]
    opcheck(op, args, params, test_utils=tests)


@pytest.mark.parametrize(("name", "example"), cases())
def test_gives_what_the_function_on_arrays_gives(name, example):
    info = HOST.describe(name)
    args, params = arguments(info, example, dtype_for(info))
    if info["random"]:
        pytest.skip("draws other numbers each time")
    flags = dict(params)
    found = registered(name, flags)(*args, **flags)
    arrays = [
        each if each is None else each.numpy()
        for arg in args
        for each in (arg if isinstance(arg, list) else [arg])
    ]
    expected = tenon.ops[name](*arrays, **params)
    found = list(found) if isinstance(found, tuple | list) else [found]
    if hasattr(expected, "toarray"):  # csr, which torch gets as a dense tensor
        expected = expected.toarray()
    elif isinstance(expected, tenon.Tensor):
        expected = expected.to_dense()
    expected = list(expected) if isinstance(expected, tuple | list) else [expected]
    for mine, its in zip(found[: len(found) - len(info["states"])], expected, strict=True):
        np.testing.assert_array_equal(mine.numpy(), np.asarray(its))


@pytest.mark.parametrize("complex_numbers", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(("name", "example"), cases())
def test_passes_gradcheck(name, example, complex_numbers):
    info = HOST.describe(name)
    dtype = "complex128" if complex_numbers else "float64"
    if dtype not in info["types"] or info["surrogate_gradient"] or name in NO_DERIVATIVE:
        pytest.skip(f"has no {dtype}, or a gradient that is another one on purpose")
    args, params = arguments(info, example, dtype)
    if complex_numbers:
        args = tuple(
            [each + 0.3j for each in arg]
            if isinstance(arg, list)
            else arg + 0.3j
            if is_exact(arg)
            else arg
            for arg in args
        )
    inputs = [each.requires_grad_() for each in leaves(args) if is_exact(each)]
    call = call_of(registered(name, params), args, params)
    if not inputs or not call(*inputs):
        pytest.skip("nothing to differentiate")
    if name in NO_GRADIENT:
        with pytest.raises(tenon.Error, match="no gradient|has states"):
            sum(each.real.sum() for each in call(*inputs)).backward()
        return
    assert torch.autograd.gradcheck(call, inputs)
