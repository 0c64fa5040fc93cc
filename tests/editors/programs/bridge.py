"""Data from and to NumPy and torch, trees of fields, the options and the profiler."""

import numpy as np

import quadrants as qd

qd.init(arch=qd.cpu, debug=False, random_seed=3, kernel_profiler=True, offline_cache=True)
qd.set_logging_level(qd.WARN)

image = qd.field(dtype=qd.f32)
sparse = qd.field(qd.i32)
block = qd.root.dense(qd.ij, (4, 4))
block.dense(qd.ij, 2).place(image)
qd.root.dense(qd.i, 8).dense(qd.i, 4).place(sparse)


@qd.kernel
def paint(a: qd.types.ndarray(), scale: qd.f64) -> (qd.f32, qd.i32):
    for i, j in image:
        image[i, j] = a[i, j] * scale
    for i in range(3):
        sparse[i * 5] = i
    return image[0, 0], sparse[5]


a = np.arange(64, dtype=np.float32).reshape(8, 8)
first, second = paint(a, 2.0)
image.from_numpy(image.to_numpy() + a)
moments = {"mean": image.to_numpy().mean(), "first": first, "second": second}
try:
    from torch import Tensor
except ImportError:
    print("no torch")
else:
    tensor: Tensor = image.to_torch()
    image.from_torch(tensor * 2)
    paint(tensor.contiguous(), 1.0)
qd.profiler.print_kernel_profiler_info()
assert image.shape == (8, 8)
print(moments, image[0, 1], image.dtype, qd.cfg.arch, qd.__version__)
qd.reset()
