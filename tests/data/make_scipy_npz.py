"""Writes scipy_csr.npz: what scipy.sparse.save_npz makes of a small matrix."""

import numpy
import scipy.sparse

dense = numpy.array(
    [[0, 1.5, 0, 0, -2], [0, 0, 0, 0, 0], [3, 0, 0, 4, 0], [0, 0, 0.5, 0, 0]], dtype="<f4"
)
scipy.sparse.save_npz("scipy_csr.npz", scipy.sparse.csr_matrix(dense))
