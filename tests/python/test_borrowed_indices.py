"""Sparse tensors whose caller overwrites its index arrays: tensors copy them, since kernels use
indices unchecked.
"""

import numpy as np
import pytest
import tenon
from scipy import sparse
from tenon import ops

CSR = """
    import numpy as np, scipy.sparse as sp, tenon
    from tenon import ops
    data, columns, starts = np.array([1.0, 2, 3]), np.array([0, 1, 0]), np.array([0, 2, 3])
    right = np.array([[1.0, 2], [3, 4]])
"""
WAYS = {
    "parts": "t = tenon.csr(data, columns, starts, (2, 2))",
    "tensors": (
        "t = tenon.csr(tenon.tensor(data), tenon.tensor(columns), tenon.tensor(starts), (2, 2))"
    ),
    "DLPack": """
    class Through:
        def __init__(self, array): self.array = array
        def __dlpack__(self, **options): return self.array.__dlpack__(**options)
        def __dlpack_device__(self): return self.array.__dlpack_device__()
    t = tenon.csr(Through(data), Through(columns), Through(starts), (2, 2))""",
    "scipy": """
    m = sp.csr_matrix((data, columns, starts), (2, 2))
    m.indices, m.indptr = columns, starts
    t = tenon.csr(m)""",
    "int32": """
    columns, starts = columns.astype("int32"), starts.astype("int32")
    t = tenon.csr(sp.csr_matrix((data, columns, starts), (2, 2)))""",
    "its own columns": """
    t = tenon.csr(data, columns, starts, (2, 2))
    try:
        t.columns.numpy()[:] = 10**9
        t.row_starts.numpy()[:] = 10**9
    except ValueError:  # read-only
        pass""",
    "a view that is read-only": """
    shown, first = columns.view(), starts.view()
    shown.flags.writeable = first.flags.writeable = False
    t = tenon.csr(data, shown, first, (2, 2))""",
    "what scipy got of it": """
    t = tenon.csr(data, columns.copy(), starts.copy(), (2, 2))
    m = t.to_scipy()
    columns, starts = m.indices, m.indptr""",
}


@pytest.mark.parametrize("way", WAYS)
def test_csr(python, way):
    out = python(
        CSR
        + "    "
        + WAYS[way].strip()
        + """
    for bad in 10**9, -(10**9), 2:
        columns[:] = bad
        starts[:] = bad
        print(ops.matmul(t, right).numpy().tolist())
        print(ops.matmul(t, right, transpose_a=True).numpy().tolist())
        print(t.to_dense().numpy().tolist(), t.to_scipy().toarray().tolist())
        print(ops.sum(t, axis=[0]).numpy().tolist(), ops.mul(t, 2.0).to_dense().numpy().tolist())
    """
    )
    dense, right = np.array([[1.0, 2], [3, 0]]), np.array([[1.0, 2], [3, 4]])
    expected = [(dense @ right), (dense.T @ right)]
    assert out.splitlines() == 3 * [
        *(str(each.tolist()) for each in expected),
        f"{dense.tolist()} {dense.tolist()}",
        f"{dense.sum(axis=0).tolist()} {(2 * dense).tolist()}",
    ]


def test_row_sparse(python):
    out = python(
        """
    import numpy as np, tenon
    from tenon import ops
    rows = np.array([1, 3])
    t = tenon.row_sparse(np.array([[1.0, 2], [3, 4]]), rows, (4, 2))
    for bad in 10**9, -1, 4:
        rows[:] = bad
        print(t.to_dense().numpy().tolist(), ops.mul(t, 2.0).to_dense().numpy().sum())
    """
    )
    assert out.splitlines() == 3 * ["[[0.0, 0.0], [1.0, 2.0], [0.0, 0.0], [3.0, 4.0]] 20.0"]


def test_sessions_keep_their_own(python):
    out = python(
        CSR
        + """
    graph = tenon.Graph()
    k = graph.constant(tenon.csr(data, columns, starts, (2, 2)))
    graph.outputs(y=ops.matmul(k, graph.input("x", "float64", (2, 2))), k=k)
    session = graph.session()
    columns[:] = 10**9
    first = session.run({"x": right})
    again = first["k"]
    again = again.to_scipy() if isinstance(again, tenon.Tensor) else again
    again.indices[:] = 10**9
    again.indptr[:] = 10**9
    print(np.array_equal(first["y"], session.run({"x": right})["y"]), first["y"].tolist())
    """
    )
    assert out.strip() == "True [[7.0, 10.0], [3.0, 6.0]]"


def test_values_are_shared_and_indices_are_not():
    data, columns, starts = np.array([1.0, 2, 3]), np.array([0, 1, 0]), np.array([0, 2, 3])
    t = tenon.csr(data, columns, starts, (2, 2))
    data[0] = 9
    assert t.to_dense().numpy()[0, 0] == 9 and not t.read_only
    assert t.columns.read_only and t.row_starts.read_only and not t.values.read_only
    shared = tenon.csr(t.values, t.columns, t.row_starts, (2, 2))
    assert (
        shared.columns.numpy().ctypes.data == t.columns.numpy().ctypes.data
    )  # already read-only copies
    matrix = t.to_scipy()
    matrix.data[1] = 0
    matrix.eliminate_zeros()  # overwrites all three arrays
    assert matrix.nnz == 2 and t.stored == 3
    assert isinstance(ops.mul(sparse.csr_matrix(np.eye(2)), 2.0), sparse.csr_matrix)
