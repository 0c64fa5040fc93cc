"""What a trace is asked for: nothing of it changes while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from quadrants.errors import QuadrantsTypeError
from quadrants.ir.types import DType, f32, i32, u1
from quadrants.lang.parameters import compound_kind


class Options:
    """The options of one trace, from those of the runtime and what the kernel was declared with.

    kernel_name: what the kernel, or its derivative, is called in text and messages.
    ad_mode: "", or which derivative is to be made of the trace.
    needed: where `ad_mode` watches a primal, which arrays the derivative reads.
    graph, checkpoints, fastcache: of the declaration.
    """

    __slots__ = (
        "kernel_name", "default_fp", "default_ip", "debug", "check_bounds", "ad_mode", "needed", "short_circuit",
        "unrolling_limit", "raise_on_templated_floats", "arch_name", "graph", "checkpoints", "fastcache",
    )  # fmt: skip

    def __init__(
        self,
        init: Mapping[str, Any],
        name: str = "",
        *,
        graph: bool = False,
        checkpoints: bool = False,
        fastcache: bool = False,
    ) -> None:
        self.ad_mode: Final[str] = init.get("ad_mode", "")
        self.kernel_name: Final = derivative_name(name, self.ad_mode)
        self.default_fp: Final[DType] = init.get("default_fp", f32)
        self.default_ip: Final[DType] = init.get("default_ip", i32)
        self.debug: Final = bool(init.get("debug"))
        self.check_bounds: Final = self.debug or bool(init.get("check_out_of_bound"))
        self.needed: Final[Any] = init.get("needed")  # ad.needed.Needed, which stands above the frontend
        self.short_circuit: Final[bool] = init.get("short_circuit_operators", True)
        self.unrolling_limit: Final[int] = init.get("unrolling_limit", 32)
        self.raise_on_templated_floats: Final = bool(init.get("raise_on_templated_floats"))
        self.arch_name: Final[str] = init.get("arch") or "x64"
        self.graph: Final = graph
        self.checkpoints: Final = checkpoints
        self.fastcache: Final = fastcache

    def resolve_dtype(self, t: Any) -> DType:
        """The dtype that `int`, `float`, `bool` or a dtype stands for."""
        if t is int:
            return self.default_ip
        if t is float:
            return self.default_fp
        if t is bool:
            return u1
        if isinstance(t, DType):
            return t
        raise QuadrantsTypeError(
            f"Invalid data type {t!r}. Use a primitive type such as qd.f32 or qd.i32, or int, float, bool."
        )

    def resolve_type(self, t: Any):
        """A dtype or compound type used as an annotation inside a body."""
        return t.ir_type() if compound_kind(t) else self.resolve_dtype(t)


def derivative_name(name: str, mode: str) -> str:
    """The name under which a kernel, or its derivative in `mode`, is compiled."""
    return f"{name}_{mode}_grad" if mode else name
