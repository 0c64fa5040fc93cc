"""What the rungs share: a session of Genesis, short ways to build scenes, the record of what they show."""

from __future__ import annotations

import os
import resource
import sys
import time

STARTED = time.perf_counter()

import genesis as gs  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

IMPORTED = time.perf_counter()


def cpu_seconds() -> float:
    """Processor time of this process and the compilers it waited for; unlike wall time it is fair on busy machines."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


M, OPT, MAT, S = gs.morphs, gs.options, gs.materials, gs.sensors


class Record:
    """What one rung showed and how long its parts took, ready to become JSON."""

    def __init__(self) -> None:
        self.values: dict[str, list] = {}
        self.seconds: dict[str, float] = {"import": IMPORTED - STARTED}
        self.cpu: dict[str, float] = {"import": cpu_seconds()}
        self.rates: dict[str, float] = {}

    def show(self, **values) -> None:
        for name, value in values.items():
            value = value.detach().cpu() if hasattr(value, "detach") else value
            self.values[name] = np.asarray(value, dtype=np.float64).tolist()

    def cloud(self, points) -> None:
        """The size, mean and bounds of particles, shape (..., n, 3)."""
        self.show(n=points.shape, mean=points.mean(-2), low=points.amin(-2), high=points.amax(-2))

    def as_dict(self) -> dict:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        return {"values": self.values, "seconds": self.seconds, "cpu": self.cpu, "rates": self.rates, "peak_gb": peak}


record = Record()
show, cloud = record.show, record.cloud


def backend():
    return getattr(gs, os.environ.get("ARCH", "cpu"))


def init() -> None:
    """`gs.init` with what the environment asks for: ARCH is `cpu` or `cuda`, P the precision, PERF=1 fields, DEBUG=1
    debug mode."""
    started = time.perf_counter()
    gs.init(
        backend=backend(), precision=os.environ.get("P", "32"), seed=0, logging_level="error",
        performance_mode=os.environ.get("PERF") == "1", debug=os.environ.get("DEBUG") == "1",
    )  # fmt: skip
    record.seconds["init"] = time.perf_counter() - started


def world(plane: bool = True, **options):
    scene = gs.Scene(show_viewer=False, **options)
    if plane:
        scene.add_entity(M.Plane())
    return scene


def steps(scene, n: int) -> None:
    for _ in range(n):
        scene.step()


def go(scene, n: int, after=None, **build) -> None:
    """Build, one step, the hook, and n - 1 timed steps."""
    cpu = cpu_seconds()
    a = time.perf_counter()
    scene.build(**build)
    b = time.perf_counter()
    scene.step()
    c = time.perf_counter()
    record.cpu["build and first step"] = cpu_seconds() - cpu
    if after is not None:
        after()
    busy = cpu_seconds()
    d = time.perf_counter()
    steps(scene, n - 1)
    if torch.cuda.is_initialized():  # steps on a GPU are under way when they return
        torch.cuda.synchronize()
    e = time.perf_counter()
    record.seconds.update(build=b - a, first=c - b)
    if n > 1:
        record.rates["steps"] = (n - 1) / (e - d)
        record.rates["steps of processor time"] = (n - 1) / max(cpu_seconds() - busy, 1e-3)
    print(f"build {b - a:.1f} s, first step {c - b:.1f} s, {n - 1} steps in {e - d:.2f} s", file=sys.stderr)


def box(scene, pos, size: float = 0.2, **options):
    return scene.add_entity(M.Box(size=(size, size, size), pos=pos), **options)


def franka(scene):
    return scene.add_entity(M.MJCF(file="xml/franka_emika_panda/panda.xml"))


def tensor(values):
    return torch.tensor(values, device=gs.device)
