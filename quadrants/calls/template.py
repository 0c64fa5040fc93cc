"""`x: qd.template()`: anything that is known while compiling. It is part of the code, and another one is another
specialisation; the attributes of an object are read anew at each launch.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants import caller
from quadrants.calls.constant import check_compiled_in
from quadrants.calls.kind import Call, Kind, Source
from quadrants.calls.tokens import ndarray_as_template, template_token
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.lang import parameters
from quadrants.lang.kinds import is_external, kind_of, unwrapped

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class Template(Kind):
    optional = True

    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return parameters.is_template(annotation)

    def token(self, x: Any, name: str) -> int | tuple[int]:
        if _is_dataclass(x) and not getattr(type(x), "_qd_data_oriented", False) and type(x).__hash__ is not None:
            caller.warn(
                f"A dataclass is passed through qd.template() ('{name}'); annotate the parameter with "
                f"{type(x).__name__}",
                DeprecationWarning,
            )
        return template_token(x, name)

    def check(self, call: Call, name: str, x: Any) -> None:
        check_compiled_in(call, name, x)

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        return declare_template(declarer, source, name, x)

    def declare_member(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        return declarer.template(source, x)


def declare_template(declarer: Declarer, source: Source, name: str, x: Any) -> Any:
    """Have the frontend take `x` as a template. Raises for arrays, which are passed otherwise."""
    x = unwrapped(x)
    if kind_of(x) == "view":
        raise QuadrantsRuntimeTypeError(
            f"A BufferView was passed for '{name}': annotate it with qd.BufferView[dtype] or qd.BufferView."
        )
    if kind_of(x) == "ndarray" or is_external(x) and not isinstance(x, np.ndarray):
        raise ndarray_as_template(name)
    return declarer.template(source, x)


def _is_dataclass(x: Any) -> bool:
    return dataclasses.is_dataclass(x) and not isinstance(x, type)
