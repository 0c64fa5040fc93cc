import numpy as np

import quadrants as qd

qd.init(arch=qd.cpu)


@qd.kernel
def assemble(K: qd.types.sparse_matrix_builder()):
    for i in range(100):
        K[i, i] += 2.0


@qd.kernel
def apply_laplacian(x: qd.template(), Ax: qd.template()):
    for i in x:
        Ax[i] = 2.0 * x[i]


K = qd.linalg.SparseMatrixBuilder(100, 100, max_num_triplets=300)
assemble(K)
b = np.ones(100, np.float32)
EXAMPLE
