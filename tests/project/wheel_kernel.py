"""What a wheel is tried with where it was built: a kernel is compiled, run and checked, from an installed package."""

import numpy as np

import quadrants as qd

qd.init(arch=qd.cpu, default_fp=qd.f64, offline_cache=False)
field = qd.field(qd.f64, shape=1000)


@qd.kernel
def fill(scale: qd.f64) -> qd.f64:
    total = 0.0
    for i in field:
        field[i] = qd.sin(i * scale)
        total += field[i]
    return total


total = fill(0.25)
expected = np.sin(np.arange(1000) * 0.25)
assert np.allclose(field.to_numpy(), expected) and np.isclose(total, expected.sum())
print(f"a kernel ran on {qd.cfg.arch.name}")
