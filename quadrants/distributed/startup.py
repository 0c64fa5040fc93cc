"""`qdist.init`: the engine, and what of this process depends on its rank."""

from __future__ import annotations

import os
import socket
from typing import Any

import numpy as np

import quadrants as qd
from quadrants import _logging, launched, session
from quadrants import arch as _arch
from quadrants._ext import core
from quadrants.backends import memory
from quadrants.config import OPTIONS, environment, hardware_threads
from quadrants.distributed import current, engines, failures
from quadrants.distributed.engines import devices
from quadrants.distributed.engines.carrier import Carrier
from quadrants.distributed.engines.interface import Asked, Engine
from quadrants.distributed.world import World
from quadrants.errors import QuadrantsRuntimeError

_DLPACK_CUDA = 2
_engine: tuple[str, Engine] | None = None


def init(arch: Any = None, *, engine: str | None = None, timeout: float = 60.0, **options: Any) -> World:
    """Find the other ranks of this program, and start a runtime on each as `qd.init` does.

    Which launcher started the program is read from the environment. Without one there is one rank, and the same
    program runs alone.

        world = qdist.init(arch=qd.cpu, random_seed=1)

    arch, options: those of `qd.init`, and the same on all ranks. Unless they are given, the number of threads is what
    this host has for each of its ranks, and the device is that of `local_rank`. random_seed: rank r gets a seed that
    follows from it and r. engine: "single", "mpi4py", "torch", or one of `register_engine`; None chooses by the
    launcher, and NCCL for the arrays of GPUs where each rank has one and CuPy, or under torchrun torch's; "nccl"
    insists on it. timeout: seconds after which an engine that watches its ranks gives one up that does not answer.

    From the first call on, where there are several ranks, an exception that nobody catches and `sys.exit` with a code
    end all of them. QuadrantsRuntimeError if the engine's package is missing, ValueError for an unknown engine.
    """
    found = _connected(None if engine == "nccl" else engine, timeout)
    threads = _threads(found)
    if threads is not None:
        options.setdefault("cpu_max_num_threads", threads)
    options.update(_device(found, arch, options))
    qd.init(arch=arch, **options)
    seed = int(session.get_runtime().options.random_seed)
    if not session.is_python_backend():
        core.set_seed(seed_of(seed, found.rank))
    carrier, why = (found, "") if engine not in (None, "nccl") else devices.on_device(found, _cuda_device(), timeout)
    if engine == "nccl" and why:
        raise QuadrantsRuntimeError(f"engine='nccl': {why}. Leave `engine` out, and arrays go through the host.")
    world = World(carrier, seed)
    current.set_world(world)
    if found.rank == 0 and found.size > 1:
        _announce(found, carrier, why)
    return world


def seed_of(seed: int, rank: int) -> int:
    """The seed of a rank: fixed for a seed and a rank, and another one for each."""
    return int(np.random.SeedSequence(seed, spawn_key=(rank,)).generate_state(1)[0])


def _cuda_device() -> int | None:
    """The number of the device of this runtime, None where it is none of CUDA."""
    kind, ordinal = (None, 0) if session.is_python_backend() else memory.dlpack_device() or (None, 0)
    return ordinal if kind == _DLPACK_CUDA else None


def _announce(found: Engine, carrier: Engine, why: str) -> None:
    beside = f" ({carrier.package}), control {found.name}" if isinstance(carrier, Carrier) else ""
    _logging.announce(f"[Quadrants] {found.size} ranks: {carrier.name}{beside}")
    if current.on_device() and carrier is found:
        _logging.warn(f"exchanges go through the memory of the host: kernels pack them. {why}".rstrip())


def _connected(name: str | None, timeout: float) -> Engine:
    """The engine, which is started once a process: MPI cannot be started twice."""
    global _engine
    launch = launched.found()
    wanted = name or engines.chosen(launch)
    if _engine is not None:
        if name is not None and name != _engine[0]:
            raise QuadrantsRuntimeError(
                f"This process is connected by engine {_engine[0]!r} already; it keeps it until it ends."
            )
        return _engine[1]
    found = engines.start(wanted, Asked(launch, timeout))
    _engine = wanted, found
    if found.size > 1:
        failures.watch(found)
    return found


def _threads(engine: Engine) -> int | None:
    """Threads of the CPU for this rank: its share of the processors that it may run on. None leaves it to `qd.init`."""
    if environment(OPTIONS["cpu_max_num_threads"])[0] is not None:
        return None
    mine = (socket.gethostname(), tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ())
    share = max(1, hardware_threads() // engine.allgather(mine).count(mine))
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(share, int(limit)) if limit.isdigit() and int(limit) > 0 else share


def _device(engine: Engine, arch: Any, options: dict[str, Any]) -> dict[str, int]:
    """Which GPU this rank takes, where nobody named one: they are dealt out on each host."""
    if engine.size == 1 or "device" in options or environment(OPTIONS["device"])[0] is not None:
        return {}
    wanted = arch if isinstance(arch, (list, tuple)) else [arch]
    chosen = next((a for a in wanted if _arch.is_arch_supported(a, bool(options.get("emulate")))), None)
    vendor = {"cuda": "cuda", "amdgpu": "hip"}.get(getattr(chosen, "name", ""), "")
    visible = core.device_count(vendor) if vendor and not options.get("emulate") else 0
    return {"device": engine.local_rank % visible} if visible else {}
