"""Purity of fastcache kernels: what a kernel may read besides its parameters."""

from __future__ import annotations

import enum
import types

from quadrants.errors import QuadrantsCompilationError
from quadrants.frontend.options import Options
from quadrants.frontend.positions import Positions
from quadrants.frontend.record import Record
from quadrants.frontend.refs import ObjectRef
from quadrants.frontend.reports import Reports
from quadrants.lang.kinds import FIELD_KINDS, kind_of, unwrapped

EXEMPT_MODULES = ("math", "numpy", "quadrants")


class Purity:
    """Hears of every captured value that is read. `record`: a Record, when the result is to be kept on disk."""

    __slots__ = ("options", "positions", "reports", "record")

    def __init__(self, options: Options, positions: Positions, reports: Reports, record: Record | None) -> None:
        self.options = options
        self.positions = positions
        self.reports = reports
        self.record = record

    def note_capture(self, name: str, value) -> None:
        if self.record is not None:
            self.record.capture(self.positions.frame.fn, name, value)
        if self.options.fastcache and _is_impure(value):
            self._report(name)

    def note_attribute(self, base, name: str, value) -> None:
        if self.record is not None:
            self.record.attribute(base, name, value)
        if not self.options.fastcache or isinstance(base, ObjectRef) or not _is_impure(value):
            return
        if isinstance(base, types.ModuleType):
            if base.__name__.split(".")[0] in EXEMPT_MODULES:
                return
        elif isinstance(base, type) and issubclass(base, enum.Enum):
            return
        elif not isinstance(base, type):
            return
        self._report(name)

    def _report(self, name: str) -> None:
        frame = self.positions.frame
        if (frame.globals.get("__name__") or "").split(".")[0] == "quadrants":
            return
        text = (
            f"[PURE.VIOLATION] the kernel is declared with fastcache=True, but reads '{name}' from outside its "
            "parameters. "
            "Pass it as a parameter."
        )
        if name == name.upper() or frame.in_static:
            self.reports.warn_once(f"WARNING: {text}", UserWarning)
            return
        raise QuadrantsCompilationError(text)


def _is_impure(value) -> bool:
    if isinstance(value, enum.Enum):
        return False
    return isinstance(value, (bool, int, float, str)) or kind_of(unwrapped(value)) in FIELD_KINDS
