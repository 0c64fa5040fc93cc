"""What a user writes inside kernels, and what the same names mean in Python scope.

`quadrants.lang.misc`, `quadrants.lang.exception` and the other modules are attributes: loaded when first named. What is
called otherwise than a module is found here as in `quadrants`, so that `from quadrants.lang import cpu, kernel` works.
"""

import importlib as _importlib
import importlib.util as _util
import sys as _sys


def __getattr__(name: str):
    if not name.startswith("__") and _util.find_spec(f"{__name__}.{name}") is not None:
        return _importlib.import_module(f"{__name__}.{name}")
    public = _sys.modules["quadrants"]
    if not name.startswith("_") and name in dir(public):
        return getattr(public, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
