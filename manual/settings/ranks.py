import numpy as np

import quadrants as qd
from quadrants import distributed as qdist

world = qdist.init(arch=qd.cpu)
grid = qdist.Grid((64, 64), halo=1)
u = grid.field(qd.f32)
u.from_numpy(np.ones(grid.local))
p = qdist.Particles(grid, 100, spacing=1 / 64, x=qd.types.vector(2, qd.f64), mass=qd.f32)
qdist.save("checkpoint", grid, {"u": u}, step=100)
EXAMPLE
