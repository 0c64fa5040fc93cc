"""The benchmark cases: functions written against the API that quadrants and its peers share.

A case function receives the imported package (`qd`), already initialised, and the size of its problem where it has one;
it returns a `Work`. One function may serve a row of the CPU table and a row of the GPU table. Kinds of case:

- "steady": the process stays alive and is sampled many times;
- "fresh": sampled once a process with nothing cached, so that nothing compiled before can help;
- "warm": as "fresh", but a process before it has filled the disk cache;
- "import", "init": the time of the import statement and of `qd.init`, once a process;
- "figure": what `Work.difference` returns is no time: bytes, lines. Once a process.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace

_MODULES = (
    "launch",
    "launch_members",
    "launch_torch",
    "graphs",
    "imports",
    "bandwidth",
    "stencils",
    "views",
    "nbody",
    "mpm",
    "cold",
    "startup",
    "derivatives",
    "derivatives_mpm",
    "derivatives_memory",
    "derivatives_text",
)
KINDS = ("steady", "fresh", "warm", "import", "init", "figure")


@dataclass(frozen=True)
class Work:
    """What one case does.

    `run(n)` performs the unit of work n times and returns when all of it is done, device work included.
    `check()` returns None if the numbers are right, else a sentence that says what is wrong; it is called once, after
    the first run and outside any timing.
    `reset()`, if there is one, is called before each timed batch, so that all packages start from the same state.
    `difference(n)`, if there is one, does what `run(n)` does and returns the seconds of a unit by itself: for cases
    that subtract one time from another. In unit "x" it returns one time divided by another, and in a case of kind
    "figure" what the unit says.
    `result()`, if there is one, gives a few numbers that must be the same for all packages, to a relative 1e-3; it is
    called after `check`.
    """

    run: Callable[[int], None]
    check: Callable[[], str | None]
    reset: Callable[[], None] | None = None
    difference: Callable[[int], float] | None = None
    result: Callable[[], list[float]] | None = None


@dataclass(frozen=True)
class Ceiling:
    """What the hardware gives on work like that of a case, in a CUDA kernel written by hand or a copy by the driver.

    `build(cupy, size)` returns the `Work`, `amount(size)` the bytes, cells, ... of one unit of it. `at_least` is the
    smallest allowed share of this rate for our package, or None where the rate is there to compare with.
    """

    name: str
    build: Callable[[object, int], Work]
    amount: Callable[[int], float]
    at_least: float | None = None


@dataclass(frozen=True)
class Case:
    """A named case of one table ("cpu" or "gpu").

    `target` is the largest allowed ratio of our median time to the reference's, or None. `amount(size)` is the bytes,
    cells, ... of one unit of work where the case reports a rate; `unit` is then a unit of rate. `needs` is a package
    that the case uses beside ours; it is left out where that is not installed. `options` are further keywords of
    `qd.init`, `environment` further variables. `modules`: the packages that can do it, by import name; empty for all.
    `ours_only`: there is nothing to compare with.
    """

    name: str
    title: str
    rows: str
    kind: str
    unit: str
    target: float | None
    rounds: int
    batch_seconds: float
    limit_seconds: float | None
    throughput: bool
    size: int | None
    tiny: int | None
    amount: Callable[[int], float] | None
    ceilings: tuple[Ceiling, ...]
    needs: str | None
    options: dict
    environment: dict
    modules: tuple[str, ...]
    ours_only: bool
    build: Callable[..., Work]

    def suits(self, module: str, ours: bool) -> bool:
        """Whether a package, known by its import name, is measured."""
        return ours or not self.ours_only and (not self.modules or module in self.modules)

    def make_tiny(self) -> Case:
        """The same program on the smallest problem of use: to see that it runs, so nothing is required."""
        return replace(
            self,
            title=self.title if self.tiny is None else f"{self.title} [{self.tiny}]",
            size=self.tiny,
            batch_seconds=min(self.batch_seconds, 0.005),
            target=None,
            limit_seconds=None,
            ceilings=tuple(replace(ceiling, at_least=None) for ceiling in self.ceilings),
        )

    def work(self, package: object, ceiling: str | None = None) -> Work:
        """Build the case, or one of its ceilings, in an imported package."""
        if ceiling is not None:
            return next(c for c in self.ceilings if c.name == ceiling).build(package, self.size)
        return self.build(package) if self.size is None else self.build(package, self.size)


_REGISTRY: dict[str, Case] = {}
# "x" is for quotients of two times, "MB" and "lines" are for figures: they stand where seconds do.
_TIMES = {"x": 1.0, "ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0, "MB": 1e-6, "lines": 1.0}
_RATES = {"GB/s": 1e-9, "Giter/s": 1e-9, "Gcell/s": 1e-9, "Gpair/s": 1e-9, "Mparticle/s": 1e-6}


def shown(unit: str, seconds: float, amount: float | None) -> float:
    """What a table says of `seconds` for one unit of work: a time, or `amount` over it in a unit of rate."""
    return seconds * _TIMES[unit] if amount is None else amount / seconds * _RATES[unit]


def case(
    name: str,
    title: str,
    *,
    rows: str = "cpu",
    kind: str = "steady",
    unit: str = "ms",
    target: float | None = 1.0,
    rounds: int = 7,
    batch_seconds: float = 0.02,
    limit_seconds: float | None = None,
    throughput: bool = False,
    size: int | None = None,
    tiny: int | None = None,
    amount: Callable[[int], float] | None = None,
    ceilings: tuple[Ceiling, ...] = (),
    needs: str | None = None,
    options: dict | None = None,
    environment: dict | None = None,
    modules: tuple[str, ...] = (),
    ours_only: bool = False,
) -> Callable[[Callable[..., Work]], Callable[..., Work]]:
    """Register the decorated function as a case: called as `build(qd, size)` if there is a `size`, else `build(qd)`."""
    if kind not in KINDS:
        raise ValueError(f"case {name}: kind must be one of {', '.join(KINDS)}, not {kind!r}")
    if unit not in (_TIMES if amount is None else _RATES):
        raise ValueError(f"case {name}: {unit!r} is no unit of {'time' if amount is None else 'rate'}")

    def register(build: Callable[..., Work]) -> Callable[..., Work]:
        if name in _REGISTRY:
            raise ValueError(f"two benchmark cases are named {name}")
        _REGISTRY[name] = Case(
            name, title, rows, kind, unit, target, rounds, batch_seconds, limit_seconds, throughput,
            size, tiny or size, amount, ceilings, needs, options or {}, environment or {}, modules, ours_only, build,
        )  # fmt: skip
        return build

    return register


def all_cases() -> dict[str, Case]:
    """Every case by name, in the order of the report."""
    for module in _MODULES:
        importlib.import_module(f"cases.{module}")
    order = {f"cases.{module}": k for k, module in enumerate(_MODULES)}
    return dict(sorted(_REGISTRY.items(), key=lambda item: order[item[1].build.__module__]))


def some_of(array):
    """Up to about four million entries of a long 1-D array, spread over all of it."""
    return array[:: array.size >> 22 | 1]


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
