"""The benchmark cases: one function each, written against the API that quadrants and its peers share.

A case function receives the imported package (`qd`), already initialised on the CPU, and returns a `Work`. Cases of
kind "steady" stay alive and are sampled many times; cases of kind "fresh" are sampled once a process, so that nothing
compiled before can help; cases of kind "import" time the import statement itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

_MODULES = ("launch", "imports", "cold", "bandwidth", "nbody", "mpm")


@dataclass(frozen=True)
class Work:
    """What one case does.

    `run(n)` performs the unit of work n times and returns when all of it is done, device work included.
    `check()` returns None if the numbers are right, else a sentence that says what is wrong; it is called once, after
    the first run and outside any timing.
    """

    run: Callable[[int], None]
    check: Callable[[], str | None]


@dataclass(frozen=True)
class Case:
    """A named case. `target` is the largest allowed ratio of our median time to the reference's."""

    name: str
    title: str
    kind: str
    unit: str
    target: float
    rounds: int
    batch_seconds: float
    limit_seconds: float | None
    throughput: bool
    build: Callable[[object], Work]


_REGISTRY: dict[str, Case] = {}
_SCALE = {"us": 1e6, "ms": 1e3, "s": 1.0}


def scale(unit: str) -> float:
    """Seconds to `unit` ("us", "ms" or "s")."""
    return _SCALE[unit]


def case(
    name: str,
    title: str,
    *,
    kind: str = "steady",
    unit: str = "ms",
    target: float = 1.0,
    rounds: int = 7,
    batch_seconds: float = 0.02,
    limit_seconds: float | None = None,
    throughput: bool = False,
) -> Callable[[Callable[[object], Work]], Callable[[object], Work]]:
    """Register the decorated function as a case."""
    if kind not in ("steady", "fresh", "import"):
        raise ValueError(f"case {name}: kind must be 'steady', 'fresh' or 'import', not {kind!r}")

    def register(build: Callable[[object], Work]) -> Callable[[object], Work]:
        if name in _REGISTRY:
            raise ValueError(f"two benchmark cases are named {name}")
        _REGISTRY[name] = Case(name, title, kind, unit, target, rounds, batch_seconds, limit_seconds, throughput, build)
        return build

    return register


def all_cases() -> dict[str, Case]:
    """Every case by name, in the order of the report."""
    for module in _MODULES:
        importlib.import_module(f"cases.{module}")
    order = {f"cases.{module}": k for k, module in enumerate(_MODULES)}
    return dict(sorted(_REGISTRY.items(), key=lambda item: order[item[1].build.__module__]))


def differs(name: str, got, want, *, rtol: float = 1e-5, atol: float = 1e-6) -> str | None:
    """None if two arrays agree, else a sentence with the largest difference. Both are anything `np.asarray` takes."""
    import numpy as np

    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"{name}: shape {got.shape}, expected {want.shape}"
    if np.allclose(got, want, rtol=rtol, atol=atol):
        return None
    worst = float(np.max(np.abs(got.astype(np.float64) - want.astype(np.float64))))
    return f"{name}: largest difference {worst:.3g} (rtol {rtol:g}, atol {atol:g})"
