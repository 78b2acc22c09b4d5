"""One of several processes: checks each collective operator against the data of all ranks, which
every rank can compute itself.

Prints its rank if all checks pass.
"""

import sys

import numpy as np
import tenon
from tenon import ops

rank, size = (int(number) for number in ops.ranks())


def tree_sum(parts):
    """A balanced tree that splits at the largest power of two."""
    if len(parts) == 1:
        return parts[0]
    left = 1 << ((len(parts) - 1).bit_length() - 1)
    return tree_sum(parts[:left]) + tree_sum(parts[left:])


def of_all(shape, dtype="float32"):
    """Each rank's tensor, with values whose sums round."""
    return [
        (np.random.default_rng(r).standard_normal(shape) * 1000).astype(dtype) for r in range(size)
    ]


def same(found, expected):
    np.testing.assert_array_equal(found, expected)


GROUPS = [{}, {"group": 2}, {"group": 2, "strided": True}] if size % 2 == 0 else [{}]
# Short vectors are sent whole, long ones in chunks, which may or may not be whole cache lines.
for rows in (1, 3, 2000):
    for group in GROUPS:
        count = group.get("group", size)
        members = (
            range(rank % (size // count), size, size // count)
            if group.get("strided")
            else range(rank // count * count, size)[:count]
        )
        for dtype in ("float32", "float64", "float16", "int32"):
            all_parts = of_all((rows * count, 11), dtype)
            parts, own = [all_parts[r] for r in members], all_parts[rank]
            place = list(members).index(rank)
            total = tree_sum(parts)
            same(ops.all_reduce(own, **group), total)
            same(ops.all_reduce(own, reduction="max", **group), np.maximum.reduce(parts))
            same(ops.all_reduce(own, reduction="min", **group), np.minimum.reduce(parts))
            same(
                ops.all_reduce(own, root=count - 1, **group),
                total if place == count - 1 else total * 0,
            )
            same(ops.reduce_scatter(own, **group), total[place * rows : (place + 1) * rows])
            same(ops.all_gather(own, **group), np.concatenate(parts))
            same(ops.broadcast(own, root=count // 2, **group), parts[count // 2])
            dealt = [part[place * rows : (place + 1) * rows] for part in parts]
            same(ops.all_to_all(own, **group), np.concatenate(dealt))
        parts = of_all((rows, 7))
        mean = ops.all_reduce(parts[rank], reduction="mean", **group)
        np.testing.assert_allclose(
            mean,
            np.mean([parts[r] for r in members], axis=0, dtype="float64"),
            rtol=1e-4,
            atol=1e-3,
        )

own = of_all((5, 3))
if rank == 0 < size - 1:
    same(ops.send(own[0], to=size - 1), own[0])
if rank == size - 1 > 0:
    same(ops.recv(np.zeros((5, 3), "float32"), source=0), own[0])


# Each rank's loss is the sum of its weights times its result; the gradient is that of the sum of
# all ranks' losses.
def gradient(operator, shape, **parameters):
    weights = of_all(operator(np.zeros(shape, "float32"), **parameters).shape)
    _, found = tenon.value_and_grad(
        lambda x: ops.sum(ops.mul(operator(x, **parameters), weights[rank]))
    )(of_all(shape)[rank])
    return found, weights


rows = 2
found, weights = gradient(ops.all_reduce, (rows * size, 3))
np.testing.assert_array_equal(found, tree_sum(weights))
found, weights = gradient(ops.reduce_scatter, (rows * size, 3))
np.testing.assert_array_equal(found, np.concatenate(weights))
found, weights = gradient(ops.all_gather, (rows, 3))
np.testing.assert_array_equal(found, tree_sum(weights)[rank * rows : (rank + 1) * rows])
found, weights = gradient(ops.broadcast, (rows, 3), root=size - 1)
np.testing.assert_array_equal(found, tree_sum(weights) * (rank == size - 1))
found, weights = gradient(ops.all_to_all, (rows * size, 3))
np.testing.assert_array_equal(
    found, np.concatenate([weight[rank * rows : (rank + 1) * rows] for weight in weights])
)
sys.stdout.write(f"{rank} of {size}\n")  # in one write, since other ranks write there, too
