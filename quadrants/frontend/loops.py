"""`for` in all its forms, `while`, `break`, `continue`."""

from __future__ import annotations

import ast

import numpy as np

from quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend import ndrange
from quadrants.frontend.assignment import Assignment
from quadrants.frontend.evaluation import Evaluation
from quadrants.frontend.fields import Fields
from quadrants.frontend.graphs import Graphs
from quadrants.frontend.loop_writer import LoopWriter
from quadrants.frontend.memory import Memory
from quadrants.frontend.recognition import Recognition
from quadrants.frontend.refs import ArrayRef
from quadrants.frontend.state import State
from quadrants.frontend.views import ViewRef
from quadrants.frontend.walker import Walker
from quadrants.ir.nodes import Break, Const, Continue, For, While
from quadrants.ir.types import DType, i32, tensor_type
from quadrants.lang import constants, tensor, typed
from quadrants.lang.control import BACKWARDS
from quadrants.lang.described import type_name
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.value import Value
from quadrants.toolchain import progress


class _Unrolled(Exception):
    """break or continue of a compile-time loop."""

    def __init__(self, kind: str):
        self.kind = kind


class Loops:
    """Loops of the user."""

    __slots__ = (
        "options", "names", "positions", "reports", "flow", "writer", "declared", "walker", "recognition",
        "evaluation", "fields", "memory", "loop_writer", "assignment", "graphs",
    )  # fmt: skip

    def __init__(
        self,
        state: State,
        walker: Walker,
        recognition: Recognition,
        evaluation: Evaluation,
        fields: Fields,
        memory: Memory,
        loop_writer: LoopWriter,
        assignment: Assignment,
        graphs: Graphs,
    ) -> None:
        self.options = state.options
        self.names = state.names
        self.positions = state.positions
        self.reports = state.reports
        self.flow = state.flow
        self.writer = state.writer
        self.declared = state.declared
        self.walker = walker
        self.recognition = recognition
        self.evaluation = evaluation
        self.fields = fields
        self.memory = memory
        self.loop_writer = loop_writer
        self.assignment = assignment
        self.graphs = graphs

    def exec_For(self, node) -> None:
        if node.orelse:
            raise _refuse_else("for", node)
        self.run_for(node, node.iter)

    def run_for(self, node, it) -> None:
        if isinstance(it, ast.IfExp) and self.recognition.is_static_call(it.test):
            self.run_for(node, it.body if self.evaluation.static_truth(it.test) else it.orelse)
            return
        if isinstance(it, ast.Call):
            decorator = self.recognition.decorator_of(it)
            if decorator == "static":
                self.static_for(node, it)
                return
            if decorator == "ndrange":
                self.ndrange_for(node, it, grouped=False)
                return
            if decorator == "grouped":
                self.grouped_for(node, it)
                return
            if isinstance(it.func, ast.Name) and it.func.id == "range":
                self.range_for(node, it)
                return
        self.struct_for(node, self.walker.eval(it), grouped=False)

    # ------------------------------------------------------------ compile-time loops

    def static_for(self, node, call) -> None:
        inner = call.args[0] if len(call.args) == 1 else None
        if isinstance(inner, ast.Call) and self.recognition.decorator_of(inner) == "static":
            raise QuadrantsSyntaxError("qd.static cannot be nested in a loop header.")
        items = self.static_iterable(call)
        targets = self.assignment.target_names(node.target)
        limit = self.options.unrolling_limit
        items = list(items)
        if limit and len(items) > limit and not self.positions.in_package():
            self.reports.warn(
                f"You are unrolling more than {limit} iterations, so the compile time may be extremely long. "
                "You can use a non-static for loop if you want to decrease the compile time. "
                "You can disable this warning by setting qd.init(unrolling_limit=0).",
                SyntaxWarning,
            )
        around, depths = self.flow.loops, self.flow.static_depths  # an error in a called function leaves it others
        around.append("static")
        depths.append(self.flow.runtime_depth)
        try:
            for item in items:
                try:
                    with self.positions.frame.static_scope():
                        self.assignment.bind_static_targets(targets, item)
                        self.walker.exec_body(node.body)
                        progress.tick()
                except _Unrolled as leave:
                    self.positions.frame.node = node
                    if leave.kind == "break":
                        break
                if self.positions.frame.returned:
                    break
        finally:
            around.pop()
            depths.pop()

    def static_iterable(self, call):
        value = self.evaluation.eval_static(call)
        if isinstance(value, Value):
            raise QuadrantsCompilationError(
                "qd.static needs a compile-time iterable, got a run-time value; for a vector v "
                "write `for i in qd.static(range(v.n))`."
            )
        kind = getattr(value, "_qd_kind", "")
        if isinstance(value, (int, float)) or kind in FIELD_KINDS:
            raise QuadrantsCompilationError(f"Cannot loop over the object {type(value)} at compile time")
        return value

    # ------------------------------------------------------------ range

    def range_for(self, node, call) -> None:
        if call.keywords or not 1 <= len(call.args) <= 2:
            raise QuadrantsSyntaxError(
                f"Range should have 1 or 2 arguments, found {len(call.args)}; for a step s, of either sign, write "
                "`for k in range(-((a - b) // s)): i = a + k * s`."
            )
        names = self.assignment.target_names(node.target)
        if len(names) != 1 or names[0][1]:
            raise QuadrantsSyntaxError("A range loop has exactly one target.")
        name = names[0][0]
        self._refuse_taken(name)
        with self.flow.header():
            args = [self.range_bound(x) for x in self.evaluation.eval_each(call.args)]
        begin, end = (Const(0, i32), args[0]) if len(args) == 1 else args

        def run(values):
            self.positions.frame.bind(name, values[0], "target")
            self.walker.exec_body(node.body)

        self.loop_writer.emit_for([name], [(begin, end)], run)

    def _refuse_taken(self, name: str) -> None:
        frame = self.positions.frame
        if frame.lookup_local(name) is not None and (name != "_" or frame.reads(name)):
            raise QuadrantsSyntaxError(
                f'"{name}" is already declared in the outer scope; give the loop variable another name.'
            )

    def range_bound(self, x):
        x = typed.unboxed(x)
        if isinstance(x, Value):
            e = x.expr
            if not isinstance(e.type, DType):
                raise QuadrantsTypeError(f"range() needs integers, found {e.type}")
        elif isinstance(x, (bool, int, np.integer, float, np.floating)) or typed.is_number(x):
            e = typed.to_expr(x) if not isinstance(x, (int, np.integer)) else Const(int(x), i32)
            if isinstance(x, (int, np.integer)) and not -(2**31) <= int(x) < 2**31:
                told = f"Integer literal {constants.shown(int(x))} exceeded the range of a loop bound"
                raise QuadrantsTypeError(f"{told}: i32")
        else:
            raise QuadrantsTypeError(f"range() needs integers, found {type_name(x)}")
        if e.type is not i32 and (e.type.is_real or e.type.bits > 32 or e.type.name == "u32"):
            text = f"Casting range_for boundary values from {e.type} to i32, which may cause numerical issues"
            self.reports.warn_once(text, UserWarning)
        return typed.cast_expr(e, i32)

    # ------------------------------------------------------------ ndrange

    def ndrange_bounds(self, call):
        """(bounds, axes) of a `qd.ndrange(...)` call."""
        axes = None
        for keyword in call.keywords:
            if keyword.arg != "axes":
                raise QuadrantsSyntaxError(f"ndrange() got an unexpected keyword argument '{keyword.arg}'")
            axes = self.walker.eval(keyword.value)
        args = self.evaluation.eval_arguments(call.args)
        bounds = [ndrange.entry(a, self.options.default_ip) for a in args]
        if axes is not None:
            axes = _check_axes(axes, len(bounds))
        return bounds, axes

    def ndrange_for(self, node, call, grouped: bool) -> None:
        with self.flow.header():
            bounds, axes = self.ndrange_bounds(call)
        names = self.assignment.target_names(node.target)
        if grouped:
            self._grouped_targets(names)
        elif len(names) != len(bounds):
            raise QuadrantsSyntaxError(
                f"The number of loop targets ({len(names)}) is not equal to the dimension of the ndrange "
                f"({len(bounds)})"
            )
        kind = "range_for" if self.flow.top_level else "ndrange_for"
        if grouped:
            bounds = [tuple(ndrange.narrow(e) or self.range_bound(Value(e)) for e in pair) for pair in bounds]
        bounds, firsts = ndrange.counted(self.writer, bounds)
        self.product_for(node, names, bounds, axes, grouped, kind, firsts=firsts)

    def product_for(
        self,
        node,
        names,
        bounds,
        axes,
        grouped: bool,
        kind: str = "range_for",
        assignable=True,
        levels: tuple = (),
        firsts: tuple | list = (),
    ) -> None:
        """Loops over a product of ranges; targets keep argument order whatever the visiting order is.

        firsts: for every axis None, or what the loop's counter is added to.
        levels: (axis, extent, divisor) from the outside in, where an axis is split over several levels of storage.
        """
        n = len(bounds)
        labels = (
            [f"{names[0][0].strip('_') or 'index'}_{a}" for a in range(n)] if grouped else [name for name, _ in names]
        )

        def run(canonical):
            if firsts:
                canonical = [ndrange.index(self.writer, *axis) for axis in zip(labels, firsts, canonical)]
            if grouped:
                vector = tensor.make(canonical, tensor_type((n,), i32))
                self.positions.frame.bind(names[0][0], self.writer.named(vector.expr, names[0][0]), "var")
            else:
                for (name, _), v in zip(names, canonical):
                    if assignable and self._assigned_in(node, name):
                        self.positions.frame.bind(name, self.writer.declare(name, v.expr), "var")
                    else:
                        self.positions.frame.bind(name, v, "target")
            self.walker.exec_body(node.body)

        if levels:
            self._block_loop(labels, bounds, levels, run, kind)
        else:
            self.loop_writer.product_loop(labels, bounds, axes, run, kind)

    def _block_loop(self, labels, bounds, levels: tuple, run, kind: str) -> None:
        """A loop over the levels of a field in the order of its memory, block by block."""

        def joined(values):
            sums: list = [Value(begin) if begin.value else None for begin, _ in bounds]
            for (axis, _, divisor), value in zip(levels, values):
                part = typed.binary("mul", value, Value(Const(divisor, i32))) if divisor > 1 else value
                sums[axis] = part if sums[axis] is None else typed.binary("add", sums[axis], part)
            # Never a temporary: the loop's own name stands for it, and a variable that copies it must be another one.
            run([self.writer.declare(label, index.expr, mutable=False) for index, label in zip(sums, labels)])

        names = [f"{labels[axis]}_{k}" for k, (axis, _, _) in enumerate(levels)]
        self.loop_writer.emit_for(names, [(Const(0, i32), Const(extent, i32)) for _, extent, _ in levels], joined, kind)

    @staticmethod
    def _assigned_in(node, name: str) -> bool:
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and child.id == name and isinstance(child.ctx, ast.Store):
                if child is not node.target and not _inside(node.target, child):
                    return True
        return False

    def _grouped_targets(self, names) -> None:
        if len(names) != 1 or names[0][1]:
            raise QuadrantsSyntaxError("A grouped loop has exactly one target, which is a vector.")

    # ------------------------------------------------------------ arrays and fields

    def grouped_for(self, node, call) -> None:
        if len(call.args) != 1:
            raise QuadrantsSyntaxError("qd.grouped takes exactly one argument.")
        inner = call.args[0]
        if isinstance(inner, ast.Call):
            decorator = self.recognition.decorator_of(inner)
            if decorator == "ndrange":
                self.ndrange_for(node, inner, grouped=True)
                return
            if decorator:
                raise QuadrantsSyntaxError(f"qd.{decorator} cannot be used inside qd.grouped.")
        self.struct_for(node, self.walker.eval(inner), grouped=True)

    def struct_for(self, node, obj, grouped: bool) -> None:
        kind = kind_of(obj)
        if kind == "struct_field":
            obj = self._first_leaf(obj)
            kind = kind_of(obj)
        if kind in FIELD_KINDS:
            self.names.hint = _name_of(node.iter)
            self._field_for(node, self.fields.field_decl(obj), grouped)
        elif isinstance(obj, ArrayRef):
            decl = obj.decl
            bounds = [(Const(0, i32), e) for e in self.memory.extents(decl)]
            self._array_for(node, bounds, decl.layout, grouped)
        elif kind == "snode":
            bounds = [(Const(0, i32), Const(int(n), i32)) for n in obj.shape]
            self._array_for(node, bounds, None, grouped, over=self.fields.node_decl(obj))
        elif isinstance(obj, Value):
            written = ast.unparse(node.iter)
            cure = f"`range({written})`" if obj.is_scalar else f"`range({written}.n)`"
            raise QuadrantsCompilationError(f"Cannot loop over the object of type {obj.type}; loop over {cure}.")
        elif isinstance(obj, ViewRef):
            raise QuadrantsCompilationError("A BufferView cannot be looped over; write `for i in range(v.size)`.")
        else:
            unrolled = isinstance(obj, (list, tuple, zip, enumerate, map, filter))
            advice = " Write `for .. in qd.static(..)`: it repeats the body for each item." if unrolled else ""
            if isinstance(obj, BACKWARDS):
                advice = " Write `for k in range(n)` and take `n - 1 - k`, or qd.static(range(n - 1, -1, -1))."
            if isinstance(obj, (int, float)):
                advice = f" Write `range({ast.unparse(node.iter)})`."
            raise QuadrantsCompilationError(f"Cannot loop over the object {type(obj)} in Quadrants scope.{advice}")

    def _first_leaf(self, field):
        while kind_of(field) == "struct_field":
            field = field.get_member_field(field.keys[0])
        return field

    def _field_for(self, node, decl, grouped: bool) -> None:
        if not self.flow.top_level:
            if self.flow.runtime_depth or self.flow.parallel_depth:
                raise QuadrantsRuntimeError(
                    "A struct-for over a field cannot be nested inside a kernel; "
                    "use `for ... in qd.ndrange(*field.shape)` for an inner loop."
                )
        bounds, axes = self.loop_writer.field_bounds(decl)
        over = decl.components[0] if decl.components else decl
        if over.within is not None:
            self._array_for(node, bounds, None, grouped, over=over)
        else:
            self._array_for(node, bounds, axes, grouped, "struct_for", _levels(decl))

    def _array_for(
        self, node, bounds, axes, grouped: bool, kind: str = "struct_for", levels: tuple = (), over=None
    ) -> None:
        names = self.assignment.target_names(node.target)
        if grouped:
            self._grouped_targets(names)
        elif len(names) != len(bounds):
            raise QuadrantsCompilationError(_wrong_targets(node.iter, len(names), len(bounds)))
        for name, _ in names:
            self._refuse_taken(name)
        self.product_for(node, names, bounds, axes, grouped, kind, assignable=False, levels=levels)
        if over is not None:
            loop = self.writer.block[-1]
            loop.over = over
            self.declared.on_nodes = True

    # ------------------------------------------------------------ while, break, continue

    def exec_While(self, node) -> None:
        if node.orelse:
            raise _refuse_else("while", node)
        if self.recognition.region_call(node.test) == "do_while":
            self.graphs.do_while(node)
            return
        pre: list = []
        body: list = []
        self.flow.loops.append("while")
        with self.flow.runtime_control():
            with self.writer.in_block(pre):
                cond = typed.condition(self.walker.eval(node.test), "while", node.test)
                # What the condition declares is seen by the body.
                with self.writer.in_block(body):
                    self.walker.exec_body(node.body)
        self.flow.loops.pop()
        self.writer.emit(While(pre, cond, body))

    def exec_Break(self, node) -> None:
        self._leave("break")

    def exec_Continue(self, node) -> None:
        self._leave("continue")

    def _leave(self, kind: str) -> None:
        if not self.flow.loops or self.flow.loops[-1] == "function":
            raise QuadrantsSyntaxError(f"'{kind}' outside a loop")
        loop = self.flow.loops[-1]
        if loop == "static":
            if self._static_under_runtime_if():
                raise QuadrantsSyntaxError(
                    f"You are trying to `{kind}` a static `for` loop, but the `{kind}` statement is inside a "
                    "non-static `if`. Loop over a plain `range`, or set a flag there that an `if` around the rest asks."
                )
            raise _Unrolled(kind)
        if kind == "break":
            if isinstance(loop, For):
                if loop.parallel:
                    raise QuadrantsSyntaxError(
                        "Cannot break in the outermost loop: its iterations run in parallel; "
                        "put qd.loop_config(serialize=True) before the loop to run it in order."
                    )
                loop.has_break = True
            self.writer.emit(Break(loop if isinstance(loop, For) else None))
        else:
            self.writer.emit(Continue())

    def _static_under_runtime_if(self) -> bool:
        return self.flow.runtime_depth > self.flow.static_depths[-1]


def _refuse_else(kind: str, node) -> QuadrantsSyntaxError:
    told = f"'else' clause for '{kind}' is not supported in Quadrants kernels: "
    if any(isinstance(child, ast.Break) for child in ast.walk(node)):
        told += "set a variable before each `break`, as in `left = 1`, and write the statements behind the loop, under "
        return QuadrantsSyntaxError(f"{told}`if left == 0:`.")
    return QuadrantsSyntaxError(f"{told}write its statements behind the loop, which has no `break`.")


def _inside(tree, node) -> bool:
    return any(child is node for child in ast.walk(tree))


def _wrong_targets(iterated, targets: int, axes: int) -> str:
    told = f"Number of struct-for indices does not match loop variable dimensionality: {targets} targets, {axes} axes"
    written = ast.unparse(iterated)
    if not axes:
        return f"{told}. `{written}` has one cell, `{written}[None]`: write no loop."
    few, indices = ("i", "one index") if axes == 1 else (", ".join("ijklmnpq"[:axes]), f"{axes} indices")
    return f"{told}. `{written}` has {indices}: write `for {few} in {written}`, or `for I in qd.grouped({written})`."


def _check_axes(axes, n: int) -> list:
    if not isinstance(axes, (tuple, list)):
        raise QuadrantsTypeError("ndrange axes must be a tuple; its entries must be Python ints")
    for a in axes:
        if isinstance(a, bool) or not isinstance(a, int):
            raise QuadrantsTypeError(f"ndrange axes entries must be Python ints, found {type_name(a)}")
    if len(axes) != n:
        raise QuadrantsSyntaxError(f"ndrange has {n} axes but `axes` has {len(axes)} entries: they must match")
    if sorted(axes) != list(range(n)):
        raise QuadrantsSyntaxError(f"ndrange axes={tuple(axes)} is not a permutation of range({n})")
    return list(axes)


def _levels(decl) -> tuple:
    """(axis, extent, divisor) of every level from the outside in; () where no axis is split."""
    if decl.levels is None or len(decl.levels) == decl.ndim and decl.packed is None:
        return ()
    found = [level[:3] for level in sorted(decl.levels, key=lambda level: -level[3])]
    if decl.packed is None:
        return tuple(found)
    found += [level[:3] for level in decl.packed.levels]
    axes = [level[0] for level in found]
    return () if axes == sorted(axes) else tuple(found)  # one axis behind another is the order of any loop


def _name_of(iterated: ast.expr) -> str:
    """The name under which a loop mentions what it runs over, also inside `qd.grouped`."""
    while isinstance(iterated, ast.Call) and iterated.args:
        iterated = iterated.args[0]
    return getattr(iterated, "attr", getattr(iterated, "id", ""))
