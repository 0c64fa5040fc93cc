"""`qd.perf_dispatch`: several implementations of one operation, of which the fastest is found while the program runs.

    call -> forced? -> same arguments as the last call that had one candidate? -> known winner for this geometry?
         -> the candidates take turns: warm-ups, then timed calls; the lowest mean wins

QD_PERFDISPATCH_FORCE         "proto:impl,proto2:impl2" names what always runs; "?" shows what there is
QD_PERFDISPATCH_PRINT_DEBUG   1: print registrations and choices
Both are read when this module is loaded, which is at the first use of `qd.perf_dispatch`.
"""

from __future__ import annotations

import functools
import inspect
import os
import time
from collections.abc import Callable, Hashable
from typing import Any

import quadrants as qd
from quadrants.errors import QuadrantsRuntimeError, QuadrantsSyntaxError

__all__ = ["Implementation", "PerfDispatcher", "perf_dispatch"]

# Calls until the next cycle of trials, where the user sets neither trigger.
_USUAL_REPEAT = 300


def _forced(text: str) -> dict[str, str]:
    """Prototype -> implementation, of a value of QD_PERFDISPATCH_FORCE. ValueError for an entry without a colon."""
    chosen = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        if entry == "?":
            continue
        proto, colon, implementation = entry.partition(":")
        if not colon:
            raise ValueError(
                f"QD_PERFDISPATCH_FORCE: '{entry}' has no colon; write prototype:implementation, several of them "
                "separated by commas, or ? to see the names"
            )
        chosen[proto.strip()] = implementation.strip()
    return chosen


_FORCE_TEXT = os.environ.get("QD_PERFDISPATCH_FORCE", "")
_FORCED = _forced(_FORCE_TEXT)
_DEBUG = os.environ.get("QD_PERFDISPATCH_PRINT_DEBUG", "") not in ("", "0")
_TELL = _DEBUG or bool(_FORCE_TEXT)


class Implementation:
    """A registered kernel or function. Calling it runs it; its attributes are those of what was registered."""

    def __init__(self, target: Callable, is_compatible: Callable[..., bool] | None):
        self._target = target
        self._is_compatible = is_compatible
        functools.update_wrapper(self, target, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._target(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_target"], name)

    def takes(self, args: tuple, kwargs: dict) -> bool:
        """Whether it may be used for these arguments."""
        return self._is_compatible is None or bool(self._is_compatible(*args, **kwargs))

    def __repr__(self) -> str:
        return f"<implementation {self.__name__}>"


class _Geometry:
    """Trials and winner for one geometry key."""

    def __init__(self) -> None:
        self.cycle = 0
        self.begin()

    def begin(self) -> None:
        """A new cycle of trials."""
        self.cycle += 1
        self.winner: Implementation | None = None
        self.calls = 0
        self.chosen_at = 0.0
        self.trials: dict[Implementation, int] = {}
        self.seconds: dict[Implementation, list[float]] = {}


class PerfDispatcher:
    """A prototype with its implementations; made by `qd.perf_dispatch`. Not for several threads at once."""

    def __init__(
        self, prototype: Callable, *, get_geometry_hash: Callable[..., Hashable], first_warmup: int, warmup: int,
        active: int, repeat_after_count: int | None, repeat_after_seconds: float | None,
    ):  # fmt: skip
        if active < 1 or first_warmup < 0 or warmup < 0:
            raise ValueError(f"active={active} must be at least 1, and the numbers of warm-up calls at least 0")
        functools.update_wrapper(self, prototype, updated=())
        self._name = prototype.__name__
        self._parameters = list(inspect.signature(prototype).parameters)
        self._get_geometry_hash = get_geometry_hash
        self._warmups = (first_warmup, warmup)
        self._active = active
        if repeat_after_count is None and repeat_after_seconds is None:
            repeat_after_count = _USUAL_REPEAT
        self._repeat_after_count = repeat_after_count or 0
        self._repeat_after_seconds = repeat_after_seconds or 0.0
        self._implementations: list[Implementation] = []
        self._geometries: dict[Hashable, _Geometry] = {}
        self._forced: Implementation | None = None
        self._told = False
        self._only: Implementation | None = None  # the one candidate for `_only_args` and `_only_kwargs`
        self._only_args: tuple = ()
        self._only_kwargs: dict = {}

    # ------------------------------------------------------------ registering

    def register(
        self, implementation: Callable | None = None, *, is_compatible: Callable[..., bool] | None = None
    ) -> Any:
        """Add a kernel or a function; a decorator, with or without arguments.

        Args:
            implementation: takes parameters of the names of the prototype.
            is_compatible: called with the arguments of a call; false keeps the implementation out of it.

        Raises:
            QuadrantsSyntaxError: names or number of the parameters differ from the prototype's.
        """
        if implementation is None:
            return lambda given: self.register(given, is_compatible=is_compatible)
        names = list(inspect.signature(implementation).parameters)
        for name in names:
            if name not in self._parameters:
                self._mismatch(implementation, f"its parameter '{name}' is none of the prototype's")
        if len(names) != len(self._parameters):
            self._mismatch(implementation, f"it has {len(names)} parameters")
        made = Implementation(implementation, is_compatible)
        self._implementations.append(made)
        self._told, self._only = False, None
        if _TELL:
            print(f"perf_dispatch '{self._name}': registered '{made.__name__}'")
        return made

    def _mismatch(self, implementation: Callable, text: str) -> None:
        raise QuadrantsSyntaxError(
            f"{implementation.__name__} cannot implement {self._name}({', '.join(self._parameters)}): {text} "
            "(error code: PERFDISPATCH_ANNOTATION_SEQUENCE_MISMATCH)."
        )

    # ------------------------------------------------------------ calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one implementation and return what it returns. QuadrantsRuntimeError when none takes the arguments."""
        if not self._told:
            self._begin()
        if self._forced is not None:
            return self._forced(*args, **kwargs)
        if self._only is not None and self._same_arguments(args, kwargs):
            return self._only(*args, **kwargs)
        key = self._get_geometry_hash(*args, **kwargs)
        geometry = self._geometries.get(key)
        if geometry is None:
            geometry = self._geometries[key] = _Geometry()
        if geometry.winner is not None and not self._is_over(geometry):
            return geometry.winner(*args, **kwargs)
        candidates = [one for one in self._implementations if one.takes(args, kwargs)]
        if not candidates:
            del self._geometries[key]
            raise QuadrantsRuntimeError(f"No suitable functions were found for perf_dispatch '{self._name}'.")
        if len(candidates) == 1:
            self._only, self._only_args, self._only_kwargs = candidates[0], args, kwargs
            return candidates[0](*args, **kwargs)
        if geometry.winner is not None:
            geometry.begin()
        return self._try(geometry, candidates, args, kwargs)

    def _begin(self) -> None:
        """At the first call after a registration: whom the environment forces."""
        self._told = True
        names = [one.__name__ for one in self._implementations]
        if _FORCE_TEXT:
            print(f"perf_dispatch '{self._name}': available implementations: {names}")
        wanted = _FORCED.get(self._name)
        self._forced = next((one for one in self._implementations if one.__name__ == wanted), None)
        if self._forced is not None:
            print(f"perf_dispatch '{self._name}': forced to '{wanted}' via QD_PERFDISPATCH_FORCE")
        elif wanted is not None:
            print(
                f"[perf_dispatch] WARNING: QD_PERFDISPATCH_FORCE names '{wanted}' for '{self._name}', which has only "
                f"{names}; the fastest is looked for as usual."
            )

    def _same_arguments(self, args: tuple, kwargs: dict) -> bool:
        known_args, known = self._only_args, self._only_kwargs
        return (
            len(args) == len(known_args)
            and all(a is b for a, b in zip(args, known_args))
            and kwargs.keys() == known.keys()
            and all(value is known[name] for name, value in kwargs.items())
        )

    def _is_over(self, geometry: _Geometry) -> bool:
        """Count a call of the winner. Whether it is time for trials again instead."""
        geometry.calls += 1
        if self._repeat_after_count > 0 and geometry.calls >= self._repeat_after_count:
            return True
        seconds = self._repeat_after_seconds
        return seconds > 0 and time.perf_counter() - geometry.chosen_at >= seconds

    def _try(self, geometry: _Geometry, candidates: list[Implementation], args: tuple, kwargs: dict) -> Any:
        chosen = min(candidates, key=lambda one: geometry.trials.get(one, 0))
        warmups = self._warmups[0] if geometry.cycle == 1 else self._warmups[1]
        trial = geometry.trials[chosen] = geometry.trials.get(chosen, 0) + 1
        if trial <= warmups:
            result = chosen(*args, **kwargs)
        else:
            qd.sync()
            began = time.perf_counter()
            result = chosen(*args, **kwargs)
            qd.sync()
            geometry.seconds.setdefault(chosen, []).append(time.perf_counter() - began)
        if all(geometry.trials.get(one, 0) >= warmups + self._active for one in candidates):
            self._choose(geometry, candidates)
        return result

    def _choose(self, geometry: _Geometry, candidates: list[Implementation]) -> None:
        # A call that raised has no time.
        timed = {one: sum(times) / len(times) for one in candidates if (times := geometry.seconds.get(one))}
        if not timed:
            geometry.trials.clear()
            return
        geometry.winner = min(timed, key=lambda one: timed[one])
        geometry.calls, geometry.chosen_at = 0, time.perf_counter()
        if _DEBUG:
            print(
                f"perf_dispatch '{self._name}': chose '{geometry.winner.__name__}' out of "
                f"{len(self._implementations)} registered functions."
            )

    def __repr__(self) -> str:
        return f"<perf_dispatch {self._name}: {[one.__name__ for one in self._implementations]}>"


def perf_dispatch(
    *, get_geometry_hash: Callable[..., Hashable], first_warmup: int = 1, warmup: int = 0, active: int = 1,
    repeat_after_count: int | None = None, repeat_after_seconds: float | None = None,
) -> Callable[[Callable], PerfDispatcher]:  # fmt: skip
    """Make an empty function the prototype of several implementations; calls run the one that is fastest.

    Args:
        get_geometry_hash: called with the arguments; implementations are compared for each value that it returns.
        first_warmup, warmup: calls of each implementation that are not timed, in the first cycle of trials and in later
            ones.
        active: calls of each that are timed, 1 at least.
        repeat_after_count: with which call after a choice the trials begin anew; 0 or less: never.
        repeat_after_seconds: after how many seconds; 0 or less: never. Both None: with the 300th call.

    Implementations are added by `@prototype.register` or `@prototype.register(is_compatible=fn)`; each must do the
    same, for any one may run. Where a single one takes the arguments, there are no trials. Choices survive
    `qd.reset()`.

    Raises:
        ValueError: a number of calls is out of range.

        @qd.perf_dispatch(get_geometry_hash=lambda x: x.shape)
        def step(x): ...
    """
    return lambda prototype: PerfDispatcher(
        prototype, get_geometry_hash=get_geometry_hash, first_warmup=first_warmup, warmup=warmup, active=active,
        repeat_after_count=repeat_after_count, repeat_after_seconds=repeat_after_seconds,
    )  # fmt: skip
