"""How the message of an assertion writes values: as `print` of a kernel does, or else as Python."""

from __future__ import annotations


def written(value: int | float, spec: str) -> str:
    """The text of a value. spec: what stands behind the colon or the percent sign of its field, "" for nothing."""
    if not spec:
        return f"{value:f}" if isinstance(value, float) else str(value)
    if spec[-1] in "aA" and isinstance(value, float):
        return value.hex() if spec[-1] == "a" else value.hex().upper()
    if isinstance(value, float) and spec[-1] in "dixXobc":
        raise ValueError(f"{spec!r} is for integers")
    letter = "" if spec[-1].isalpha() else "f" if isinstance(value, float) else "d"
    try:
        return f"%{spec}{letter}" % value
    except (TypeError, ValueError):
        return format(value, spec)
