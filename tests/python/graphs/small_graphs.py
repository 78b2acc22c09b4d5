"""A graph with one input, for tests."""

import numpy as np
import tenon

X = np.arange(12, dtype="float32").reshape(3, 4)


def graph_of(shape=(3, 4), dtype="float32"):
    graph = tenon.Graph()
    return graph, graph.input("x", dtype, shape)
