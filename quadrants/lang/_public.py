"""Names of `qd.*` under modules that programs written for the reference import them from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any


def names_of(module: str, names: Iterable[str], known: Iterable[str] = ()) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has these names of `qd` besides its own, `known`."""
    names = frozenset(names)

    def look_up(name: str) -> Any:
        if name in names:
            # The package is above this layer, and whole when anybody asks.
            return getattr(sys.modules["quadrants"], name)
        from quadrants import spelling

        hint = "" if name.startswith("_") else spelling.hint(name, sorted({*names, *known}))
        raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)

    return look_up
