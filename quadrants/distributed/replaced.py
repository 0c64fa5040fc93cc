"""Functions of ranks that tapes record as a whole, with gradients of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from quadrants.distributed.engines.interface import Engine
from quadrants.errors import QuadrantsRuntimeError
from quadrants.tapes.custom import ReplacedFunction


def _nothing(*_: Any) -> Iterable[Any]:
    return ()


class OfRanks(ReplacedFunction):
    """What all ranks call. engine: of the arguments, what connects them. restored: of the arguments, the arrays that
    the gradient brings back as a whole; None stands for those cells that the call overwrote. What is overwritten and
    not brought back must not be needed by derivatives of what ran before, as with kernels.
    """

    def __init__(
        self, func: Callable[..., Any], engine: Callable[..., Engine], restored: Callable[..., Iterable[Any] | None]
    ) -> None:
        super().__init__(func)
        self._engine, self._restored = engine, restored

    def admit(self, listener: Any, args: tuple[Any, ...]) -> None:
        """One rank alone compares gradients with differences."""
        if listener.has_grad_check and self._engine(*args).size > 1:
            raise QuadrantsRuntimeError(
                "Tape(grad_check=..) is for one rank: others move their numbers at the same time. Compare the "
                "gradients of several ranks with those of one."
            )

    def restored(self, args: tuple[Any, ...]) -> Iterable[Any] | None:
        """As the class says."""
        return self._restored(*args)


def grad_replaced(
    engine: Callable[..., Engine], restored: Callable[..., Iterable[Any] | None] = _nothing
) -> Callable[[Callable[..., Any]], Any]:
    """As `qd.ad.grad_replaced`, of what ranks call together."""
    return lambda func: OfRanks(func, engine, restored)
