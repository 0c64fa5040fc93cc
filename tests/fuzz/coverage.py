"""What of the IR generated programs reach: kinds of nodes, operations, pairs of dtypes that are cast."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import io
import re
from pathlib import Path

from . import execute
from .grammar.draw import KNOWN
from .model.numbers import NAMES
from .programs import program

# (what no program reaches, why): the part of a name in front of a colon stands for all names that begin so.
UNREACHED = {
    "StopGrad": "derivatives only",
    "StackDepth": "derivatives only",
    "Gate": "derivatives only",
    "Sizing": "derivatives only",
    "Intrinsic": "operations of blocks and warps",
    "Builtin": "operations of blocks and warps; the number of a thread",
    "Leave": "languages in which no thread ends but by returning",
    "Volatile": "memory that other threads change meanwhile",
    "Cell": "no more than a Slot after the passes",
    "Rand": "no model of the random numbers",
    "Comment": "made by passes for the reader of the text",
    "MatOp:inverse": "its rounding is open",
    "MatOp:frexp_mantissa": "not in the grammar",
    "MatOp:frexp_exponent": "not in the grammar",
    "MatOp:row": "made from products of reals with a known axis",
    "MatOp:column": "made from products of reals with a known axis",
}


_MODULES = ("ir.nodes", "ir.memory", "ir.loop_config")


def universe() -> set:
    """Names of all that could be reached."""
    from quadrants.ir import nodes
    from quadrants.ir.ops import ATOMICS, OPS

    kinds = {c.__name__ for c in vars(nodes).values() if inspect.isclass(c) and dataclasses.is_dataclass(c)}
    names = kinds - {"Loc"}
    names |= {f"{'Unary' if op.arity == 1 else 'Binary'}:{op.name}" for op in OPS.values()}
    names |= {f"Atomic:{op}" for op in ATOMICS}
    names |= {f"MatOp:{op}" for op in _tensor_operations()}
    return names | {f"Cast:{a}:{b}" for a in NAMES for b in NAMES if a != b}


def _tensor_operations() -> set:
    import quadrants

    found: set = set()
    for path in Path(quadrants.__file__).parent.rglob("*.py"):
        found |= set(re.findall(r'MatOp\("(\w+)"', path.read_text(encoding="utf-8")))
    return found


class Recorder:
    """Collects names from the IR of kernels."""

    def __init__(self):
        self.names: set = set()
        self._seen: set = set()

    def note(self, node) -> None:
        if isinstance(node, (list, tuple)):
            for x in node:
                self.note(x)
            return
        if not dataclasses.is_dataclass(node) or not type(node).__module__.endswith(_MODULES):
            return
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        self._name(node)
        for f in dataclasses.fields(node):
            self.note(getattr(node, f.name))

    def _name(self, node) -> None:
        kind = type(node).__name__
        self.names.add(kind)
        op = getattr(node, "op", None)
        if isinstance(op, str):
            self.names.add(f"{kind}:{op}")
        if kind == "Cast":
            a, b = (getattr(t, "dtype", t) for t in (node.a.type, node.type))
            self.names.add(f"Cast:{a.name}:{b.name}")

    def module(self, module) -> None:
        self._seen.clear()
        self.note(module)

    @contextlib.contextmanager
    def recording(self):
        """Notes every kernel that is traced."""
        from quadrants import compile as pipeline

        trace = pipeline.trace

        def traced(*args, **named):
            out = trace(*args, **named)
            self.module(out.module)
            return out

        pipeline.trace = traced
        try:
            yield
        finally:
            pipeline.trace = trace


def reached(seeds, size: int | None = None, off=KNOWN, arch: str = "cpu") -> set:
    """Names that the programs of some seeds reach."""
    recorder = Recorder()
    with recorder.recording():
        for seed in seeds:
            p = program(seed, size, off)
            execute.start(p.options, execute.Arch(arch))
            module = execute.load(sourced(p.text))
            with contextlib.redirect_stdout(io.StringIO()):
                module.main()
    return recorder.names


def sourced(text: str) -> str:
    """The program with every call of a kernel in `main` replaced by one that only gives its text."""
    tree = ast.parse(text)
    names = {f.name for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and _is_kernel(f)}
    (main,) = (f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "main")
    for node in ast.walk(main):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", None))
            if name in names and isinstance(node.func, ast.Attribute):
                # Of the class: what an instance gives is bound to it.
                node.args.insert(0, node.func.value)
                node.func = ast.parse(f"type({ast.unparse(node.func.value)}).{name}.source", mode="eval").body
            elif name in names:
                node.func = ast.Attribute(node.func, "source", ast.Load())
    main.body = [s for s in main.body if not isinstance(s, ast.Return)]
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_kernel(f) -> bool:
    return any(ast.unparse(d).startswith("qd.kernel") for d in f.decorator_list)


def missing(names: set) -> list:
    """What is neither reached nor on the list of what no program can reach."""
    return sorted(
        name for name in universe() - names if not any(name == u or name.startswith(u + ":") for u in UNREACHED)
    )
