"""What is wrong with the arguments of a function that the frontend has a meaning of its own for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_BARE = inspect.Parameter.empty


def told(function: Callable, name: str, hidden: int, args: tuple, kwargs: dict[str, Any]) -> str | None:
    """Why these arguments do not fit `function`, which users call `name`; None if they do. The first `hidden` ones are
    none that users write.
    """
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        written = list(signature.parameters.values())[hidden:]
        shown = signature.replace(parameters=[p.replace(annotation=_BARE) for p in written], return_annotation=_BARE)
        return f"{error}; it is called as {name}{shown}"
    return None
