"""Sizes known only at run time flow through shape arithmetic into other sizes: in sessions,
batches, training and subgraphs.
"""

import numpy as np
import pytest
import tenon
from tenon import ops

ARRAYS = [
    np.array(v, "float32")
    for v in ([1, -2, 3, -4], [1, 2], [-1, -1, -1], [], [5, -5, 5, -6, -7, 8])
]
F, I = np.float32, np.int64


def ints(*values):
    return np.array(values, I)


def graph_text(make, **inputs):
    """A graph with the named inputs, as JSON."""
    graph = tenon.Graph()
    graph.outputs(
        **make(*(graph.input(name, dtype, shape) for name, (dtype, shape) in inputs.items()))
    )
    return graph.to_json()


# Values whose size is known only at run time: NAME -> (graph, numpy). All are vectors.
def negative_indices(x):
    return ops.nonzero(ops.less(x, F(0)))


def chosen_by_branch(x):
    whole = graph_text(lambda x: {"y": ops.neg(x)}, x=("float32", (None,)))
    part = graph_text(lambda x: {"y": ops.slice(x, begin=[1], end=[9])}, x=("float32", (None,)))
    return ops.branch(ops.greater(ops.sum(x), F(0)), x, then=whole, **{"else": part}, outputs=1)


def grown_by_loop(x):
    def body(run, condition, value):
        return {
            "go": condition,
            "next": ops.concat(value, ops.slice(value, begin=[0], end=[1]), axis=0),
        }

    text = graph_text(body, run=("int64", ()), condition=("bool", ()), value=("float32", (None,)))
    count = ops.cast(ops.sum(ops.cast(ops.greater(x, F(0)), dtype="int64")), dtype="int64")
    return ops.loop(count, np.array(True), x, body=text, carries=1, outputs=1)


def loop_in_numpy(x):
    for _ in range(int((x > 0).sum())):
        x = np.concatenate([x, x[:1]])
    return x


SOURCES = {
    "nonzero": (
        lambda x: ops.reshape(negative_indices(x), shape=[-1]),
        lambda x: np.nonzero(x < 0)[0],
    ),
    "compress": (lambda x: ops.compress(x, ops.less(x, F(0)), axis=[0]), lambda x: x[x < 0]),
    "unique": (lambda x: ops.unique(x)[0], np.unique),
    "slice": (
        lambda x: ops.slice(
            x,
            ends=ops.reshape(ops.sum(ops.cast(ops.less(x, F(0)), dtype="int64")), shape=[1]),
            begin=[0],
        ),
        lambda x: x[: (x < 0).sum()],
    ),
    "branch": (chosen_by_branch, lambda x: -x if x.sum() > 0 else x[1:]),
    "loop": (grown_by_loop, loop_in_numpy),
}

# Uses of that size, n, as an int64 [1]: NAME -> (graph, numpy).
USES = {
    "broadcast": (lambda x, n: ops.broadcast_to(F(9), n), lambda x, n: np.full(n, 9, F)),
    "reshape": (
        lambda x, n: ops.reshape(ops.tile(np.ones(1, F), n), ops.concat(n, ints(1), axis=0)),
        lambda x, n: np.ones((n, 1), F),
    ),
    "tile": (lambda x, n: ops.tile(np.array([9], F), n), lambda x, n: np.full(n, 9, F)),
    "range": (
        lambda x, n: ops.range(I(0), ops.reshape(n, shape=[]), I(1)),
        lambda x, n: np.arange(n),
    ),
    "slice": (lambda x, n: ops.slice(x, ends=n, begin=[0]), lambda x, n: x[:n]),
    "pad": (
        lambda x, n: ops.pad(x, ops.concat(ints(0), n, axis=0)),
        lambda x, n: np.pad(x, (0, n)),
    ),
    "arithmetic": (
        lambda x, n: ops.broadcast_to(
            F(1), ops.add(ops.mul(ops.maximum(n, ints(1)), ints(2)), ints(1))
        ),
        lambda x, n: np.ones(2 * max(n, 1) + 1, F),
    ),
    "number": (lambda x, n: ops.mul(x, ops.cast(n, dtype="float32")), lambda x, n: x * F(n)),
    "twice": (
        lambda x, n: ops.broadcast_to(F(1), ops.shape(ops.nonzero(ops.broadcast_to(F(1), n)))),
        lambda x, n: np.ones((n, 1), F),
    ),
}


def case(source, use):
    late, late_in_numpy = SOURCES[source]
    make, in_numpy = USES[use]

    def graph(x):
        value = late(x)
        return {"y": make(x, ops.shape(value)), "count": ops.shape(value)}

    def want(x):
        n = len(late_in_numpy(x))
        return {"y": in_numpy(x, n), "count": ints(n)}

    return graph, want


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("source", SOURCES)
def test_late_size_as_size(source, use):
    make, want = case(source, use)
    for optimize in ("full", "none"):
        graph = tenon.Graph()
        graph.outputs(**make(graph.input("x", "float32", (None,))))
        session = tenon.Session(graph, optimize=optimize)
        for x in [*ARRAYS, *ARRAYS]:
            if source == "slice" and (x < 0).sum() > len(x):
                continue
            out = session.run({"x": x})
            for name, array in want(x).items():
                assert out[name].dtype == array.dtype and np.array_equal(out[name], array), (
                    x,
                    name,
                    out[name],
                )


def test_masked_assignment():
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None, None))
    found = ops.nonzero(ops.less(x, F(0)))
    count = ops.slice(ops.shape(found), begin=[0], end=[1])
    graph.outputs(y=ops.scatter_nd(x, found, ops.broadcast_to(F(7), count)))
    session = tenon.Session(graph)
    for shape in ((2, 3), (4, 1), (0, 3), (2, 3), (1, 5)):
        x = np.random.default_rng(0).standard_normal(shape).astype(F)
        assert np.array_equal(session.run({"x": x})["y"], np.where(x < 0, F(7), x))


def test_gradient():
    """The gradient of x[x < 0] in a sum weighted by a vector of late size."""
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None,))
    scale = graph.variable("scale", np.ones((), F))
    y = ops.mul(x, scale)
    chosen = ops.take_rows(y, ops.reshape(negative_indices(x), shape=[-1]))
    weights = ops.range(
        F(0), ops.cast(ops.reshape(ops.shape(chosen), shape=[]), dtype="float32"), F(1)
    )
    loss = ops.sum(ops.mul(chosen, weights))
    graph.outputs(loss=loss, gradient=graph.gradient(loss, [scale])[0])
    session = tenon.Session(graph, training=True)
    for x in [*ARRAYS, *ARRAYS]:
        want = (x[x < 0] * np.arange((x < 0).sum())).sum()
        out = session.run({"x": x})
        assert np.allclose(out["loss"], want) and np.allclose(out["gradient"], want)


@pytest.mark.parametrize("kind", ["if", "branch", "loop"])
def test_in_subgraph(kind):
    def masked(x):
        found = negative_indices(x)
        count = ops.slice(ops.shape(found), begin=[0], end=[1])
        return ops.scatter_nd(x, found, ops.broadcast_to(F(7), count))

    graph = tenon.Graph()
    x = graph.input("x", "float32", (None,))
    if kind == "loop":
        text = graph_text(
            lambda run, condition, v: {"go": condition, "next": ops.sub(masked(v), F(1))},
            run=("int64", ()),
            condition=("bool", ()),
            v=("float32", (None,)),
        )
        y = ops.loop(I(2), np.array(True), x, body=text, carries=1, outputs=1)
    else:
        texts = [
            graph_text(lambda x, f=f: {"y": f(x)}, x=("float32", (None,)))
            for f in (masked, ops.neg)
        ]
        y = getattr(ops, kind + "_" if kind == "if" else kind)(
            ops.greater(ops.sum(x), F(0)), x, then=texts[0], **{"else": texts[1]}, outputs=1
        )
    graph.outputs(y=y)
    session = tenon.Session(graph)
    for x in [*ARRAYS, *ARRAYS]:
        want = np.where(x < 0, F(7), x)
        if kind == "loop":
            want = np.where(want - 1 < 0, F(7), want - 1) - 1
        elif not x.sum() > 0:
            want = -x
        assert np.array_equal(session.run({"x": x})["y"], want), x


@pytest.mark.parametrize("between", [lambda x: x, ops.neg])
def test_who_needs_another_size_is_named(between):
    graph = tenon.Graph()
    graph.outputs(
        y=ops.squeeze(between(ops.nonzero(graph.input("v", "bool", (None,)))), axis=[0], name="one")
    )
    assert graph(v=np.array([False, True])).y.shape == (1,)
    with pytest.raises(tenon.ExecutionError, match=r"\[squeeze\] node 'one' needs \[1, 1\]"):
        graph(v=np.array([True, True, True]))
