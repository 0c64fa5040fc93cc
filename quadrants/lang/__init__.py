"""What a user writes inside kernels, and what the same names mean in Python scope.

`quadrants.lang.misc`, `quadrants.lang.exception` and the other modules are attributes: loaded when first named.
"""

import importlib as _importlib
import importlib.util as _util


def __getattr__(name: str):
    if name.startswith("__") or _util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _importlib.import_module(f"{__name__}.{name}")
