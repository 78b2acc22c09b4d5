"""A Tenon operator as a jax function with its gradient, for jit, grad and vmap.

jax calls it through jax.pure_callback, with arrays that Tenon only reads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tenon


@cache
def gradients_of(
    op: str, types: tuple[tuple[str, tuple[int, ...]], ...], params: tuple[tuple[str, Any], ...]
) -> tenon.Session:
    """A session that computes the gradients dx0, dx1 ... of the inputs x0, x1 ... from the output's
    gradient dy.
    """
    graph = tenon.Graph()
    inputs = [graph.input(f"x{index}", dtype, shape) for index, (dtype, shape) in enumerate(types)]
    made = graph.ops[op](*inputs, **dict(params))
    seed = graph.input("dy", made.dtype, made.shape)
    for index, grad in enumerate(graph.gradient(made, inputs, seed=seed)):
        if grad is not None:
            graph.output(f"dx{index}", grad)
    return graph.session()


def jax_operator(op: str, **params: Any) -> Callable[..., jax.Array]:
    """An operator with floating inputs and one output as a jax function:
    `sigmoid = jax_operator("sigmoid")`. Raises ValueError for random operators.
    """
    if tenon.ops[op].info.raw["random"]:
        raise ValueError(f"{op} draws random numbers, but its gradient would draw other ones")

    def forward(*inputs: Any) -> np.ndarray[Any, Any]:
        return np.asarray(tenon.ops[op](*map(np.asarray, inputs), **params))

    def backward(*arguments: Any) -> tuple[np.ndarray[Any, Any], ...]:
        *inputs, dy = map(np.asarray, arguments)
        session = gradients_of(
            op, tuple((each.dtype.name, each.shape) for each in inputs), tuple(params.items())
        )
        made = session.run({**{f"x{index}": each for index, each in enumerate(inputs)}, "dy": dy})
        return tuple(
            made.get(f"dx{index}", np.zeros_like(each)) for index, each in enumerate(inputs)
        )

    def like(values: Any) -> Any:
        return jax.tree.map(lambda each: jax.ShapeDtypeStruct(each.shape, each.dtype), values)

    call = partial(jax.pure_callback, vmap_method="sequential")

    @jax.custom_vjp
    def function(*inputs: jax.Array) -> jax.Array:
        arrays = [
            np.zeros(each.shape, each.dtype) for each in inputs
        ]  # only shapes and dtypes matter
        return call(forward, like(forward(*arrays)), *inputs)

    def run(*inputs: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        return function(*inputs), inputs

    def pull(inputs: tuple[jax.Array, ...], dy: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(call(backward, like(inputs), *inputs, dy))

    function.defvjp(run, pull)
    return function


if __name__ == "__main__":
    gelu, matmul = jax_operator("gelu"), jax_operator("matmul")

    @jax.jit
    def loss(weight: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.mean(gelu(matmul(x, weight)) ** 2)

    weight, x = jnp.ones((4, 2)) * 0.1, jnp.arange(12.0).reshape(3, 4)
    for step in range(20):
        weight -= 0.05 * jax.grad(loss)(weight, x)
    print("loss", loss(weight, x))
