"""`T | None`: None, or what the kind of T takes. None is a specialisation of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadrants._ext.core import OPAQUE, SCALAR, TOKEN, intern_token
from quadrants.calls.kind import Call, Kind, Source

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class Optional(Kind):
    def __init__(self, annotation: Any, inner: Kind):
        super().__init__(annotation)
        self.inner = inner
        self.by_value = inner.core in (SCALAR, OPAQUE)
        self.core = TOKEN if self.by_value else inner.core
        self.selects = inner.selects
        self.takes_fields = inner.takes_fields

    @property
    def of_package(self) -> bool:
        return self.inner.of_package

    def token(self, x: Any, name: str) -> int | tuple[int]:
        if x is None:
            return intern_token(("value", type(None), None))
        return intern_token(("by value",)) if self.by_value else self.inner.token(x, name)

    def check(self, call: Call, name: str, x: Any) -> None:
        if x is not None:
            self.inner.check(call, name, x)

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        return None if x is None else self.inner.declare(declarer, source, name, x)

    def declare_member(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        return None if x is None else self.inner.declare_member(declarer, source, name, x)

    def binding(self, x: Any) -> str:
        return "object" if x is None else self.inner.binding(x)
