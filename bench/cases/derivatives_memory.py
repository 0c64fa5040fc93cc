"""How much memory a derivative takes for the values that loops carry, as `QD_DEBUG_ADSTACK=1` tells."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import os
import re
import tempfile

import numpy as np

from . import Work, case

CELLS, PASSING = 604_000, 47_000
BODIES = 8

_LINE = re.compile(r"^\[adstack_heap\].*\bkind=([FI])\b.*\brequired_bytes=(\d+)", re.MULTILINE)


def _printed(action) -> str:
    """What `action()` makes the process write to stderr, whoever writes it."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            action()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        text = file.read().decode(errors="replace")
    os.write(2, text.encode())
    return text


def heap_bytes(text: str) -> int:
    """The size of the heaps after the launches whose lines `text` holds. Raises ValueError if there are none."""
    peak: dict = {}
    for kind, amount in _LINE.findall(text):
        peak[kind] = max(peak.get(kind, 0), int(amount))
    if not peak:
        raise ValueError("no [adstack_heap] line was printed")
    return sum(peak.values())


def _slide(v, normal):
    """`v`, float64, after a body. Not what a solid does, but a loop that saves a vector and that every package
    differentiates rightly.
    """
    return v - np.sin(v) * normal


class Grid:
    """The grid operation of an MPM simulation: cells that hold matter, and bodies that they slide along."""

    def __init__(self, qd, cells: int) -> None:
        self.qd = qd
        mass = qd.field(qd.f32, shape=cells)
        momentum = qd.Vector.field(3, qd.f32, shape=cells, needs_grad=True)
        out = qd.Vector.field(3, qd.f32, shape=cells, needs_grad=True)
        normal = qd.Vector.field(3, qd.f32, shape=BODIES)
        bodies = qd.field(qd.i32, shape=())

        @qd.kernel
        def operate():
            for i in mass:
                if mass[i] > 1e-10:
                    v = momentum[i] / mass[i]
                    for k in range(bodies[None]):
                        v = v - qd.sin(v) * normal[k]
                    out[i] = v

        rng = np.random.default_rng(3)
        held = np.zeros(cells, bool)
        held[rng.choice(cells, cells * PASSING // CELLS, replace=False)] = True
        self.held, self.m = held, np.where(held, rng.uniform(0.5, 1.5, cells), 0.0).astype(np.float32)
        self.p = (rng.normal(0, 1, (cells, 3)) * self.m[:, None]).astype(np.float32)
        normals = rng.normal(0, 1, (BODIES, 3))
        self.normals = (normals / np.linalg.norm(normals, axis=1, keepdims=True)).astype(np.float32)
        self.weights = rng.uniform(0.5, 1.5, (cells, 3)).astype(np.float32)
        mass.from_numpy(self.m)
        momentum.from_numpy(self.p)
        normal.from_numpy(self.normals)
        bodies[None] = BODIES
        out.grad.from_numpy(self.weights)
        self.kernel, self.momentum = operate, momentum

    def back(self) -> None:
        self.kernel.grad()
        self.qd.sync()

    def check(self) -> str | None:
        """The derivative along one direction, against differences in float64."""
        p, m = self.p[self.held].astype(np.float64), self.m[self.held, None].astype(np.float64)
        direction = np.random.default_rng(4).normal(0, 1, p.shape)

        def loss(p) -> float:
            v = p / m
            for normal in self.normals.astype(np.float64):
                v = _slide(v, normal)
            return float((v * self.weights[self.held]).sum())

        want = (loss(p + 1e-6 * direction) - loss(p - 1e-6 * direction)) / 2e-6
        got = float((self.momentum.grad.to_numpy()[self.held] * direction).sum())
        return None if abs(got - want) <= 1e-2 * abs(want) + 1e-2 else f"derivative {got:.6g}, expected {want:.6g}"


CASE = {
    "kind": "figure", "unit": "MB", "rounds": 1, "modules": ("quadrants",),
    "environment": {"QD_DEBUG_ADSTACK": "1"},
    "options": {"ad_stack_experimental_enabled": True, "ad_stack_sparse_threshold_bytes": 0},
}  # fmt: skip


@case("ad_memory", "stacks of a grid operation, 604,000 cells, 47,000 with matter", target=1.0, size=CELLS, **CASE)
@case(
    "gpu_ad_memory", "stacks of a grid operation, 604,000 cells, 47,000 with matter", rows="gpu", target=1.0,
    size=CELLS, tiny=2000, **CASE,
)  # fmt: skip
def memory(qd, cells: int) -> Work:
    grid = Grid(qd, cells)
    return Work(lambda n: grid.back(), grid.check, difference=lambda n: float(heap_bytes(_printed(grid.back))))
