"""Automatic differentiation: derivatives of kernels, and the tools that drive them.

What users name is loaded when it is first used: kernels are compiled without any of it.
"""

from __future__ import annotations

import importlib as _importlib

_LAZY = {
    "Tape": "tape",
    "FwdMode": "forward_mode",
    "clear_all_gradients": "clearing",
    "grad_for": "custom",
    "grad_replaced": "custom",
    "no_grad": "custom",
}


def __getattr__(name: str):
    found = _LAZY.get(name)
    if found is None:
        raise AttributeError(f"module 'quadrants.ad' has no attribute '{name}'")
    value = getattr(_importlib.import_module(f"quadrants.tapes.{found}"), name)
    globals()[name] = value
    return value


def __dir__() -> list:
    return sorted({*globals(), *_LAZY})
