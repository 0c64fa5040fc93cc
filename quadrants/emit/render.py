"""An IR module as the source text of one kernel, through the skeleton of a dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quadrants.emit import (
    aliases,
    environment,
    features,
    members,
    regions,
    shared,
    stack_plan,
    stacks,
    template_errors,
    vectors,
)
from quadrants.emit.batches import print_loads
from quadrants.emit.blocks import BlockPrinter
from quadrants.emit.dialects import Dialect
from quadrants.emit.forms import form_of
from quadrants.emit.launches import Launch
from quadrants.emit.layout import ArgsLayout, FrameLayout, args_layout, frame_layout
from quadrants.emit.prelude import Prelude
from quadrants.emit.spelling import comment
from quadrants.emit.stack_record import KeptDepths, StackPlan
from quadrants.emit.text import ADD, UNARY, cast, infix, parenthesised
from quadrants.ir import cost
from quadrants.ir.nodes import Const, Module
from quadrants.ir.ranges import Ranges
from quadrants.ir.stacks import depths_of, kinds_of, of_task, split
from quadrants.ir.types import element_dtype, i64, result_struct


@dataclass(slots=True)
class Rendered:
    """The text of one kernel and how to call it. `frame` and `launches` serve dialects without an entry function.

    early: every task waits itself for the work before it, so that it may start while that ends.
    """

    text: str
    layout: ArgsLayout
    entry: str
    frame: FrameLayout | None = None
    launches: tuple = ()
    prints: bool = False
    args_in_memory: bool = False
    regions: tuple = ()
    stacks: StackPlan | None = None
    early: bool = False
    kept: KeptDepths | None = None


@dataclass(slots=True)
class Piece:
    """An emitted function or task, ready for the skeleton."""

    name: str
    kind: str
    result: str
    params: list
    lines: list
    prologue: list
    doc: str = ""
    lane: bool = False
    frame: bool = False
    check: bool = False
    random: bool = False
    loop: Any = None
    opening: tuple = ()
    closing: tuple = ()
    number: int = 0
    grain: int = 1
    max_threads: int = 0
    alone: bool = False
    block_dim: int = 0
    form: str = ""
    count: int | tuple | None = None
    threads: int | tuple | None = None
    tile: list | None = None
    times: int = 1
    loads: tuple = ((), ())
    reductions: tuple = ()
    unroll: int = 1
    take_axis: str = ""
    collective: bool = False
    shared_bytes: int = 0
    local: bool = False
    sizing: bool = False
    stacks: tuple = ()
    kinds: tuple = ()
    gate: tuple = ()


class Renderer:
    """Prints the functions and tasks of one module."""

    def __init__(self, module: Module, dialect: Dialect, options):
        self.module = module
        self.dialect = dialect
        self.options = options
        self.prelude = Prelude(
            dialect.spelling, simd=options.get("simd", False), fast_math=bool(options.get("fast_math"))
        )
        by_value = dialect.launch_in_frame
        uses = features.features([s for t in module.tasks for s in t.body])
        profile = bool(options.get("kernel_profiler"))
        self.stacks = {t.name: found for t in module.tasks if (found := of_task(t))}
        self.in_heaps = {name: split(found)[1] for name, found in self.stacks.items()} if by_value else {}
        every = [decl for found in self.in_heaps.values() for decl in found]
        self.depths = stack_plan.variables(module, every) if every else []
        self.kept = []
        if not by_value:
            found = depths_of([decl for used in self.stacks.values() for decl in used])
            self.kept = [depth for depth in found if stack_plan.needs_cells(depth)]
            self.depths = [depth.count.place.var for depth in self.kept]
        self.layout = args_layout(
            module, by_value=by_value, random=uses["random"], profile=profile, heaps=kinds_of(every),
            depths=self.depths, gates=[t.gate for t in module.tasks if t.gate is not None and by_value],
        )  # fmt: skip
        self.frame = frame_layout(module, check=uses["check"]) if by_value else None
        self.args_in_memory = by_value and self.layout.size > dialect.block_bytes
        self.restrict = aliases.disjoint(module)
        self.needs_lane = features.functions_with_lane(module)
        self.first_lines = features.first_lines(module)

    def printer(self, plain: bool, body: Sequence = (), loop=None) -> BlockPrinter:
        p = BlockPrinter(self.dialect, self.prelude, self.options)
        if not self.dialect.signed_wraps:
            p.ranges = Ranges(body, loop)
        p.plain = plain
        p.parameters = {v.id: v for v in self.module.params}
        p.needs_lane = self.needs_lane
        p.first_lines = self.first_lines
        p.break_labels = []
        return p

    # ------------------------------------------------------------ functions

    def function(self, f) -> Piece:
        p = self.printer(self.serial_atomics, f.body)
        if not self.dialect.restrict_written:
            self.unqualified = self.restrict
        p.result_name = "" if not f.result else f.result[0]
        if len(f.result) > 1:
            p.result_name = result_struct(f.result)
        p.statements(f.body)
        params = []
        for v in f.params:
            const, star = "" if v.mutable or v.by_ref else "const ", "*" if v.by_ref else ""
            params.append(f"{const}{p.type(v.type)} {star}{v.name}")
        lane = f.name in self.needs_lane
        if lane:
            params.insert(0, "qd_lane *lane")
            self.prelude.need("lane")
        result = "void" if not f.result else p.type(p.result_name)
        prologue = self.prologue(p)
        doc = comment(f.doc)
        return Piece(f.name, "function", result, params, p.lines, prologue, doc, lane=lane, frame=p.uses_frame)

    @property
    def serial_atomics(self) -> bool:
        """Whether no two threads ever run at once."""
        one = self.dialect.chunks and self.options.get("threads", 2) == 1
        return one or not any(t.loop for t in self.module.tasks)

    def prologue(self, p: BlockPrinter) -> list:
        """Locals for the arrays, extents and parameters the text uses."""
        lines, source = [], self.dialect.args
        for decl in sorted(p.arrays.values(), key=lambda d: d.number):
            if decl.components is not None or decl.kind in ("shared", "stack"):
                continue
            restrict = self.dialect.restrict if decl.number in self.restrict - self.unqualified else ""
            lines.append(f"{members.element_type(self.prelude, decl)} *{restrict}{decl.name} = {self.pointer(decl)};")
            if decl.shape is None:
                used = "\n".join(p.lines) + "\n".join(lines)
                for axis in range(decl.ndim):
                    name = f"{decl.name}_shape{axis}"
                    if name in used or self.extra_use(name):
                        lines.append(f"const int32_t {name} = {source}{decl.name}_shape[{axis}];")
        for var in p.values.values():
            lines.append(f"const {p.type(var.type)} {var.name} = {source}{var.name};")
        return lines

    def pointer(self, decl) -> str:
        """The pointer of an array as the arguments have it, with what the compiler cannot know of its alignment."""
        text = f"{self.dialect.args}{decl.name}"
        known = vectors.alignment(decl)
        if not self.dialect.assume_aligned or known <= element_dtype(decl.type).size:
            return text
        return f"({members.element_type(self.prelude, decl)} *)__builtin_assume_aligned({text}, {known})"

    loop_text = ""
    unqualified: set = set()

    def extra_use(self, name: str) -> bool:
        return name in self.loop_text

    # ------------------------------------------------------------ tasks

    def task(self, t, number: int) -> Piece:
        alone = self.dialect.chunks and cost.runs_alone(t, self.options.get("threads", 2))
        p = self.printer(self.serial_atomics or t.loop is None or alone, (*t.pre, *t.body), t.loop)
        loop = t.loop
        self.loop_text = ""
        if not self.dialect.restrict_written:
            self.unqualified = self.restrict - aliases.only_read(t, self.restrict)
        opening = []
        in_heap = self.in_heaps.get(t.name, [])
        if in_heap:
            p.parameters |= {v.id: v for v in self.depths}
        trips = (("i64", self.layout.depths[t.trips.id]),) if in_heap and t.trips is not None else None
        form = form_of(t, self.dialect, self.options, self.layout, bool(in_heap), trips)
        p.leaves_by_return = form.name == "flat" and form.batch is None
        if loop is not None:
            p.depth = 1 if p.leaves_by_return else self.body_depth(loop)
        loads = print_loads(p, form.batch) if form.batch is not None else ((), ())
        for declare, _ in t.reductions:
            opening.append(f"{p.type(declare.var.type)} {declare.var.name} = {p.text(declare.init).bare};")
        p.statements(t.body if form.batch is None else form.batch.body)
        count, p.depth = len(p.lines), 2 if form.name else 0
        for _, final in t.reductions:
            p.statement(final)
        lines, closing = p.lines[:count], p.lines[count:]
        axes = self.axes(p, loop) if loop is not None else []
        before = self.before(p, t, axes)
        self.loop_text += "\n".join(loads[1])
        uses = features.features(t.body)
        lane = p.uses_lane or uses["random"] or uses["check"]
        if lane:
            self.prelude.need("lane")
        if uses["random"]:
            self.prelude.need("random", "begin")
        used = self.stacks.get(t.name, [])
        if not self.dialect.chunks:
            local = [d for d in used if d not in in_heap]
            rows = stacks.thread_rows(p, local, in_heap, t.gate, [a["extent"] for a in axes])
        else:
            rows = stacks.worker_rows(p, used)
        prologue = shared.declarations(t, self.dialect, self.prelude) + self.prologue(p) + before + rows
        piece = Piece(
            name=t.name, kind=t.kind, result="void", params=[], lines=lines, prologue=prologue, lane=lane,
            check=uses["check"], random=uses["random"], loop=axes, opening=tuple(opening), closing=tuple(closing),
            number=number, form=form.name, count=form.count, threads=form.threads, block_dim=form.block_dim,
            tile=form.tile, times=form.batch.times if form.batch is not None else 1, loads=loads,
            collective=t.collective, shared_bytes=shared.dynamic_bytes(t, self.dialect), local=t.local,
            sizing=t.sizing, stacks=stack_plan.stacks_of_launch(in_heap, self.layout), kinds=kinds_of(used),
            gate=self.gate(t),
        )  # fmt: skip
        if loop is not None:
            piece.grain = cost.grain_of(t)
            piece.alone = alone
            config = loop.config
            piece.max_threads = (config.parallelize or 0) if config is not None else 0
        if form.name and loop is not None:
            self.complete(piece, t)
        self.loop_text = ""
        return piece

    def gate(self, t) -> tuple:
        """On a device `Launch.gate`; on a CPU the name of the task that counts and the variable that it counts in."""
        if t.gate is None:
            return ()
        if self.frame is not None:
            return stack_plan.gate_of_launch(self.module, t, self.layout, self.frame)
        return (self.module.tasks[self.module.tasks.index(t) - 1].name, t.gate.passing.name)

    def before(self, p: BlockPrinter, t, axes: list) -> list:
        """Declarations of the values that a task computes from the arguments."""
        lines = [f"const {p.type(d.var.type)} {d.var.name} = {p.text(d.init).bare};" for d in t.pre]
        self.loop_text = "\n".join(lines + [f"{a['begin']} {a['end']}" for a in axes])
        return lines

    def complete(self, piece: Piece, t) -> None:
        """What the skeleton of a device's parallel loop needs besides its body."""
        width = self.prelude.spelling.lanes
        for declare, final in t.reductions:
            place, dtype = declare.var, declare.var.type
            lanes = min(piece.block_dim, width)
            op = final.then[0].value.op
            piece.reductions += (
                {
                    "name": place.name,
                    "type": self.prelude.type(dtype),
                    "parts": piece.block_dim // lanes,
                    "warp": self.prelude.need("reduce", "warp", op, dtype, lanes),
                    "block": self.prelude.need("reduce", "block", op, dtype),
                },
            )
        if t.reductions:
            piece.unroll = features.unroll(t)
        if len(piece.loop) > 1 and not _is_narrow(piece.count):
            piece.take_axis = self.prelude.need("index", "take_axis")

    def body_depth(self, loop) -> int:
        return 3 if self.dialect.chunks and len(loop.vars) > 1 else 2

    def axes(self, p: BlockPrinter, loop) -> list:
        out = []
        for var, (begin, end) in zip(loop.vars, loop.bounds):
            zero = isinstance(begin, Const) and begin.value == 0
            known = isinstance(begin, Const) and isinstance(end, Const)
            b, e = p.text(begin), p.text(end)
            count = max(0, end.value - begin.value) if known else None
            # The distance of two i32 has 33 bits.
            extent = e if zero else parenthesised(infix("-", ADD, cast(p.type(i64), e), b))
            out.append(
                {
                    "name": var.name,
                    "begin": "" if zero else b.at(ADD + 1),
                    "end": e.at(ADD),
                    "extent": str(count) if known else extent.at(UNARY),
                    "constant": count,
                }
            )
        return out

    # ------------------------------------------------------------ the whole text

    def render(self, kernel_path=None) -> Rendered:
        module = self.module
        for name in self.dialect.types:
            self.prelude.type(element_dtype_named(name))
        if self.frame is not None and self.frame.error >= 0:
            self.prelude.need("lane", "error")
        if self.dialect.chunks:
            self.prelude.need("lane", "runtime")
        functions = [self.function(f) for f in module.functions]
        tasks = [self.task(t, _number(module, k)) for k, t in enumerate(module.tasks)]
        launch = self.launch_lines(tasks)
        around = regions.launch_regions(module, self.layout, tasks)
        in_heaps = [d for found in self.in_heaps.values() for d in found]
        plan = None if self.frame is None else stack_plan.plan(module, in_heaps, self.layout, self.frame)
        start = f"{self.prelude.need(*self.dialect.start)}();" if self.dialect.start else ""
        context = {
            "kernel": module.name,
            "doc": comment(module.doc),
            "args": members.of_args(self.layout, self.prelude),
            "frame": self.frame_members(),
            "functions": functions,
            "tasks": tasks,
            "launch": launch,
            "steps": regions.steps(module, around, tasks),
            "checkpoints": [r.begin for r in around if r.kind == "checkpoint"],
            "debug": bool(self.options.get("debug")),
            "profile": self.layout.times >= 0,
            "start": start,
            "user_namespace": self.dialect.namespace,
            "args_in_memory": self.args_in_memory,
            "effort": cost.effort(module),
            "errors": self.frame is not None and self.frame.error >= 0,
            "stacks": self.stack_lines(),
            "heaps": plan is not None,
            "heap_site": module.heap_site,
            "gate_bytes": max(1, int(self.options.get("ad_stack_sparse_threshold_bytes") or 0)),
        }
        user = environment.search_path(kernel_path, self.options.get("template_path") or ())
        env = environment.environment((*user, self.dialect.templates) if self.dialect.templates else user)
        with template_errors.told():
            context["prelude"] = self.prelude.render(env)
            text = env.get_template(self.dialect.template).render(context)
        launches = tuple(_launch(t) for t in tasks if t.form)
        # A user's template may leave the call out, and then its tasks must not start early.
        early = bool(start) and text.count(start) >= len(launches)
        return Rendered(
            text, self.layout, f"qd_kernel_{module.name}", self.frame, launches, self.prelude.uses("print"),
            self.args_in_memory, around, plan, early,
            stack_plan.kept_by_host(self.kept, self.layout) or stack_plan.kept_by_device(module, self.layout),
        )  # fmt: skip

    def frame_members(self) -> list:
        if self.frame is not None:
            return members.of_frame(self.frame, self.prelude)
        used = [d for found in self.stacks.values() for d in found]
        return members.of_local_frame(self.module, used, self.prelude)

    def stack_lines(self) -> dict:
        """For every task with stacks what the entry function does first: it computes `qd_stride`."""
        out = {}
        for name, found in self.stacks.items():
            if not self.dialect.chunks:
                continue
            p = self.printer(True)
            p.depth = 0
            lines = stacks.preparation(p, found, self.kept)
            self.loop_text = "\n".join(lines)
            out[name] = self.prologue(p) + lines
            self.loop_text = ""
        return out

    def launch_lines(self, tasks: list) -> dict:
        """For every parallel task the iteration count as text over `frame`."""
        out = {}
        for t, piece in zip(self.module.tasks, tasks):
            if t.loop is None:
                continue
            p = self.printer(True, t.pre, t.loop)
            axes = self.axes(p, t.loop)
            before = self.before(p, t, axes)
            extents = [a["extent"] for a in axes] or ["1"]
            lines = self.prologue(p) + before
            out[piece.name] = {"extents": extents, "locals": lines, "constant": _constant_count(axes)}
            self.loop_text = ""
        return out


def element_dtype_named(name: str):
    from quadrants.ir.types import primitive

    return primitive(name)


# Threads of a multiprocessor that hide the latency of memory.
_RESIDENT = 2048


def _number(module: Module, k: int) -> int:
    """The number of a task; those that find depths have numbers behind the others."""
    before = sum(t.sizing for t in module.tasks[:k])
    return len(module.tasks) - sum(t.sizing for t in module.tasks) + before if module.tasks[k].sizing else k - before


def _launch(piece: Piece) -> Launch:
    blocks = max(1, _RESIDENT // piece.block_dim) if piece.form == "stride" else 0
    return Launch(
        piece.name,
        piece.kind,
        piece.form,
        piece.block_dim,
        piece.threads,
        piece.shared_bytes,
        blocks,
        piece.local,
        piece.stacks,
        piece.number,
        piece.gate,
    )


def _is_narrow(count) -> bool:
    """Whether iterations are numbered in 32 bits."""
    return isinstance(count, int) and count < 2**31


def _constant_count(axes):
    total = 1
    for a in axes:
        if a["constant"] is None:
            return None
        total *= a["constant"]
    return total


def render(module: Module, dialect: Dialect, options, kernel_path=None) -> Rendered:
    """Print `module` in `dialect`.

    options: mapping with fast_math, debug, threads, simd, template_path.
    """
    return Renderer(module, dialect, options).render(kernel_path)
