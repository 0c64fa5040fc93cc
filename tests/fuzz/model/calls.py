"""Calls in kernels: functions of the language, funcs, methods, constructors, plain Python."""

from __future__ import annotations

import ast

from . import operations as ops
from .errors import Refused, Undefined, Unmodelled
from .memory import tracker
from .names import spelled
from .numbers import Num, u1
from .places import Place, Value
from .values import Tensor, copied, initial, is_constant

ATOMICS = {
    "atomic_add": "+", "atomic_sub": "-", "atomic_mul": "*", "atomic_min": "min", "atomic_max": "max",
    "atomic_and": "&", "atomic_or": "|", "atomic_xor": "^", "atomic_exchange": "exchange",
}  # fmt: skip


def call(ev, node: ast.Call):
    name = spelled(node)
    if name.startswith("qd."):
        name = name[3:]
        if name in ATOMICS:
            return atomic(ev, ATOMICS[name], node)
        if name == "atomic_cas":
            return compare_and_swap(ev, node)
        if name == "loop_config":
            options = {k.arg: ev.eval(k.value) for k in node.keywords}
            ev.serialized = bool(options.get("serialize")) or options.get("parallelize") == 1
            return None
        if name in ("min", "max"):
            return extremum(ev, name, node)
    if isinstance(node.func, ast.Name) and ev.local(node.func.id) is None and node.func.id not in ev.outer:
        return builtin(ev, node.func.id, node)
    target = callee(ev, node.func)
    if isinstance(target, tuple) and target and target[0] == "method":
        return target[2].invoke(ev, node, receiver=target[1])
    if isinstance(target, tuple) and target and target[0] == "tensor method":
        return method(ev, target[1], target[2], node)
    if hasattr(target, "invoke"):
        return target.invoke(ev, node)
    args = arguments(ev, node)
    named = {k.arg: ev.eval(k.value) for k in node.keywords}
    if ev.dry:
        try:
            return target(*args, **named)
        except Undefined:
            from .expressions import ones

            return target(*(ones(a) for a in args), **named)
    return target(*args, **named)


def callee(ev, node):
    if not isinstance(node, ast.Attribute):
        return ev.eval(node)
    try:
        return ev.attribute(ev.eval_base(node.value), node.attr)
    except Refused:
        raise Undefined("the index of an object of which a method may read nothing") from None


def arguments(ev, node) -> list:
    return ev.items(node.args)


def extremum(ev, name: str, node):
    """A right fold, over the items of a list; one argument stays as it is."""
    values = arguments(ev, node)
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        values = list(values[0])
    if all(is_constant(v) for v in values):
        return max(values) if name == "max" else min(values)
    result = values[-1]
    for v in reversed(values[:-1]):
        result = ev.guarded(ops.extremum, name, v, result)
    return result


_CASTS = {"int": int, "float": float, "bool": bool}


def builtin(ev, name: str, node):
    if name in ("min", "max"):
        return extremum(ev, name, node)
    values = arguments(ev, node)
    if name == "abs":
        return ops.absolute(*values)
    if name in _CASTS:
        return _CASTS[name](*values) if is_constant(values[0]) else ev.guarded(ops.cast, values[0], _CASTS[name])
    if name == "pow":
        return ev.guarded(ops.binary, "**", *values)
    if name in ("any", "all"):
        return reduce_truth(name, values[0])
    if name == "len":
        x = values[0]
        return x.shape[0] if isinstance(x, Tensor) else len(x)
    if name == "round" and not is_constant(values[0]):
        return ops.rounding("round", *values)
    functions = {"range": range, "enumerate": enumerate, "zip": zip, "list": list, "tuple": tuple, "reversed": reversed}
    if name in functions:
        return functions[name](*values)
    raise Unmodelled(f"the builtin {name}")


def reduce_truth(name: str, x) -> Num:
    if not isinstance(x, Tensor):
        raise Unmodelled(f"{name} of no tensor")
    hits = [e.value != 0 for e in x.items]
    return Num(u1, int(all(hits) if name == "all" else any(hits)))


def target_place(ev, node) -> Place:
    place = ev.place(node)
    if isinstance(place, Value):
        raise Unmodelled("an atomic operation on a value")
    return place


def atomic(ev, op: str, node):
    place = target_place(ev, node.args[0])
    x = ev.eval(node.args[1])
    if ev.dry:
        return copied(place.load())
    if tracker.marks is not None and node is not ev.discarded:
        tracker.ordered = True  # the old value is used
    if not ev.in_memory(place) and not ev.is_shared(place):
        old = copied(place.load())
        place.store(modified_local(op, old, x))
        return old
    return place.atomic(op, x)


def modified_local(op: str, old, x):
    from .places import modified

    return modified(op, old, x)


def compare_and_swap(ev, node):
    place = target_place(ev, node.args[0])
    expected, new = (initial(place.type, ev.eval(a)) for a in node.args[1:])
    old = place.load()
    if tracker.marks is not None:
        raise Undefined("a race: compare and swap")
    if not ev.dry and old.value == expected.value:
        place.store(new)
    return old


# ------------------------------------------------------------ methods of tensors


def method(ev, place: Place, name: str, node):
    args = arguments(ev, node)
    named = {k.arg: ev.eval(k.value) for k in node.keywords}
    if name == "fill":
        if not ev.dry:
            place.store(initial(place.type, args[0]))
        return None
    x = copied(place.load())
    if not isinstance(x, Tensor) or name not in METHODS:
        raise Unmodelled(f"the method {name}")
    return METHODS[name](x, *args, **named)


def fold(op: str):
    def folded(x: Tensor):
        total = x.items[0]
        for e in x.items[1:]:
            total = ops.extremum(op, total, e) if op in ("min", "max") else ops.binary(op, total, e)
        return total

    return folded


def dot(a: Tensor, b: Tensor):
    return fold("+")(ops.binary("*", a, b))


def cross(a: Tensor, b: Tensor):
    x, y = a.items, b.items

    def term(i, k):
        return ops.binary("-", ops.binary("*", x[i], y[k]), ops.binary("*", x[k], y[i]))

    return term(0, 1) if len(x) == 2 else Tensor((3,), [term(1, 2), term(2, 0), term(0, 1)])


def outer_product(a: Tensor, b: Tensor) -> Tensor:
    items = [ops.binary("*", x, y) for x in a.items for y in b.items]
    return Tensor((len(a.items), len(b.items)), items)


def transpose(a: Tensor) -> Tensor:
    n, m = a.shape
    return Tensor((m, n), [a.items[i * m + k] for k in range(m) for i in range(n)])


def trace(a: Tensor):
    n = a.shape[0]
    return fold("+")(Tensor((n,), [a.items[k * n + k] for k in range(n)]))


def determinant(a: Tensor):
    if a.shape != (2, 2) or a.dtype.real:
        raise Undefined("the order of the terms of a determinant")
    p, q, r, s = a.items
    return ops.binary("-", ops.binary("*", p, s), ops.binary("*", q, r))


def norm_sqr(a: Tensor):
    return dot(a, a)


METHODS = {
    "sum": fold("+"), "max": fold("max"), "min": fold("min"), "dot": dot, "cross": cross, "transpose": transpose,
    "outer_product": outer_product, "trace": trace, "determinant": determinant, "norm_sqr": norm_sqr,
    "any": lambda x: reduce_truth("any", x), "all": lambda x: reduce_truth("all", x),
    "cast": lambda x, dtype: ops.cast(x, dtype), "get_shape": lambda x: x.shape,
}  # fmt: skip
