"""Types make containers of themselves: the one door from here to `quadrants.data`, which stands above this layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Set by `quadrants`, which sees both: the module of that name in `quadrants.data`.
load: Callable[[str], Any] | None = None


def factories() -> Any:
    """Functions that make fields and ndarrays."""
    assert load is not None, "the package has told nobody where containers are made"
    return load("factories")


def tensor(*args: Any, **kwargs: Any) -> Any:
    """`qd.tensor`."""
    assert load is not None, "the package has told nobody where containers are made"
    return load("tensor_factories").tensor(*args, **kwargs)
