"""The scipy side of the test: `write FOLDER` writes matrices for Tenon, `check FOLDER` reads what
Tenon wrote.

Matrix NAME has its dense form in NAME.dense.npy. Exits 77 without scipy.
"""

import pathlib
import sys

try:
    import numpy
    import scipy.sparse
except ImportError:
    sys.exit(77)


def matrices():
    random = numpy.random.RandomState(5)
    for dtype in ["bool", "uint8", "int8", "int32", "int64", "float32", "float64"]:
        for rows, columns, share in [
            (1, 1, 1.0),
            (0, 3, 0),
            (3, 0, 0),
            (7, 5, 0.3),
            (40, 30, 0.02),
            (6, 8, 1.0),
        ]:
            dense = (random.rand(rows, columns) < share) * random.randint(1, 10, (rows, columns))
            yield f"{dtype}_{rows}_{columns}", dense.astype(dtype)


def write(folder):
    for name, dense in matrices():
        matrix = scipy.sparse.csr_matrix(dense)
        scipy.sparse.save_npz(folder / f"{name}.npz", matrix, compressed=len(name) % 2 == 0)
        numpy.save(folder / f"{name}.dense.npy", dense)
    # Unsorted columns, and a duplicate entry, which scipy sums.
    unsorted = scipy.sparse.csr_matrix(([1.0, 2, 3, 4], [2, 0, 2, 1], [0, 3, 3, 4]), shape=(3, 4))
    scipy.sparse.save_npz(folder / "unsorted.npz", unsorted)
    numpy.save(folder / "unsorted.dense.npy", unsorted.toarray())


def check(folder):
    for name, dense in matrices():
        matrix = scipy.sparse.load_npz(folder / f"{name}.npz")
        assert (
            matrix.format == "csr" and matrix.shape == dense.shape and matrix.dtype == dense.dtype
        ), name
        matrix.check_format(full_check=True)
        assert (matrix.toarray() == dense).all() and matrix.nnz == numpy.count_nonzero(dense), name


{"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
