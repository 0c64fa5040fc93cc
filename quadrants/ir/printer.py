"""IR as text that reads like Python with types: for `print_ir`, dumps and tests."""

from __future__ import annotations

from quadrants.ir import nodes as n
from quadrants.ir.types import DType, StructType, TensorType, ValueType

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "bit_and": "&", "bit_or": "|",
    "bit_xor": "^", "shl": "<<", "shr": ">>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "logic_and": "and", "logic_or": "or", "powi": "**", "pow": "**",
}  # fmt: skip


def print_ir(module: n.Module) -> str:
    """The whole module: arrays, parameters, functions, then the body or, after task splitting, the tasks."""
    out = [f"kernel {module.name}({', '.join(f'{p.name}: {type_text(p.type)}' for p in module.params)})"]
    if module.result:
        out[0] += f" -> {', '.join(map(type_text, module.result))}"
    for a in module.arrays:
        shape = list(a.shape) if a.shape is not None else ["?"] * a.ndim
        out.append(f"    {a.kind} {a.name}: {type_text(a.type)}[{', '.join(map(str, shape))}]")
    out += [f"    shared {v.name}: {type_text(v.type)}" for v in module.shared]
    for f in module.functions:
        params = ", ".join(f"{'&' if p.by_ref else ''}{p.name}: {type_text(p.type)}" for p in f.params)
        result = f" -> {', '.join(map(type_text, f.result))}" if f.result else ""
        out.append(f"func {f.name}({params}){result}{'' if f.pure else '  # has effects'}")
        out += _block(f.body, 1)
    if not (module.tasks or module.regions):
        return "\n".join(out + _block(module.body, 1)) + "\n"
    for r in module.regions:
        out.append(f"{region(r)}: tasks {r.begin} .. {r.end - 1}")
    for t in module.tasks:
        out.append(f"task {t.name}")
        for declare in t.pre:
            out += _statement(declare, 1)
        for declare, _ in t.reductions:
            out += _statement(declare, 1)
        if t.loop is None:
            out += _block(t.body, 1)
        else:
            out += _loop(t.loop, 1, t.body)
        for _, closing in t.reductions:
            out += _statement(closing, 1)
    return "\n".join(out) + "\n"


def type_text(t: ValueType) -> str:
    """f32, vec3 f32, mat2x3 f32, struct names."""
    if isinstance(t, DType):
        return t.name
    if isinstance(t, TensorType):
        return f"{'vec' if len(t.shape) == 1 else 'mat'}{'x'.join(map(str, t.shape))} {t.dtype}"
    return t.name if isinstance(t, StructType) else str(t)


def _block(body: list[n.Stmt], depth: int) -> list[str]:
    lines = [line for s in body for line in _statement(s, depth)]
    return lines or ["    " * depth + "pass"]


def _loop(s: n.For, depth: int, body: list[n.Stmt]) -> list[str]:
    names = ", ".join(v.name for v in s.vars)
    ranges = ", ".join(f"{expr(b)}..{expr(e)}" for b, e in s.bounds)
    note = "  # parallel" if s.parallel else "  # backward" if s.backward else ""
    return ["    " * depth + f"for {names} in {ranges}:{note}", *_block(body, depth + 1)]


def _statement(s: n.Stmt, depth: int) -> list[str]:
    pad = "    " * depth
    if isinstance(s, n.Declare):
        return [f"{pad}{s.var.name}: {type_text(s.var.type)} = {expr(s.init)}"]
    if isinstance(s, n.Store):
        return [f"{pad}{place(s.place)} = {expr(s.value)}"]
    if isinstance(s, n.Eval):
        return [pad + expr(s.value)]
    if isinstance(s, n.If):
        lines = [f"{pad}if {expr(s.cond)}:", *_block(s.then, depth + 1)]
        return lines + ([f"{pad}else:", *_block(s.orelse, depth + 1)] if s.orelse else [])
    if isinstance(s, n.For):
        return _loop(s, depth, s.body)
    if isinstance(s, n.While):
        if not s.pre:
            return [f"{pad}while {expr(s.cond)}:", *_block(s.body, depth + 1)]
        test = "    " * (depth + 1) + f"if not {expr(s.cond)}: break"
        return [f"{pad}while true:", *_block(s.pre, depth + 1), test, *_block(s.body, depth + 1)]
    if isinstance(s, n.Return):
        return [f"{pad}return {', '.join(map(expr, s.values))}"]
    if isinstance(s, n.Check):
        return [f"{pad}check {expr(s.cond)}, site {s.site} ({', '.join(map(expr, s.values))})"]
    if isinstance(s, n.Print):
        parts = ", ".join(repr(p) if isinstance(p, str) else expr(p[0]) for p in s.parts)
        return [f"{pad}print({parts})"]
    if isinstance(s, n.Comment):
        return [f"{pad}# {s.text}"]
    if isinstance(s, n.Region):
        return [f"{pad}{region(s)}:", *_block(s.body, depth + 1)]
    return [pad + type(s).__name__.lower()]


def region(r: n.Region) -> str:
    """What a region is, without its body."""
    label = f" {r.label}" if r.kind == "checkpoint" else ""
    return f"{r.kind}{label}{f' on {r.flag.name}' if r.flag is not None else ''}"


def expr(e: n.Expr | n.Place) -> str:
    """One expression, fully parenthesised."""
    if isinstance(e, n.Const):
        return f"{e.value}" if type_text(e.type) in ("i32", "f32", "u1") else f"{e.value}:{e.type}"
    if isinstance(e, n.Load):
        return place(e.place)
    if isinstance(e, n.Unary):
        return f"{e.op}({expr(e.a)})"
    if isinstance(e, n.Binary):
        symbol = _SYMBOLS.get(e.op)
        return f"({expr(e.a)} {symbol} {expr(e.b)})" if symbol else f"{e.op}({expr(e.a)}, {expr(e.b)})"
    if isinstance(e, n.Select):
        return f"({expr(e.a)} if {expr(e.cond)} else {expr(e.b)})"
    if isinstance(e, n.Cast):
        return f"{'bits' if e.bits else 'cast'}<{type_text(e.type)}>({expr(e.a)})"
    if isinstance(e, n.Make):
        return f"{type_text(e.type)}({', '.join(map(expr, e.parts))})"
    if isinstance(e, n.Elem):
        return f"{expr(e.a)}[{', '.join(map(expr, e.indices))}]"
    if isinstance(e, n.Member):
        return f"{expr(e.a)}.{e.name}"
    if isinstance(e, n.MatOp):
        return f"{e.op}({', '.join(map(expr, e.args))})"
    if isinstance(e, n.Call):
        return f"{e.func.name}({', '.join(map(expr, e.args))})"
    if isinstance(e, n.Extent):
        return f"{e.array.name}.shape[{e.axis}]"
    if isinstance(e, n.Rand):
        return f"{e.op}<{e.type}>()"
    if isinstance(e, n.Atomic):
        return f"atomic_{e.op}({place(e.place)}, {', '.join(map(expr, e.args))})"
    if isinstance(e, n.Builtin):
        return f"{e.name}()"
    if isinstance(e, n.Intrinsic):
        params = f"<{', '.join(map(str, e.params))}>" if e.params else ""
        return f"{e.op}{params}({', '.join(expr(a) for a in e.args)})"
    if isinstance(e, n.Volatile):
        return f"volatile({place(e.place)})"
    return place(e)


def place(p: n.Place) -> str:
    """One place."""
    if isinstance(p, n.VarPlace):
        return p.var.name
    if isinstance(p, n.Cell):
        return f"{p.array.name}[{', '.join(map(expr, p.indices))}]"
    if isinstance(p, n.Slot):
        return f"{p.array.name}{{{expr(p.index)}}}"
    if isinstance(p, n.Choice):
        return f"({' | '.join(map(place, p.places))})[{expr(p.index)}]"
    if isinstance(p, n.ElemPlace):
        return f"{place(p.base)}[{', '.join(map(expr, p.indices))}]"
    if isinstance(p, n.MemberPlace):
        return f"{place(p.base)}.{p.name}"
    raise TypeError(f"{type(p).__name__} is no expression and no place")
