"""Writes numpy_stored.npz and numpy_compressed.npz: what numpy.savez and numpy.savez_compressed
make of a few arrays.
"""

import numpy

arrays = {
    "plain": numpy.arange(6, dtype="<f4").reshape(2, 3),
    "fortran": numpy.asfortranarray(numpy.arange(6, dtype="<i8").reshape(2, 3)),
    "big": numpy.arange(6, dtype=">i4").reshape(2, 3),
    "mask": numpy.arange(6) % 2 == 1,
    "scalar": numpy.array(2.5, dtype="<f2"),
    "nothing": numpy.zeros((0, 4), dtype="u1"),
    "many": numpy.full(5000, -3, dtype="i1"),
    "größe/tief": numpy.array([1.5]),
}
numpy.savez("numpy_stored.npz", **arrays)
numpy.savez_compressed("numpy_compressed.npz", **arrays)
