"""The tracer: walks the AST of a kernel once per specialisation and builds IR.

It is composed of state (`state.py`) and parts, which take what they need in their constructors: state, and parts that
were made before them. No part reaches what is above it but by the walker, whose tables this module fills; only calls
of `qd.*` functions hand the tracer itself to their handlers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from quadrants.frontend.arguments import Arguments
from quadrants.frontend.assignment import Assignment
from quadrants.frontend.atomics import Atomics
from quadrants.frontend.augmented import Augmented
from quadrants.frontend.calls import Calls
from quadrants.frontend.companions import Companions
from quadrants.frontend.containers import Containers
from quadrants.frontend.differentiated import Differentiated
from quadrants.frontend.emitted_funcs import EmittedFuncs
from quadrants.frontend.evaluation import Evaluation
from quadrants.frontend.expressions import Expressions
from quadrants.frontend.fields import Fields
from quadrants.frontend.func_arguments import FuncArguments
from quadrants.frontend.funccall import FuncCalls
from quadrants.frontend.graphs import Graphs
from quadrants.frontend.lookups import Lookups
from quadrants.frontend.loop_writer import LoopWriter
from quadrants.frontend.loops import Loops
from quadrants.frontend.memory import Memory
from quadrants.frontend.operators import Operators
from quadrants.frontend.options import Options
from quadrants.frontend.output import Output
from quadrants.frontend.outside import Outside
from quadrants.frontend.places import Places
from quadrants.frontend.realcall import RealCalls
from quadrants.frontend.recognition import Recognition
from quadrants.frontend.record import Record
from quadrants.frontend.returns import Returns
from quadrants.frontend.simt import Simt
from quadrants.frontend.sparse import Sparse
from quadrants.frontend.state import State
from quadrants.frontend.statements import Statements
from quadrants.frontend.struct_methods import bind_struct_method
from quadrants.frontend.views import Views
from quadrants.frontend.walker import Walker


class Tracer:
    """The parts of one trace, and what `quadrants.lang.kernel_tracer.KernelTracer` asks of it.

    Handlers of intrinsics get it, and the language finds it in `quadrants.lang.scope`. Attributes are declared in
    `__slots__`, and set here alone.
    """

    __slots__ = (
        # state
        "options", "names", "positions", "reports", "flow", "writer", "declared", "functions", "purity",
        # parts
        "walker", "recognition", "evaluation", "fields", "outside", "memory", "views", "places", "atomics",
        "loop_writer", "simt", "sparse", "companions", "arguments", "containers", "returns", "assignment", "output",
        "operators", "lookups", "augmented", "expressions", "func_arguments", "emitted", "real",
        "differentiated", "func_calls", "calls", "graphs", "loops", "statements",
        # what the language asks for
        "default_fp", "default_ip", "debug", "check_bounds", "arch_name", "resolve_dtype", "emit", "declare",
        "temp", "check", "reported_loc", "assign_to", "atomic", "check_width", "check_tensor_index", "cell",
        "within", "extents", "builtin", "intrinsic", "declare_shared", "when", "repeat", "rename", "warn",
        "name_of", "share_block",
        "bind_struct_method", "call_func",
    )  # fmt: skip

    def __init__(self, options: Options, record: Record | None = None) -> None:
        state = State(options, record)
        self._take(state)
        self.walker = Walker(state)
        self.recognition = Recognition(state)
        self.evaluation = Evaluation(state, self.walker)
        self.fields = Fields(state)
        self.outside = Outside(state)
        self.memory = Memory(state, self.fields, self.outside)
        self.views = Views(state, self.memory)
        self.places = Places(state)
        self.atomics = Atomics(state, self.places)
        self.loop_writer = LoopWriter(state)
        self.simt = Simt(state, self.outside, self.places, self.loop_writer)
        self.sparse = Sparse(state, self.memory, self.places, self.simt)
        self.companions = Companions(state, self.fields)
        self.arguments = Arguments(
            state, self.fields, self.memory, self.views, self.places, self.loop_writer, self.companions
        )
        self.containers = Containers(state)
        self.returns = Returns(state)
        self.assignment = Assignment(state, self.places, self.containers)
        self.output = Output(state, self.walker, self.evaluation)
        self.operators = Operators(state, self.walker, self.recognition, self.evaluation, self.places)
        self.lookups = Lookups(
            state, self.walker, self.evaluation, self.memory, self.views, self.arguments, self.sparse
        )
        self.augmented = Augmented(state, self.walker, self.places, self.atomics, self.containers, self.lookups)
        self.expressions = Expressions(state, self.walker, self.evaluation, self.assignment)
        self.func_arguments = FuncArguments(state, self.arguments)
        self.emitted = EmittedFuncs(state, self.walker, self.func_arguments)
        self.real = RealCalls(state, self.walker, self.returns, self.func_arguments, self.emitted)
        self.differentiated = Differentiated(state, self.func_arguments, self.emitted)
        self.func_calls = FuncCalls(
            state,
            self.walker,
            self.places,
            self.containers,
            self.func_arguments,
            self.emitted,
            self.real,
            self.differentiated,
        )
        self.calls = Calls(state, self.walker, self.evaluation, self.views, self.containers, self.func_calls, self)
        self.graphs = Graphs(state, self.walker, self.recognition)
        self.loops = Loops(
            state,
            self.walker,
            self.recognition,
            self.evaluation,
            self.fields,
            self.memory,
            self.loop_writer,
            self.assignment,
            self.graphs,
        )
        self.statements = Statements(
            state,
            self.walker,
            self.recognition,
            self.evaluation,
            self.places,
            self.containers,
            self.returns,
            self.assignment,
            self.lookups,
            self.real,
            self.calls,
        )
        self.walker.expressions = self._expressions()
        self.walker.statements = self._statements()
        self._serve_language()

    def _take(self, state: State) -> None:
        self.options, self.names, self.positions, self.reports = (
            state.options, state.names, state.positions, state.reports,
        )  # fmt: skip
        self.flow, self.writer, self.declared = state.flow, state.writer, state.declared
        self.functions, self.purity = state.functions, state.purity

    def close(self) -> None:
        """Let go of what holds the tracer: it, and all that it held, is freed with its last reference."""
        self.walker.close()
        del self.calls.tracer

    # ------------------------------------------------------------ the Python subset

    def _expressions(self) -> dict[type, Callable[[Any], Any]]:
        operators, lookups, expressions = self.operators, self.lookups, self.expressions
        return {
            ast.Attribute: lookups.eval_Attribute,
            ast.BinOp: operators.eval_BinOp,
            ast.BoolOp: operators.eval_BoolOp,
            ast.Call: self.calls.eval_Call,
            ast.Compare: operators.eval_Compare,
            ast.Constant: expressions.eval_Constant,
            ast.Dict: expressions.eval_Dict,
            ast.DictComp: expressions.eval_DictComp,
            ast.IfExp: operators.eval_IfExp,
            ast.JoinedStr: expressions.eval_JoinedStr,
            ast.List: expressions.eval_List,
            ast.ListComp: expressions.eval_ListComp,
            ast.Name: lookups.eval_Name,
            ast.NamedExpr: expressions.eval_NamedExpr,
            ast.Slice: lookups.eval_Slice,
            ast.Starred: expressions.eval_Starred,
            ast.Subscript: lookups.eval_Subscript,
            ast.Tuple: self.evaluation.eval_Tuple,
            ast.UnaryOp: operators.eval_UnaryOp,
        }

    def _statements(self) -> dict[type, Callable[[Any], None]]:
        loops, statements = self.loops, self.statements
        return {
            ast.AnnAssign: statements.exec_AnnAssign,
            ast.Assert: self.output.exec_Assert,
            ast.Assign: statements.exec_Assign,
            ast.AugAssign: self.augmented.exec_AugAssign,
            ast.Break: loops.exec_Break,
            ast.Continue: loops.exec_Continue,
            ast.Expr: statements.exec_Expr,
            ast.For: loops.exec_For,
            ast.FunctionDef: statements.exec_FunctionDef,
            ast.If: statements.exec_If,
            ast.Pass: statements.exec_Pass,
            ast.Return: statements.exec_Return,
            ast.While: loops.exec_While,
            ast.With: self.graphs.exec_With,
        }

    # ------------------------------------------------------------ what the language asks for

    @property
    def top_level(self) -> bool:
        return self.flow.top_level

    @property
    def in_threads(self) -> bool:
        return self.flow.level > 0

    @property
    def block_dim(self) -> int | None:
        return self.flow.block_dim

    def need_lanes(self, lanes: int) -> int | None:
        return self.flow.need_lanes(lanes)

    def _serve_language(self) -> None:
        options, writer, memory, simt = self.options, self.writer, self.memory, self.simt
        self.default_fp, self.default_ip = options.default_fp, options.default_ip
        self.debug, self.check_bounds = options.debug, options.check_bounds
        self.arch_name, self.resolve_dtype = options.arch_name, options.resolve_dtype
        self.emit, self.declare, self.temp, self.check = writer.emit, writer.declare, writer.temp, writer.check
        self.reported_loc, self.warn = self.positions.reported_loc, self.reports.warn
        self.name_of = self.positions.name_of
        self.assign_to, self.atomic = self.places.assign_to, self.atomics.atomic
        self.check_width, self.check_tensor_index = memory.check_width, memory.check_tensor_index
        self.cell, self.within, self.extents = memory.cell, memory.within, memory.extents
        self.builtin, self.intrinsic, self.declare_shared = simt.builtin, simt.intrinsic, simt.declare_shared
        self.share_block = simt.share_block
        self.when, self.repeat, self.rename = simt.when, simt.repeat, simt.rename
        self.bind_struct_method, self.call_func = bind_struct_method, self.func_calls.call_func
