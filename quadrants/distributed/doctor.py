"""What the ranks of a launch are, and how long messages take: `mpiexec -n 4 python -m quadrants.distributed doctor`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import quadrants as qd
from quadrants import launched
from quadrants.distributed import startup
from quadrants.distributed.world import World

_SMALL, _LARGE = 8, 1 << 22  # bytes
_ROUNDS, _LARGE_ROUNDS = 200, 10


def run() -> None:
    """Print a line a rank, and what an exchange with the next rank takes."""
    world = startup.init(arch=qd.cpu)
    launch = launched.found()
    cfg = qd.cfg
    assert cfg is not None
    mine = {
        "host": world.host,
        "local": f"{world.local_rank} of {world.local_size}",
        "threads": cfg.cpu_max_num_threads,
        **_measured(world),
    }
    found = world.gather(mine)
    if found is None:
        return
    launcher = "no launcher" if launch is None else launch.launcher
    print(f"{world.size} rank{'s' * (world.size > 1)}, started by {launcher}, engine {world.engine.name}")
    for rank, row in enumerate(found):
        print(f"rank {rank}: " + ", ".join(_shown(name, value) for name, value in row.items()))
    if world.size == 1:
        print("One rank exchanges nothing. With an MPI: mpiexec -n 2 python -m quadrants.distributed doctor")


def _shown(name: str, value: Any) -> str:
    if name == "latency":
        return f"exchange of {_SMALL} B {value * 1e6:.1f} us"
    if name == "bandwidth":
        return f"of {_LARGE >> 20} MiB {value / 1e9:.2f} GB/s a direction"
    if name == "allreduce":
        return f"sum of a number {value * 1e6:.1f} us"
    return f"{name} {value}"


def _measured(world: World) -> dict[str, float]:
    """Seconds of a ring exchange of few bytes, bytes a second of one of many, seconds of a sum; medians."""
    if world.size == 1:
        return {}
    number, small, large = np.zeros(1), _pair(_SMALL), _pair(_LARGE)
    return {
        "latency": _median(lambda: _ring(world, small), _ROUNDS),
        "bandwidth": _LARGE / _median(lambda: _ring(world, large), _LARGE_ROUNDS),
        "allreduce": _median(lambda: world.engine.allreduce(number, "sum"), _ROUNDS),
    }


def _pair(nbytes: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.zeros(nbytes, np.uint8), np.zeros(nbytes, np.uint8)


def _ring(world: World, pair: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> None:
    """To the next rank, from the one before."""
    send, recv = pair
    world.engine.exchange([((world.rank + 1) % world.size, send, None), ((world.rank - 1) % world.size, None, recv)])


def _median(call: Any, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)[rounds // 2]
