"""What the language asks of the tracer at work, which stands above it: `quadrants.frontend.tracer.Tracer`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from quadrants.ir.nodes import ArrayDecl, Loc
from quadrants.ir.types import DType
from quadrants.lang.value import Value


class KernelTracer(Protocol):
    """The tracer as `lang.scope` hands it out. Nothing else of it may be used in this layer."""

    # What the kernel is translated for.
    default_fp: DType
    default_ip: DType
    debug: bool
    check_bounds: bool
    arch_name: str

    @property
    def top_level(self) -> bool:
        """Whether translation is outside of all run-time control flow and functions."""

    def resolve_dtype(self, t: Any, /) -> DType:
        """The dtype that `int`, `float`, `bool` or a dtype stands for."""

    # Statements and variables.

    def emit(self, stmt: Any, /) -> None:
        """Append a statement of IR here."""

    def declare(self, name: str, expr: Any, mutable: bool = True) -> Value:
        """A new variable that starts as `expr`."""

    def temp(self, value: Any, name: str = "t") -> Value:
        """A value that may be read several times."""

    def rename(self, variable: Value, name: str, /) -> None:
        """Give a variable that was made without a name one of the user's."""

    def assign_to(self, target: Any, value: Any, /) -> None:
        """Store to a place, as the assignment of a user does."""

    def atomic(self, op: str, target: Value, value: Any, /) -> Any:
        """Emit an atomic; its old value."""

    def when(self, cond: Value, /) -> AbstractContextManager[None]:
        """Statements that run where `cond` holds."""

    def repeat(self, begin: Any, end: Any, run: Callable[[Value], Any], /, unroll: str = "") -> None:
        """A sequential loop whose body `run(k)` translates."""

    # Failures and reports of the run.

    def check(self, cond: Any, message: tuple, values: tuple | list = ()) -> None:
        """Fail the launch unless `cond` holds."""

    def check_width(self, values: tuple, site: tuple, /) -> tuple:
        """Indices, behind a check that they keep their values as i32."""

    def check_tensor_index(self, exprs: tuple, shape: tuple, /) -> tuple:
        """Indices of a vector or matrix, behind a check that they are inside."""

    def warn(self, text: str, category: type[Warning], /) -> None:
        """A Python warning at the user's line under translation."""

    def name_of(self, value: Any, /) -> str:
        """The name in the line under translation that stands for a Python number; "" where none does."""

    def reported_loc(self) -> Loc | None:
        """The place for a report that is printed while the kernel runs; None where nothing is to be reported."""

    # Blocks, lanes and shared arrays.

    @property
    def in_threads(self) -> bool:
        """Whether translation is inside of a parallel loop, or of a function, which one may call."""

    @property
    def block_dim(self) -> int | None:
        """Threads of a block, where the parallel loop around is known and says so."""

    def need_lanes(self, lanes: int, /) -> int | None:
        """`block_dim`, of which so many threads work together. Of a function, whose loops are not known, those of all
        loops that call it are looked at later."""

    def share_block(self, block_dim: int, /) -> int:
        """Threads of a block of the parallel loop around, which are `block_dim` where it does not say how many."""

    def builtin(self, name: str, t: Any, /) -> Value:
        """A number of the running thread that never changes."""

    def intrinsic(self, op: str, args: tuple = (), t: Any = None, params: tuple = (), /) -> Any:
        """Emit an intrinsic; its value where `t` is a type."""

    def declare_shared(self, shape: tuple, element: Any, name: str = "", /) -> ArrayDecl:
        """A new shared array of the task under translation."""

    def cell(self, decl: ArrayDecl, exprs: tuple, /) -> Value:
        """The cell of an array at i32 indices."""

    def within(self, decl: ArrayDecl, values: tuple, /) -> tuple:
        """Indices as i32, clamped or checked as the array asks for it."""

    def extents(self, decl: ArrayDecl, /) -> list:
        """Extents of an array as i32 expressions."""

    # Calls.

    def bind_struct_method(self, method: Any, value: Any, /) -> Any:
        """A method of a struct, bound to a value of it."""

    def call_func(self, func: Any, args: list, kwargs: dict, /) -> Any:
        """Call a func of the user."""
