"""The switch for argument checks: programs write `_template_mapper.__builtins__["__debug__"] = False`.

The dictionary is a private copy, so that the write changes this package and nothing else of the process.
"""

import builtins

__builtins__ = dict(vars(builtins))


def argument_checks_enabled() -> bool:
    """Whether array arguments are checked at each launch; on unless switched off."""
    return bool(__builtins__["__debug__"])
