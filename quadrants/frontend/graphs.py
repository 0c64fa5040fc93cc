"""Regions of a kernel: `while qd.graph.do_while(...)`, checkpoints, parallel sections."""

from __future__ import annotations

import ast
import enum
from contextlib import contextmanager

from quadrants.errors import QuadrantsCompilationError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.recognition import Recognition
from quadrants.frontend.refs import ArrayRef
from quadrants.frontend.state import State
from quadrants.frontend.walker import Walker
from quadrants.ir.nodes import Region
from quadrants.ir.types import i32

_WITH_ONLY = (
    "'with' in Quadrants kernels only supports qd.stream_parallel(), qd.checkpoint(...), qd.graph.parallel_context() "
    "and qd.graph.parallel()"
)
_AROUND = "Enter and leave anything else in Python, around the call of the kernel."
# Statements that have no meaning for a loop or block around tasks.
_NOT_IN_LOOP = (ast.Break, ast.Continue, ast.Pass, ast.Return, ast.Assert)


class Graphs:
    """Regions. `regions`: the open ones, from the outside in. `labels`: of the checkpoints, as the user wrote them."""

    __slots__ = ("options", "positions", "flow", "writer", "walker", "recognition", "regions", "labels")

    def __init__(self, state: State, walker: Walker, recognition: Recognition) -> None:
        self.options = state.options
        self.positions = state.positions
        self.flow = state.flow
        self.writer = state.writer
        self.walker = walker
        self.recognition = recognition
        self.regions: list[Region] = []
        self.labels: list = []

    # ------------------------------------------------------------ do_while

    def do_while(self, node) -> None:
        """`while qd.graph.do_while(flag):`"""
        if not self.options.graph:
            raise QuadrantsSyntaxError("qd.graph.do_while() requires @qd.kernel(graph=True)")
        if not self.flow.top_level or self.positions.frame.kind == "real":
            raise QuadrantsSyntaxError(
                "qd.graph.do_while() must be at the kernel top level or directly nested inside another "
                "qd.graph.do_while(); it cannot appear inside a for-loop, a run-time if or a plain while."
            )
        if self.inside("section"):
            raise QuadrantsSyntaxError("qd.graph.do_while() cannot be inside a qd.graph.parallel() section.")
        args = [*node.test.args, *(k.value for k in node.test.keywords if k.arg == "condition")]
        if len(args) != 1 or len(node.test.args) + len(node.test.keywords) != 1:
            raise QuadrantsTypeError("qd.graph.do_while() takes one argument, the flag")
        for stmt in node.body:
            plain_while = isinstance(stmt, ast.While) and self.recognition.region_call(stmt.test) != "do_while"
            if isinstance(stmt, _NOT_IN_LOOP) or plain_while:
                self.positions.frame.node = stmt
                raise QuadrantsSyntaxError(
                    f"A qd.graph.do_while() body may not contain a {type(stmt).__name__} statement. Allowed: "
                    "for-loops, assignments, calls, if, nested qd.graph.do_while() and checkpoints. Only the flag ends "
                    "the loop."
                )
        with self.region("loop", self.flag(args[0], "qd.graph.do_while(...)")):
            self.walker.exec_body(node.body)

    def flag(self, node, what: str):
        """The declaration of the 0-d i32 ndarray that an expression names."""
        found = None
        if isinstance(node, (ast.Name, ast.Attribute)):
            try:
                found = self.walker.eval(node)
            except QuadrantsCompilationError:  # no such name, or nothing of that name in an object
                found = None
        if not isinstance(found, ArrayRef):
            raise QuadrantsSyntaxError(
                f"{what} got '{ast.unparse(node)}', which does not resolve to an ndarray kernel parameter of "
                f"'{self.options.kernel_name}'. Pass a 0-d i32 ndarray: a parameter (`flag`), a member of a "
                "@qd.data_oriented object (`self.flag`) or of a dataclass parameter (`state.flag`)."
            )
        decl = found.decl
        if decl.type is not i32 or decl.ndim != 0:
            raise QuadrantsTypeError(
                f"{what} needs a 0-d i32 ndarray: '{ast.unparse(node)}' is {decl.ndim}-d of {decl.type}; make it with "
                "qd.ndarray(qd.i32, ())"
            )
        return decl

    # ------------------------------------------------------------ with

    def exec_With(self, node) -> None:
        if len(node.items) != 1:
            raise QuadrantsSyntaxError(f"{_WITH_ONLY}, one in each statement")
        item = node.items[0]
        name = self.recognition.region_call(item.context_expr)
        if name not in ("stream_parallel", "checkpoint", "parallel_context", "parallel"):
            raise QuadrantsSyntaxError(f"{_WITH_ONLY}. {_AROUND}")
        if item.optional_vars is not None:
            raise QuadrantsSyntaxError("'with ... as ...' is not supported in Quadrants kernels")
        call = item.context_expr
        if name != "checkpoint" and (call.args or call.keywords):
            raise QuadrantsSyntaxError(f"{_spelled(name)} takes no arguments")
        if name == "stream_parallel":
            self._with_stream_parallel(node)
        elif name == "checkpoint":
            self._with_checkpoint(node, call)
        elif name == "parallel_context":
            self._with_parallel_context(node)
        else:
            self._with_parallel(node)

    def _with_stream_parallel(self, node) -> None:
        if self.options.graph:
            raise QuadrantsSyntaxError(
                "qd.stream_parallel() is not compatible with graph=True kernels: remove one of the two, or use "
                "qd.graph.parallel_context()."
            )
        self._outside_loops("qd.stream_parallel()")
        if self.inside("stream"):
            raise QuadrantsSyntaxError("Nested qd.stream_parallel() blocks are not supported.")
        for number, stmt in enumerate(self.positions.frame.source.tree.body):
            if not self._may_hold_streams(stmt):
                self.positions.frame.node = stmt
                raise QuadrantsSyntaxError(
                    "When using qd.stream_parallel(), all top-level statements in the kernel must be "
                    f"'with qd.stream_parallel():' blocks; statement {number} is none. Move it to a kernel of its own."
                )
        with self.region("stream"):
            self.walker.exec_body(node.body)

    def _may_hold_streams(self, stmt) -> bool:
        if isinstance(stmt, ast.With):
            return self.recognition.region_call(stmt.items[0].context_expr) == "stream_parallel"
        return _is_text(stmt) or self._is_static_control(stmt)

    def _with_parallel_context(self, node) -> None:
        if not self.options.graph:
            raise QuadrantsSyntaxError("qd.graph.parallel_context() requires @qd.kernel(graph=True)")
        if self.options.checkpoints:
            raise QuadrantsSyntaxError("qd.graph.parallel_context() is not supported with checkpoints=True.")
        self._in_kernel("qd.graph.parallel_context()")
        if self.inside("parallel", "section"):
            raise QuadrantsSyntaxError("qd.graph.parallel_context() cannot be nested.")
        self._only_sections(node.body)
        with self.region("parallel"):
            self.walker.exec_body(node.body)

    def _only_sections(self, body: list) -> None:
        for stmt in body:
            section = isinstance(stmt, ast.With) and self.recognition.region_call(stmt.items[0].context_expr) in (
                "parallel", "parallel_context",
            )  # fmt: skip
            if self._is_static_control(stmt):
                self._only_sections([*stmt.body, *stmt.orelse])
            elif not section and not _is_text(stmt) and not isinstance(stmt, ast.Pass):
                self.positions.frame.node = stmt
                raise QuadrantsSyntaxError(
                    "A qd.graph.parallel_context() holds only 'with qd.graph.parallel():' blocks, each by itself, "
                    "under `if qd.static(...)` or in `for ... in qd.static(...)`."
                )

    def _is_static_control(self, stmt) -> bool:
        header = stmt.test if isinstance(stmt, ast.If) else stmt.iter if isinstance(stmt, ast.For) else None
        return header is not None and self.recognition.is_static_call(header)

    def _with_parallel(self, node) -> None:
        if not self.options.graph:
            raise QuadrantsSyntaxError("qd.graph.parallel() requires @qd.kernel(graph=True)")
        self._in_kernel("qd.graph.parallel()")
        if not self.regions or self.regions[-1].kind != "parallel":
            raise QuadrantsSyntaxError(
                "qd.graph.parallel() belongs directly in a 'with qd.graph.parallel_context():' block."
            )
        with self.region("section"):
            self.walker.exec_body(node.body)

    # ------------------------------------------------------------ checkpoints

    def _with_checkpoint(self, node, call) -> None:
        if not self.options.checkpoints:
            raise QuadrantsSyntaxError("qd.checkpoint() requires @qd.kernel(graph=True, checkpoints=True)")
        if self.inside("checkpoint"):
            raise QuadrantsSyntaxError("qd.checkpoint() cannot be nested inside another qd.checkpoint().")
        self._outside_loops("qd.checkpoint()")
        given = dict(zip(("cp_id", "yield_on"), call.args))
        given.update((k.arg, k.value) for k in call.keywords)
        if set(given) != {"cp_id", "yield_on"} or len(given) != len(call.args) + len(call.keywords):
            raise QuadrantsSyntaxError("qd.checkpoint() takes a label and a flag: qd.checkpoint(1, yield_on=flag)")
        label = self._label(given["cp_id"])
        if any(int(label) == int(known) for known in self.labels):
            raise QuadrantsSyntaxError(f"Two checkpoints have the label {label!r}: it must be unique in the kernel.")
        for stmt in node.body:
            if not (isinstance(stmt, (ast.For, ast.If, ast.While, ast.With, ast.Pass)) or _is_text(stmt)):
                self.positions.frame.node = stmt
                raise QuadrantsSyntaxError(
                    f"A qd.checkpoint() block holds for-loops and ifs, no {type(stmt).__name__} statement of its own: "
                    "put it in `for _ in range(1):`."
                )
        with self.region("checkpoint", self.flag(given["yield_on"], "qd.checkpoint(yield_on=...)"), label):
            self.walker.exec_body(node.body)

    def _label(self, node) -> int:
        value = self.walker.eval(node) if _is_plain(node) else None
        if isinstance(value, bool) or not (isinstance(value, int) or isinstance(value, enum.IntEnum)):
            raise QuadrantsSyntaxError(
                f"The label of a checkpoint is an int literal, a module-level int or a member of an IntEnum, not "
                f"'{ast.unparse(node)}'."
            )
        if not -(2**63) <= int(value) < 2**63:
            raise QuadrantsSyntaxError(f"The label {int(value)} of a checkpoint does not fit in 64 bits.")
        return value

    # ------------------------------------------------------------ regions

    def inside(self, *kinds: str) -> bool:
        """Whether a region of one of these kinds is open."""
        return any(r.kind in kinds for r in self.regions)

    def _in_kernel(self, what: str) -> None:
        if self.positions.frame.kind != "kernel":
            decorator = "@qd.real_func" if self.positions.frame.kind == "real" else "@qd.func"
            raise QuadrantsSyntaxError(f"{what} can only be used inside @qd.kernel, not {decorator}")

    def _outside_loops(self, what: str) -> None:
        self._in_kernel(what)
        if not self.flow.top_level:
            raise QuadrantsSyntaxError(f"{what} must be at the kernel top level, not in a run-time for, if or while.")

    @contextmanager
    def region(self, kind: str, flag=None, label: int = 0):
        """Fill a region: its loops are tasks, its names are its own, and nothing leaves it."""
        if self.options.ad_mode and kind in ("loop", "checkpoint"):
            raise QuadrantsSyntaxError(
                f"A kernel with {'qd.graph.do_while()' if kind == 'loop' else 'qd.checkpoint()'} has no derivative: "
                "how often its tasks run is not known. Call the passes from Python, as kernels of their own."
            )
        made = Region(kind, [], flag, int(label))
        if kind == "checkpoint":
            self.labels.append(label)
        self.regions.append(made)
        self.flow.loops.append("function")
        try:
            # Derivatives, and loops of one thread, run sections in order.
            if self.options.ad_mode or not self.flow.top_level:
                yield
            else:
                self.writer.emit(made)
                self.positions.frame.control_depth += 1
                with self.writer.in_block(made.body):
                    yield
                self.positions.frame.control_depth -= 1
        finally:
            self.flow.loops.pop()
            self.regions.pop()


def _spelled(name: str) -> str:
    return f"qd.{name}()" if name == "stream_parallel" else f"qd.graph.{name}()"


def _is_text(stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _is_plain(node) -> bool:
    """A literal or a name: nothing that computes."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, (ast.Constant, ast.Name, ast.Attribute))
