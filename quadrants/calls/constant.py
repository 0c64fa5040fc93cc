"""Members of dataclasses that are constants of a kernel: `n: Final[int]`."""

from __future__ import annotations

import enum
import typing
from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants.calls.kind import Call, Kind, Source

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class Constant(Kind):
    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return typing.get_origin(annotation) is typing.Final

    def check(self, call: Call, name: str, x: Any) -> None:
        if not (isinstance(x, (enum.Enum, np.generic)) or type(x) in (bool, int, float, str)):
            raise TypeError(
                f"{name}: a {type(x).__name__} cannot be baked into a kernel; a Final member is a plain bool, int, "
                "float or str, or a member of an Enum"
            )
        check_compiled_in(call, name, x)

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        return declarer.template(source, x)


def check_compiled_in(call: Call, name: str, x: Any) -> None:
    """Raise for a number that `raise_on_templated_floats` does not let be a constant."""
    if call.no_floats and isinstance(x, (float, np.floating)):
        raise ValueError(
            f"Floats not allowed as templated types: '{name}' is {x!r}, and each value is compiled anew. "
            "Pass it as a run-time parameter (raise_on_templated_floats=True)."
        )
