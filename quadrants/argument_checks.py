"""Arguments against their annotations: what is wrong with a call is told before anything is traced."""

from __future__ import annotations

import enum
import typing

import numpy as np

from quadrants.data import annotation as array_annotation
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.lang import parameters as ann
from quadrants.lang.kinds import FIELD_KINDS, kind_of


def check_arguments(kernel, args: tuple, options: dict) -> None:
    """Raise for arrays that do not fit, for constants that cannot be baked, and for what hangs below dataclasses."""
    no_floats = options.get("raise_on_templated_floats")
    for (name, a), x in zip(kernel.parameters, args):
        _check(kernel, name, a, x, no_floats)


def _check(kernel, name: str, a, x, no_floats: bool) -> None:
    base = ann.optional_base(a)
    if base is not None:
        if x is None:
            return
        a = base
    if ann.is_dataclass(a):
        _check_members(kernel, name, a, x, no_floats)
    elif ann.is_template(a):
        _check_template(name, x, no_floats)
    elif ann.is_view_annotation(a) and kind_of(x) == "view":
        x.get_ndarray()._live()
        if not isinstance(a, type):
            _check_array(kernel, name, a.ndarray_type, x.arr)
    elif ann.is_ndarray_annotation(a):
        _check_array(kernel, name, a() if isinstance(a, type) else a, x._unwrap() if kind_of(x) == "tensor" else x)


def _check_array(kernel, name: str, want, x) -> None:
    if kind_of(x) in FIELD_KINDS:
        raise array_annotation.not_an_array(want, x, name)
    if kind_of(x) == "ndarray":
        x._check_usable()
    try:
        array_annotation.check_annotation(want, x, name)
        if kernel.mode == "reverse":
            array_annotation.check_gradient(want, x, name)
    except (TypeError, ValueError) as error:
        if type(error) in (TypeError, ValueError):
            raise type(error)(f"exception while trying to ensure compiled {kernel.fn}:\n{error}") from None
        raise


def _check_members(kernel, name: str, cls: type, x, no_floats: bool) -> None:
    for key, a in ann.dataclass_members(cls).items():
        member = f"{name}.{key}"
        try:
            value = getattr(x, key)
        except AttributeError:
            raise QuadrantsRuntimeTypeError(
                f"Argument {name} (type={type(x)}) cannot be converted into required type {cls.__name__}: "
                f"it has no attribute '{key}'"
            ) from None
        if typing.get_origin(a) is typing.Final:
            _check_baked(member, value)
            _check_template(member, value, no_floats)
        else:
            _check(kernel, member, a, value, no_floats)


def _check_baked(name: str, x) -> None:
    if isinstance(x, (enum.Enum, np.generic)) or type(x) in (bool, int, float, str):
        return
    raise TypeError(
        f"{name}: a {type(x).__name__} cannot be baked into a kernel; a Final member is a plain bool, int, float or "
        "str, "
        "or a member of an Enum"
    )


def _check_template(name: str, x, no_floats: bool) -> None:
    if no_floats and isinstance(x, (float, np.floating)):
        raise ValueError(
            f"Floats not allowed as templated types: '{name}' is {x!r}, and each value is compiled anew. "
            "Pass it as a run-time parameter (raise_on_templated_floats=True)."
        )
