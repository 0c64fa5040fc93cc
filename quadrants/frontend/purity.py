"""Purity of fastcache kernels: what a kernel may read besides its parameters."""

from __future__ import annotations

import enum
import types

from quadrants.errors import QuadrantsCompilationError
from quadrants.frontend.refs import ObjectRef
from quadrants.lang.kinds import FIELD_KINDS, kind_of

EXEMPT_MODULES = ("math", "numpy", "quadrants")


class Purity:
    """Part of the tracer: notes every captured value that is read."""

    def note_capture(self, name: str, value) -> None:
        if self.record is not None:
            self.record.capture(self.frame.fn, name, value)
        if self._impure(value):
            self._report(name)

    def note_attribute(self, base, name: str, value) -> None:
        if self.record is not None:
            self.record.attribute(base, name, value)
        if isinstance(base, ObjectRef) or not self._impure(value):
            return
        if isinstance(base, types.ModuleType):
            if base.__name__.split(".")[0] in EXEMPT_MODULES:
                return
        elif isinstance(base, type) and issubclass(base, enum.Enum):
            return
        elif not isinstance(base, type):
            return
        self._report(name)

    def _impure(self, value) -> bool:
        if isinstance(value, enum.Enum):
            return False
        return isinstance(value, (bool, int, float, str)) or kind_of(value) in FIELD_KINDS

    def _report(self, name: str) -> None:
        frame = self.frame
        if (frame.globals.get("__name__") or "").split(".")[0] == "quadrants":
            return
        self.impure = True
        if not self.purity:
            return
        text = (
            f"[PURE.VIOLATION] the kernel is declared with fastcache=True, but reads '{name}' from outside its "
            "parameters. "
            "Pass it as a parameter."
        )
        if name == name.upper() or frame.in_static:
            self.warn_once(f"WARNING: {text}", UserWarning)
            return
        raise QuadrantsCompilationError(text)

    impure = False
    record = None  # a Record, when the result is to be kept on disk
