"""Plans of a grid, found again for the same arrays, and compared with those of the neighbours where arrays are new."""

from __future__ import annotations

import hashlib
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from quadrants import _logging
from quadrants.distributed import agreement, arrays, halo, spaces, under_way
from quadrants.distributed.blocks import Blocks
from quadrants.distributed.engines.interface import Engine
from quadrants.distributed.labels import Labels
from quadrants.distributed.remembered import Remembered
from quadrants.errors import QuadrantsRuntimeError

# Bytes. Few faces have as many, so where one rank compares and another does not, they get an error of lengths.
_DESCRIPTION = 1021
_HASH = 8  # bytes of it
_BEGINNING = "exchange "
_ALIKE = (
    "Every rank has to make the same exchanges in the same order, and those of new arrays at the same time: at the "
    "first one of an array neighbours compare, and send no values. Where debug=True finds no difference, an array is "
    "new on one rank, and known to another."
)
_MAKERS = {"forward": halo.forward, "backward": halo.backward}


class Pending:
    """An exchange that was begun, and keeps its arrays until it is waited for."""

    def __init__(self, given: Sequence[Any], rest: Callable[[], None] | None) -> None:
        self._given, self._rest = given, rest

    def wait(self) -> None:
        """Return when the halos are there. A second call does nothing."""
        rest, self._rest, self._given = self._rest, None, ()
        if rest is not None:
            rest()

    def __del__(self) -> None:
        """Whoever drops it waits: messages must not come to memory that is gone."""
        if self._rest is not None and not sys.is_finalizing():
            _logging.warn("what exchange_halo(.., wait=False) returned was dropped: keep it, and call its wait()")
            self.wait()


class Exchanges:
    """All exchanges of one grid. `count`: how many there were."""

    def __init__(self, name: str, blocks: Blocks, engine: Engine, labels: Labels) -> None:
        self._name, self._blocks, self._engine, self._labels = name, blocks, engine, labels
        self._plans: Remembered[halo.Plan] = Remembered()
        self._compared: Remembered[bool] = Remembered()
        self.count = 0

    def run(
        self,
        kind: str,
        given: Sequence[Any],
        axes: Any,
        corners: bool,
        check: Callable[[], None] | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        """Exchange now. kind: "forward" or "backward"; axes: None for all. check: raises what else is wrong of them on
        this rank. before: what comes before values are sent.
        """
        if given:
            plan = self._plan(kind, given, axes, corners, check)
            if before is not None:
                before()
            try:
                plan.run()
            except QuadrantsRuntimeError as error:
                raise self._failed(plan, self.count, error) from error

    def start(
        self,
        kind: str,
        given: Sequence[Any],
        axes: Any,
        corners: bool,
        check: Callable[[], None] | None = None,
        behind: Callable[[], None] | None = None,
    ) -> Pending:
        """Begin to exchange. behind: what follows once the halos are there; check: as of `run`."""
        if not given:
            return Pending(given, None)
        plan = self._plan(kind, given, axes, corners, check)
        try:
            rest = plan.start()
        except QuadrantsRuntimeError as error:
            raise self._failed(plan, self.count, error) from error
        under_way.begin(plan.cells)
        return Pending(given, partial(self._finish, plan, self.count, rest, behind))

    def _finish(
        self, plan: halo.Plan, number: int, rest: Callable[[], None], behind: Callable[[], None] | None
    ) -> None:
        under_way.end(plan.cells)
        try:
            rest()
        except QuadrantsRuntimeError as error:
            raise self._failed(plan, number, error) from error
        if behind is not None:
            behind()

    def _failed(self, plan: halo.Plan, number: int, error: Exception) -> QuadrantsRuntimeError:
        """The error of an engine, with what was under way."""
        text = f"{_BEGINNING}{number} of {self._name}{plan.about}"
        advice = f"\n{_ALIKE}" if self._engine.size > 1 else ""
        return QuadrantsRuntimeError(f"Rank {self._engine.rank} was in {text}: {error}{advice}")

    def _plan(
        self, kind: str, given: Sequence[Any], axes: Any, corners: bool, check: Callable[[], None] | None
    ) -> halo.Plan:
        """Its arrays have memory, and are in no exchange that goes on."""
        self.count += 1
        if axes is not None:
            axes = self.read_axes(axes)
        use = (kind, axes, corners)
        plan = self._plans.get(use, given)
        if plan is None:
            plan = self._made(kind, given, axes, corners, check)
            self._plans.put(use, given, plan)  # an array that dies takes its plans with it, and their views
        elif plan.compared_always:
            with self._told(kind, axes, corners):
                if check is not None:
                    check()
            self._compare(plan.about)
        elif check is not None:
            check()
        under_way.refuse(plan.parts)
        plan.check()
        return plan

    def _made(
        self, kind: str, found: Sequence[Any], axes: Any, corners: bool, check: Callable[[], None] | None
    ) -> halo.Plan:
        with self._told(kind, axes, corners):
            parts = self._parts(found)
            if check is not None:
                check()
        about = _about(kind, self._labels.about(parts), axes, corners)
        # By what is behind tensors and views, of which new ones may be made of a known array at any time.
        known_by = [arrays.components_of(part.array) for part in parts]
        use, inner = (kind, axes, corners, *map(len, known_by)), [*itertools.chain(*known_by)]
        if agreement.in_debug() or not self._compared.get(use, inner):
            self._compare(about)
            self._compared.put(use, inner, True)
            self._labels.meet(parts)
        stages = halo.stages(self._blocks, range(len(self._blocks.shape)) if axes is None else axes, corners)
        plan = _MAKERS[kind](parts, stages, self._engine)
        plan.about = about
        return plan

    @contextmanager
    def _told(self, kind: str, axes: Any, corners: bool) -> Iterator[None]:
        """An error is told to the neighbours, who are at a comparison, and must not wait."""
        try:
            yield
        except (TypeError, ValueError, QuadrantsRuntimeError) as error:
            with suppress(QuadrantsRuntimeError):
                self._compare(_about(kind, f"{type(error).__name__}: {error}", axes, corners))
            raise

    def _parts(self, found: Sequence[Any]) -> list[arrays.Part]:
        parts = arrays.all_parts(found, spaces.of(self._engine))
        seen: set[int] = set()
        for part in parts:
            self._check_shape(part)
            if seen & part.cells:
                raise ValueError(
                    f"{part.name or 'an array'} is given twice to an exchange of {self._name}: write each array once, "
                    "and no member of a struct beside the struct"
                )
            seen |= part.cells
        return parts

    def _check_shape(self, part: arrays.Part) -> None:
        if part.shape != self._blocks.local:
            name = part.name or "an array"
            raise ValueError(
                f"{name} of shape {part.shape} is not of {self._name}: with its halo, the block of rank "
                f"{self._engine.rank} has shape {self._blocks.local}. "
                "Make it by grid.field(dtype) or grid.ndarray(dtype)."
            )

    def read_axes(self, axes: Any) -> tuple[int, ...] | None:
        """The axes in order, once each; None stands for all, and for each of them. ValueError for what is no axis."""
        if axes is None:
            return None
        ndim = len(self._blocks.shape)
        wanted = axes if isinstance(axes, (tuple, list)) else (axes,)
        if not wanted or any(not isinstance(axis, int) or not 0 <= axis < ndim for axis in wanted):
            raise ValueError(
                f"axes={axes!r}: axes of {self._name} are numbers from 0 to {ndim - 1}, and None stands for all"
            )
        found = tuple(sorted(set(wanted)))
        return None if len(found) == ndim else found

    def _compare(self, about: str) -> None:
        """QuadrantsRuntimeError on every rank that has a neighbour which exchanges something else."""
        if self._engine.size == 1:
            return
        me = self._engine.rank
        peers = self._blocks.neighbours(range(len(self._blocks.shape)))
        text = f"{_BEGINNING}{self.count} of {self._name}{about}"
        mine = _message(text)
        theirs = [np.zeros_like(mine) for _ in peers]
        try:
            self._engine.exchange([(peer, mine, room) for peer, room in zip(peers, theirs)])
        except QuadrantsRuntimeError as error:
            raise QuadrantsRuntimeError(
                f"Rank {me} was comparing {text}, which is new for it: {error}\nIf a neighbour sent something else, it "
                f"is at another exchange, or exchanges an array that it has exchanged before. {_ALIKE}"
            ) from error
        strange = next((peer for peer, room in zip(peers, theirs) if not _text(room).startswith(_BEGINNING)), None)
        if strange is not None:  # that rank is not at the sum that follows
            raise QuadrantsRuntimeError(
                f"Rank {me} was comparing {text}, which is new for it, and rank {strange} sent values: it is at "
                f"another exchange, or exchanges an array that it has exchanged before. {_ALIKE}"
            )
        other = next((k for k, room in enumerate(theirs) if not np.array_equal(mine, room)), None)
        differs = np.array([other is not None], np.int64)
        self._engine.allreduce(differs, "max")  # an error is one of all ranks: nobody waits for one that has raised it
        if other is not None:
            raise QuadrantsRuntimeError(
                f"Ranks {me} and {peers[other]} do not exchange the same.\n"
                f"  rank {me}: {text}\n  rank {peers[other]}: {_text(theirs[other])}\n"
                "Every rank has to make the same arrays of a grid, and the same exchanges, in the same order. An array "
                "of one rank alone is made by qd.ndarray or qd.field."
            )
        if differs[0]:
            raise QuadrantsRuntimeError(f"Other ranks do not exchange the same; rank {me} is at {text}.")


def _about(kind: str, shown: str, axes: Any, corners: bool) -> str:
    """What is exchanged, as it follows the name of the grid."""
    which = "" if kind == "forward" else " (adjoint)"
    along = "all axes" if axes is None else f"axes {list(axes)}"
    return f"{which}: {shown}; {along}, corners {corners}"


def _message(text: str) -> np.ndarray[Any, Any]:
    """A hash and the text, at a size that every rank knows."""
    encoded = text.encode()
    filled = (hashlib.sha256(encoded).digest()[:_HASH] + encoded)[:_DESCRIPTION].ljust(_DESCRIPTION, b"\0")
    message: np.ndarray[Any, Any] = np.frombuffer(filled, np.uint8).copy()
    return message


def _text(message: np.ndarray[Any, Any]) -> str:
    return message.tobytes()[_HASH:].rstrip(b"\0").decode("utf-8", "replace")
