"""Automatic differentiation: derivatives of kernels, and the tools that drive them.

What users name is loaded when it is first used: kernels are compiled without any of it.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from quadrants.tapes.clearing import clear_all_gradients as clear_all_gradients
    from quadrants.tapes.custom import grad_for as grad_for
    from quadrants.tapes.custom import grad_replaced as grad_replaced
    from quadrants.tapes.custom import no_grad as no_grad
    from quadrants.tapes.forward_mode import FwdMode as FwdMode
    from quadrants.tapes.tape import Tape as Tape

_LAZY = {
    "Tape": "tape",
    "FwdMode": "forward_mode",
    "clear_all_gradients": "clearing",
    "grad_for": "custom",
    "grad_replaced": "custom",
    "no_grad": "custom",
}


def _load(name: str):
    found = _LAZY.get(name)
    if found is None:
        raise AttributeError(f"module 'quadrants.ad' has no attribute '{name}'")
    value = getattr(_importlib.import_module(f"quadrants.tapes.{found}"), name)
    globals()[name] = value
    return value


if not _typing.TYPE_CHECKING:  # else checkers would take any misspelt name
    __getattr__ = _load


def __dir__() -> list:
    return sorted({*globals(), *_LAZY})
