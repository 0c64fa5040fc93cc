"""What the host does in several steps to memory of kernels, as one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from quadrants._ext.core import HostTurn

F = TypeVar("F", bound=Callable[..., Any])


def alone(work: F) -> F:
    """`work`, which runs while no kernel does, and nothing else of this kind in another thread."""

    @functools.wraps(work)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with HostTurn():
            return work(*args, **kwargs)

    return inside  # type: ignore[return-value]
