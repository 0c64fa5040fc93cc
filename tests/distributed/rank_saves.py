"""Saves a field of the number of the step, again and again, until a rank is killed; or loads what is there.

`rank_saves.py save`, `rank_saves.py load`
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading

import quadrants as qd
from quadrants import distributed as qdist

world = qdist.init(arch=qd.cpu)
grid = qdist.Grid((40, 30))
u = grid.field(qd.i32)
if sys.argv[1] == "load":
    step = qdist.load("killed", grid, {"u": u})
    whole = grid.gather(u)
    assert whole is None or (whole == step).all()
    print(f"loaded {step}" if world.rank == 0 else "")
    sys.exit(0)
step = 0
while True:
    step += 1
    u.fill(step)
    qdist.save("killed", grid, {"u": u}, step=step)
    if step == 1 and world.rank == world.size - 1:
        print("saving", flush=True)
        moment = random.Random(world.size).uniform(0.05, 0.4)
        threading.Timer(moment, os.kill, (os.getpid(), signal.SIGKILL)).start()
