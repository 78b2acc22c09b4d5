"""The recipe for jax, and jax arrays in tenon.ops."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import tenon

jax = pytest.importorskip("jax", reason="jax is not installed")
jax.config.update("jax_platforms", "cpu")
jnp = jax.numpy


def recipe():
    path = Path(__file__).parents[2] / "host/python/examples/jax_operator.py"
    spec = importlib.util.spec_from_file_location("jax_operator", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.jax_operator


def test_values_and_gradients_are_those_of_jax():
    matmul, sigmoid = recipe()("matmul"), recipe()("sigmoid")
    x, w = jnp.linspace(-1, 1, 12).reshape(3, 4), jnp.linspace(0, 1, 8).reshape(4, 2)

    def ours(x, w):
        return jnp.sum(sigmoid(matmul(x, w)) ** 2)

    def theirs(x, w):
        return jnp.sum(jax.nn.sigmoid(x @ w) ** 2)

    for wrap in (lambda f: f, jax.jit):
        np.testing.assert_allclose(wrap(ours)(x, w), theirs(x, w), rtol=1e-5)
        for mine, its in zip(
            wrap(jax.grad(ours, argnums=(0, 1)))(x, w),
            jax.grad(theirs, argnums=(0, 1))(x, w),
            strict=True,
        ):
            np.testing.assert_allclose(mine, its, rtol=1e-5, atol=1e-7)


def test_maps_over_a_dimension():
    leaky = recipe()("leaky_relu", slope=0.25)
    x = jnp.linspace(-2, 2, 6).reshape(3, 2)
    np.testing.assert_allclose(jax.vmap(leaky)(x), np.where(x > 0, x, 0.25 * x))
    np.testing.assert_allclose(
        jax.vmap(jax.grad(lambda row: leaky(row).sum()))(x), np.where(x > 0, 1, 0.25)
    )


def test_random_operators_are_refused():
    """A gradient of its own session would be that of other numbers."""
    with pytest.raises(ValueError, match="dropout draws random numbers"):
        recipe()("dropout")


def test_arrays_of_jax_come_back_and_are_never_written():
    x = jnp.arange(4.0)
    made = tenon.ops.add(x, x)
    assert isinstance(made, jax.Array)
    np.testing.assert_array_equal(made, [0, 2, 4, 6])
    tensor = tenon.tensor(x)
    assert tensor.read_only
    assert not tensor.numpy().flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        tensor.numpy()[0] = 5
    np.testing.assert_array_equal(x, [0, 1, 2, 3])


def test_bfloat16_of_jax():
    x = jnp.array([1.5, 2.5], dtype=jnp.bfloat16)
    made = tenon.ops.add(x, x)
    assert made.dtype == jnp.bfloat16
    np.testing.assert_array_equal(np.asarray(made, dtype=np.float32), [3, 5])
