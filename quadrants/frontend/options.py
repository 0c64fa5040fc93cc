"""What a trace is asked for: nothing of it changes while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quadrants.errors import QuadrantsTypeError
from quadrants.ir.types import DType, f32, i32, u1
from quadrants.lang.parameters import compound_kind


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one trace.

    kernel_name: what the kernel, or its derivative, is called in text and messages.
    ad_mode: "", or which derivative is to be made of the trace.
    needed: where `ad_mode` watches a primal, which arrays the derivative reads.
    graph, checkpoints, fastcache: what the kernel was declared with.
    """

    kernel_name: str = ""
    default_fp: DType = f32
    default_ip: DType = i32
    debug: bool = False
    check_bounds: bool = False
    ad_mode: str = ""
    needed: Any = None  # ad.needed.Needed, which stands above the frontend
    short_circuit: bool = True
    unrolling_limit: int = 32
    raise_on_templated_floats: bool = False
    arch_name: str = "x64"
    graph: bool = False
    checkpoints: bool = False
    fastcache: bool = False

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
        raise QuadrantsTypeError(f"Invalid data type {t!r}")

    def resolve_type(self, t: Any):
        """A dtype or compound type used as an annotation inside a body."""
        return t.ir_type() if compound_kind(t) else self.resolve_dtype(t)


def options_of(init: Mapping[str, Any], name: str, **declared: bool) -> Options:
    """The options that `init`, which has those of the runtime too, holds for the kernel `name`."""
    debug, mode = bool(init.get("debug")), init.get("ad_mode", "")
    return Options(
        kernel_name=derivative_name(name, mode),
        default_fp=init.get("default_fp", f32),
        default_ip=init.get("default_ip", i32),
        debug=debug,
        check_bounds=bool(init.get("check_out_of_bound")) or debug,
        ad_mode=mode,
        needed=init.get("needed"),
        short_circuit=init.get("short_circuit_operators", True),
        unrolling_limit=init.get("unrolling_limit", 32),
        raise_on_templated_floats=bool(init.get("raise_on_templated_floats")),
        arch_name=init.get("arch") or "x64",
        **declared,
    )


def derivative_name(name: str, mode: str) -> str:
    """The name under which a kernel, or its derivative in `mode`, is compiled."""
    return f"{name}_{mode}_grad" if mode else name
