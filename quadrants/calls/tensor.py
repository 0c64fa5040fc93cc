"""`x: qd.Tensor`: a field, an ndarray, or an array of another package, whichever is passed; also None."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadrants._ext.core import ANY, TokenBase, intern_token
from quadrants.calls.kind import Kind, Source
from quadrants.calls.template import declare_template
from quadrants.calls.tokens import external_token, template_token
from quadrants.lang import parameters
from quadrants.lang.kinds import FIELD_KINDS, is_external, kind_of, unwrapped

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class Tensor(Kind):
    core = ANY
    selects = "array0"
    optional = True
    takes_fields = True

    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return parameters.is_tensor_annotation(annotation)

    def token(self, x: Any, name: str) -> int | tuple[int]:
        x = unwrapped(x)
        if isinstance(x, TokenBase):
            return x.token
        if x is None:
            return intern_token(("value", type(None), None))
        return external_token(x, name) if is_external(x) else template_token(x, name)

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        x = unwrapped(x)
        if x is None or kind_of(x) in FIELD_KINDS:
            return x
        if kind_of(x) == "ndarray" or is_external(x):
            return declarer.array(source, name, x, self.annotation)
        return declare_template(declarer, source, name, x)
