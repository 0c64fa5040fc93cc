"""What writes and copies of Python scope say that cannot be done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quadrants import caller


def check_members(members: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """KeyError naming the members that `values` lacks; a warning of those that the struct lacks. Members that are None
    are not written.
    """
    tell_of_unknown(members, values)
    if values.keys() >= members.keys():
        return
    missing = [name for name, member in members.items() if member is not None and name not in values]
    if missing:
        raise KeyError(
            f"the members {missing} are missing: an element is written as a whole, so give {list(members)}, or write "
            f"one member, as in x[i].{next(iter(members))} = .."
        )


def tell_of_unknown(members: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    unknown = [name for name in values if name not in members]
    if unknown:
        caller.warn(f"the struct has no members {unknown}, which are left out; it has {list(members)}")


def not_a_source(x: Any) -> str:
    """What was given to `copy_from`, with its package, and what takes it."""
    package = type(x).__module__.partition(".")[0]
    if package == "quadrants" and hasattr(x, "to_numpy"):
        return f"{type(x).__name__}; write .from_numpy(x.to_numpy())"
    takes = {"numpy": "from_numpy", "torch": "from_torch"}.get(package)
    if takes is None:
        return type(x).__name__
    return f"{package}.{type(x).__name__}; .{takes}(..) takes that"
