"""An IR module as the source text of one kernel, through the skeleton of a dialect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quadrants.emit import (
    aliases,
    environment,
    features,
    members,
    overrides,
    prologue,
    regions,
    shared,
    template_errors,
    units,
)
from quadrants.emit.adstack_render import Adstack
from quadrants.emit.batches import print_loads
from quadrants.emit.blocks import BlockPrinter
from quadrants.emit.dialects import Dialect
from quadrants.emit.forms import form_of
from quadrants.emit.layout import ArgsLayout, FrameLayout, args_layout, frame_layout, leaves
from quadrants.emit.prelude import Prelude
from quadrants.emit.printed import PrintedLines
from quadrants.emit.records import (
    Accumulator,
    EmittedFunction,
    EmittedTask,
    Parameter,
    TripCount,
)
from quadrants.emit.references import ReferencePrinter
from quadrants.emit.spelling import comment
from quadrants.ir import cost
from quadrants.ir.nodes import Atomic, Declare, Eval, For, Function, Module, Stmt, Task, Var
from quadrants.ir.ranges import Ranges
from quadrants.ir.types import DType, result_struct
from quadrants.ir.walk import statements
from quadrants.ir.words import arrays_of_words
from quadrants.launch.adstack_plan import KeptDepths, StackPlan
from quadrants.launch.tasks import LaunchRegion, TaskLaunch

if TYPE_CHECKING:
    from quadrants.emit.environment import Folders


# More numbers than this in one variable are kept in memory, as a rule.
_IN_REGISTERS = 16


@dataclass(slots=True, eq=False, repr=False)
class Rendered:
    """The text of one kernel and how to call it. `frame` and `launches` serve dialects without an entry function.

    early: every task waits itself for the work before it, so that it may start while that ends. decides, units, brief:
    see `Recipe`.
    """

    text: str
    layout: ArgsLayout
    entry: str
    frame: FrameLayout | None = None
    launches: tuple[TaskLaunch, ...] = ()
    prints: bool = False
    lines: tuple[tuple[str, str], ...] = ()
    args_in_memory: bool = False
    regions: tuple[LaunchRegion, ...] = ()
    stacks: StackPlan | None = None
    early: bool = False
    kept: KeptDepths | None = None
    decides: str = ""
    units: int = 1
    brief: bool = False


class Renderer:
    """Prints the functions and tasks of one module."""

    def __init__(self, module: Module, dialect: Dialect, options: dict[str, Any]) -> None:
        self.module = module
        self.dialect = dialect
        self.options = options
        by_value = dialect.launch_in_frame
        found = features.Uses()
        self.features = [found.features(t.body) for t in module.tasks]
        uses = {name: any(does[name] for does in self.features) for name in features.NAMES}
        # Blocks hand values to one another there.
        spelling = replace(dialect.spelling, coherent=True) if uses["fence"] else dialect.spelling
        self.prelude = Prelude(spelling, simd=options.get("simd", False), apart=module.negates)
        profile = bool(options.get("kernel_profiler"))
        self.adstack = Adstack(module, dialect)
        self.layout = self.adstack.layout = args_layout(
            module, by_value=by_value, random=uses["random"], ring=uses["print"] and not dialect.spelling.string,
            profile=profile, heaps=self.adstack.heaps, depths=self.adstack.depths, gates=self.adstack.gates,
        )  # fmt: skip
        self.lines = PrintedLines()
        check = uses["check"] or module.cut_site >= 0
        self.ended = regions.loops_ahead(module, "qd_ended") if dialect.loop_condition else {}
        self.again = regions.loops_ahead(module, "qd_again") if dialect.copies_flags else {}
        looked_at = self.ended | self.again
        self.frame = self.adstack.frame = frame_layout(module, looked_at, check=check) if by_value else None
        self.args_in_memory = by_value and self.layout.size > dialect.block_bytes
        self.restrict = aliases.disjoint(module)
        reals = dialect.abilities.word_sums
        self.words = arrays_of_words(module.tasks, reals) if reals is not None else frozenset()
        calls = found.calls(module)
        self.needs_lane = features.functions_with_lane(module, calls, dialect.spelling.places_in_lane)
        self.called_early = features.called_early(calls)
        self.first_lines = features.first_lines(module)

    def printer(self, plain: bool, body: Sequence[Stmt] = (), loop: For | None = None) -> BlockPrinter:
        made = ReferencePrinter if self.dialect.model == "reference" else BlockPrinter
        p = made(self.dialect, self.prelude, self.options)
        if isinstance(p, ReferencePrinter) and self.frame is not None:
            p.frame_offsets = self.frame.variables
            p.words = self.words
        if not self.dialect.signed_wraps:
            p.ranges = Ranges(body, loop)
        p.plain = plain
        p.parameters = {v.id: v for v in self.module.params}
        p.needs_lane = self.needs_lane
        p.first_lines = self.first_lines
        p.break_labels = []
        p.printed = self.lines
        return p

    # ------------------------------------------------------------ functions

    def function(self, f: Function) -> EmittedFunction:
        p = self.printer(self.serial_atomics, f.body)
        p.in_function = True
        if f.result:
            p.result = f.result[0] if len(f.result) == 1 else result_struct(f.result)
        p.statements(f.body)
        lane = f.name in self.needs_lane
        if lane:
            self.prelude.need("lane")
        return EmittedFunction(
            self.prelude.function(f.name),
            p.type(p.result) if p.result is not None else "",
            [self.parameter(p, v) for v in f.params],
            prologue.arguments(p, self.restrict if self.dialect.restrict_written else frozenset()),
            p.lines,
            comment(f.doc),
            lane=lane,
            frame=p.uses_frame,
            roomy=any(isinstance(s, Declare) and len(leaves(s.var.type)) > _IN_REGISTERS for s in statements(f.body)),
            early=f.name in self.called_early,
            calls=frozenset(p.calls),
        )

    def parameter(self, p: BlockPrinter, var: Var) -> Parameter:
        space = self.dialect.spelling.private if var.by_ref else ""
        return Parameter(space + p.type(var.type), var.name, var.by_ref, not (var.mutable or var.by_ref))

    @property
    def serial_atomics(self) -> bool:
        """Whether no two threads ever run at once."""
        one = self.dialect.chunks and self.options.get("threads", 2) == 1
        return one or not any(t.loop for t in self.module.tasks)

    # ------------------------------------------------------------ tasks

    def task(self, at: int) -> EmittedTask:
        t, number = self.module.tasks[at], _number(self.module, at)
        alone = self.dialect.chunks and cost.runs_alone(t, self.options.get("threads", 2))
        p = self.printer(self.serial_atomics or t.loop is None or alone, (*t.pre, *t.body), t.loop)
        adstack = self.adstack
        adstack.tell_depths(p, t)
        form = form_of(t, self.dialect, self.options, self.layout, adstack.has_rows(t), adstack.trips(t))
        p.joins = bool(t.reductions)
        p.leaves_by_return = form.name == "flat" and form.batch is None
        if t.loop is not None:
            p.depth = 1 if p.leaves_by_return else self.body_depth(t.loop, form.name == "chunk")
        registers, loads = print_loads(p, form.batch) if form.batch is not None else ([], [])
        opening = prologue.accumulators(p, t.reductions)
        p.statements(t.body if form.batch is None else form.batch.body)
        count, p.depth = len(p.lines), 0 if not form.name else 1 if form.name == "chunk" else 2
        for _, final in t.reductions:
            p.statement(final)
        lines, closing = p.lines[:count], p.lines[count:]
        axes = prologue.axes(p, t.loop) if t.loop is not None else None
        before = prologue.computed(p, t.pre)
        uses = dict(self.features[at])
        if self.module.cut_site >= 0 and form.name in ("stride", "chunk"):
            p.need("check", "fail", "")
            uses["check"] = True
        lane = p.uses_lane or uses["random"] or uses["check"]
        if lane:
            self.prelude.need("lane")
        if uses["random"]:
            self.prelude.need("random", "begin")
        stacks = adstack.of_task(p, t, axes or ())
        task = EmittedTask(
            t.name, t.kind, [*prologue.arguments(p, self.disjoint(t)), *before, *stacks.arrays], lines,
            shared.arrays(t, self.dialect, self.prelude, self.words), number, axes, opening, closing, lane,
            uses["check"], uses["random"],
            form=form.name, block_dim=form.block_dim, count=form.count, threads=form.threads, tile=form.tile,
            times=form.batch.times if form.batch is not None else 1, registers=registers, loads=loads,
            collective=t.collective, stays=t.stays, idle=t.idle,
            shared_bytes=shared.dynamic_bytes(t, self.dialect), local=t.local,
            sizing=t.sizing, calls=frozenset(p.calls),
            rows=stacks.rows, counting=stacks.counting, stacks=stacks.stacks, gate=stacks.gate,
            ended=self.pass_of(t, self.ended), again=self.pass_of(t, self.again),
            updates=list(p.updates.values()) if isinstance(p, ReferencePrinter) else [],
        )  # fmt: skip
        if t.loop is not None:
            task.grain, task.alone = cost.grain_of(t), alone
            task.max_threads = (t.loop.config.parallelize or 0) if t.loop.config is not None else 0
            if form.name:
                task.resident = self.residency(t.loop, form.block_dim)
                self.complete(task, t)
        return task

    def residency(self, loop: For, block_dim: int) -> int:
        """How many blocks a multiprocessor shall hold, or subgroups a vector unit, as the language counts."""
        blocks, units = loop.config.resident_blocks if loop.config is not None else 0, self.dialect.vector_units
        return blocks * block_dim // (self.dialect.spelling.lanes * units) if units else blocks

    def pass_of(self, t: Task, variables: Mapping[int, Var]) -> str:
        """What tells a task whether the loop around it goes on, by number of the region; "" where it does not look."""
        for number, var in variables.items():
            around = self.module.regions[number]
            if any(t is task for task in self.module.tasks[around.begin : around.end]):
                return f"{self.dialect.frame}{var.name}"
        return ""

    def disjoint(self, t: Task) -> Set[int]:
        """The arrays whose pointers are said to meet no other in the text of a task."""
        return self.restrict if self.dialect.restrict_written else aliases.only_read(t, self.restrict)

    def complete(self, task: EmittedTask, t: Task) -> None:
        """What the skeleton of a device's parallel loop needs besides its body."""
        if task.form == "chunk":
            return
        lanes = min(task.block_dim, self.prelude.spelling.lanes)
        for declare, final in t.reductions:
            (update,) = final.then
            assert isinstance(update, Eval) and isinstance(update.value, Atomic)
            var, op = declare.var, update.value.op
            warp = self.prelude.need("reduce", "warp", op, var.type, lanes)
            block = self.prelude.need("reduce", "block", op, var.type)
            parts = task.block_dim // lanes
            task.reductions.append(Accumulator(var.name, self.prelude.type(var.type), parts, warp, block))
        if t.reductions:
            task.unroll = features.unroll(t)
        # An empty axis makes the count 0 also where another one is only known at run time.
        axes = task.loop or ()
        if len(axes) > 1 and not (_is_narrow(task.count) and prologue.constant_count(axes) is not None):
            task.take_axis = self.prelude.need("index", "take_axis")

    def body_depth(self, loop: For, chunk: bool) -> int:
        return 3 if (chunk or self.dialect.chunks) and len(loop.vars) > 1 else 2

    # ------------------------------------------------------------ the whole text

    def render(self, kernel_path: Folders = None) -> Rendered:
        module = self.module
        for name in self.dialect.types:
            self.prelude.type(element_dtype_named(name))
        if self.frame is not None and self.frame.error >= 0:
            self.prelude.need("lane", "error")
        if self.dialect.chunks:
            self.prelude.need("lane", "runtime")
        functions = [self.function(f) for f in module.functions]
        tasks = [self.task(at) for at in range(len(module.tasks))]
        count = units.share_out(tasks, functions, self.dialect)
        launch = self.trip_counts()
        places = self.frame.passes if self.frame is not None else {}
        ended, again = ({k: places[k] for k in found} for found in (self.ended, self.again))
        around = regions.launch_regions(module, self.layout, tasks, ended, again)
        plan = self.adstack.plan()
        effort = self.effort()
        start = f"{self.prelude.need(*self.dialect.start)}();" if self.dialect.start else ""
        alone = any(t.form == "serial" for t in tasks)
        release = f"{self.prelude.need(*self.dialect.release)}();" if self.dialect.release and alone else ""
        context = {
            "contract": template_errors.CONTRACT,
            "kernel": module.name,
            "doc": comment(module.doc),
            "args": members.of_args(self.layout, self.prelude, self.dialect.address, self.dialect.space_device),
            "frame": self.frame_members(),
            "functions": functions,
            "tasks": tasks,
            "launch": launch,
            "steps": regions.steps(module, around, tasks),
            "checkpoints": [r.begin for r in around if r.kind == "checkpoint"],
            "fast_math": bool(self.options.get("fast_math")),
            "debug": bool(self.options.get("debug")),
            "profile": self.layout.times >= 0,
            "start": start,
            "release": release,
            "user_namespace": self.dialect.namespace,
            "args_in_memory": self.args_in_memory,
            "vector_lanes": self.dialect.vector_lanes,
            "effort": effort,
            "units": count,
            "errors": self.frame is not None and self.frame.error >= 0,
            "ring": self.layout.ring >= 0,
            "stacks": self.adstack.preparations(lambda: self.printer(True), self.restrict),
            "heaps": plan is not None,
            "heap_site": module.heap_site,
            "cut_site": module.cut_site,
            "gate_bytes": max(1, int(self.options.get("ad_stack_sparse_threshold_bytes") or 0)),
        }
        user = environment.search_path(kernel_path, self.options.get("template_path") or ())
        paths = (*user, self.dialect.templates) if self.dialect.templates else user
        env = environment.environment(paths, (overrides.watching(user),) if user else ())
        with template_errors.told():
            context["prelude"] = self.prelude.render(env)
            text = env.get_template(self.dialect.template).render(context)
            looped = self.dialect.loop_condition and any(region.kind == "loop" for region in around)
            decides = env.get_template(self.dialect.loop_condition).render() if looped else ""
        kept = units.kept(text, count, tasks, functions, self.dialect)
        launches = tuple(_launch(t, kept) for t in tasks if t.form)
        if any(text.count(line) < count for line, count in _looks(tasks).items()):
            # A user's template may leave that out, and then no pass is launched ahead.
            around = regions.launch_regions(module, self.layout, tasks, {}, {})
        # A user's template may leave the call out, and then its tasks must not start early.
        early = bool(start) and text.count(start) >= len(launches)
        return Rendered(
            text, self.layout, f"qd_kernel_{module.name}", self.frame, launches, self.prelude.uses("print"),
            self.lines.found(), self.args_in_memory, around, plan, early, self.adstack.kept(), decides,
            kept, effort == 1 and not self.prelude.uses("print"),
        )  # fmt: skip

    def effort(self) -> int:
        """The optimisation level that pays, or 3 where a program asks for none: where a text asks for more than the
        command does, gcc 12 computes wrong numbers for AVX-512."""
        return cost.effort(self.module) if self.options.get("opt_level", 1) else 3

    def frame_members(self) -> list[members.Member]:
        if self.frame is not None:
            return members.of_frame(self.frame, self.prelude)
        return members.of_local_frame(self.module, self.adstack.used(), self.prelude)

    def trip_counts(self) -> dict[str, TripCount]:
        """For every parallel task its iterations, in the entry function."""
        out = {}
        for t in self.module.tasks:
            if t.loop is None:
                continue
            p = self.printer(True, t.pre, t.loop)
            axes = prologue.axes(p, t.loop)
            before = prologue.computed(p, t.pre)
            extents = [axis.extent for axis in axes] or ["1"]
            found = [*prologue.arguments(p, self.restrict), *before]
            out[t.name] = TripCount(found, extents, prologue.constant_count(axes))
        return out


def element_dtype_named(name: str) -> DType:
    from quadrants.ir.types import primitive

    return primitive(name)


# Threads of a multiprocessor that hide the latency of memory.
_RESIDENT = 2048
# Threads for each core of a processor, so that one that takes longer does not keep all waiting.
_CHUNKS = 8


def _number(module: Module, k: int) -> int:
    """The number of a task; those that find depths have numbers behind the others."""
    before = sum(t.sizing for t in module.tasks[:k])
    return len(module.tasks) - sum(t.sizing for t in module.tasks) + before if module.tasks[k].sizing else k - before


def _looks(tasks: Sequence[EmittedTask]) -> Counter[str]:
    """The lines by which tasks of passes that come too late leave, and how often the text has to have them."""
    return Counter(
        [f"if ({t.ended}) return;" for t in tasks if t.ended]
        + [f"if ({t.again} == 0) return;" for t in tasks if t.again]
    )


def _launch(task: EmittedTask, units: int) -> TaskLaunch:
    blocks = {"stride": max(1, _RESIDENT // task.block_dim), "chunk": _CHUNKS}.get(task.form, 0)
    return TaskLaunch(
        task.name,
        task.kind,
        task.form,
        task.block_dim,
        task.threads,
        task.shared_bytes,
        blocks,
        task.local,
        task.stacks,
        task.number,
        task.gate,
        task.units.bit_length() - 1 if units > 1 else 0,
    )


def _is_narrow(count: object) -> bool:
    """Whether iterations are numbered in 32 bits."""
    return isinstance(count, int) and count < 2**31


def render(module: Module, dialect: Dialect, options: dict[str, Any], kernel_path: Folders = None) -> Rendered:
    """Print `module` in `dialect`.

    options: mapping with fast_math, debug, threads, simd, template_path.
    """
    return Renderer(module, dialect, options).render(kernel_path)
