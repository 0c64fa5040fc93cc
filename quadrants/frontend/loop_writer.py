"""Loops of IR: one `for` over a product of ranges."""

from __future__ import annotations

from quadrants.frontend.state import State
from quadrants.ir.nodes import Const, For
from quadrants.ir.types import i32
from quadrants.lang.value import Value


class LoopWriter:
    """Emits loops whose bodies a function translates."""

    __slots__ = ("reports", "flow", "writer")

    def __init__(self, state: State) -> None:
        self.reports = state.reports
        self.flow = state.flow
        self.writer = state.writer

    @staticmethod
    def field_bounds(decl):
        """(begin, end) of every axis of a field, and the axes from the outermost to the innermost in memory."""
        offset = decl.index_offset or (0,) * decl.ndim
        return [(Const(o, i32), Const(o + n, i32)) for o, n in zip(offset, decl.shape)], _storage_order(decl)

    def product_loop(self, labels, bounds, axes, run, kind: str) -> None:
        """A loop over a product of ranges in the order `axes`; `run` gets the indices in canonical order."""
        order = list(axes) if axes is not None else list(range(len(bounds)))

        def reordered(values):
            canonical = [None] * len(bounds)
            for a, v in zip(order, values):
                canonical[a] = v
            run(canonical)

        self.emit_for([labels[a] for a in order], [bounds[a] for a in order], reordered, kind)

    def emit_for(self, labels, bounds, run, kind: str = "range_for") -> None:
        """Emit a loop; `run` traces its body for the loop variables."""
        config = self.flow.take_config()
        top = self.flow.top_level
        parallel = top and not (config is not None and config.in_order)
        if config is not None and config.name and not top:
            self.reports.log_warning("loop_config(name=...) is ignored on a nested loop")
        if not parallel:
            bounds = [tuple(self.writer.temp(Value(e)).expr for e in pair) for pair in bounds]
        body: list = []
        loop = For((), tuple(bounds), body, parallel, config, kind)
        saved_depth = self.flow.parallel_depth
        self.flow.parallel_depth += int(parallel)
        self.flow.loops.append(loop)
        with self.flow.runtime_control(), self.writer.in_block(body):
            loop.vars = tuple(self.loop_var(label) for label in labels)
            run([self.writer.variable(v) for v in loop.vars])
        self.flow.loops.pop()
        self.flow.parallel_depth = saved_depth
        self.writer.emit(loop)

    def loop_var(self, name: str):
        return self.writer.new_var(name, i32, mutable=False)


def _storage_order(decl):
    """Axes from the outermost to the innermost in memory, or None for row-major."""
    if decl.levels is None or len(decl.levels) != decl.ndim:
        return None
    order = [axis for axis, _, _, _ in sorted(decl.levels, key=lambda level: -level[3])]
    return None if order == list(range(decl.ndim)) or sorted(order) != list(range(decl.ndim)) else order
