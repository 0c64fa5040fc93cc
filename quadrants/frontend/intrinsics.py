"""Kernel meaning of the functions of `qd.*` and of Python builtins, found by identity."""

from __future__ import annotations

import builtins
import enum
import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quadrants.errors import QuadrantsCompilationError, QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend import loop_options, node_ops
from quadrants.frontend.host_operations import without_width
from quadrants.frontend.refs import ArrayRef
from quadrants.ir.nodes import Builtin, Const, MatOp, Rand
from quadrants.ir.ops import ELEMENTARY
from quadrants.ir.types import DType, f16, f32, f64, i32, i64, u32, u64
from quadrants.lang import access, constants, structs, tensor, typed
from quadrants.lang.control import ITERATORS
from quadrants.lang.described import shown
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.value import Value

if TYPE_CHECKING:
    from quadrants.frontend.tracer import Tracer


class Handler(NamedTuple):
    name: str
    function: Callable
    takes_node: bool


def _host(name: str):
    """The Python-scope function of that name, for arguments that are all known at compile time."""
    from quadrants.lang import kernel_functions

    return getattr(kernel_functions, name)


def _folded(name: str, *numbers):
    """What the Python-scope function makes of numbers. They have no width: NumPy computes sin(True) in 16 bits."""
    plain = map(without_width, numbers)
    return _host(name)(*[int(x) if isinstance(x, bool) else x for x in plain])


def _elementwise(op: str):
    foldable = op not in ("popcnt", "clz", "ffs", "isnan", "isinf")

    def handler(tracer: Tracer, x):
        return _folded(op, x) if foldable and typed.is_number(x) else typed.unary(op, x)

    return handler


def _rounding(op: str):
    def handler(tracer: Tracer, x, dtype=None):
        if isinstance(dtype, int):
            raise QuadrantsTypeError(
                f"The second argument of {op}() is a dtype in kernels, and {dtype} is none. For digits behind the "
                f"point, write `{op}(x * 10**{dtype}) / 10**{dtype}`."
            )
        result = _folded(op, x) if typed.is_number(x) else typed.unary(op, x)
        return result if dtype is None else typed.cast(result, tracer.options.resolve_dtype(dtype))

    return handler


def _two(op: str):
    foldable = op != "bit_shr"  # which has a meaning for numbers of a width alone

    def handler(tracer: Tracer, x1, x2):
        if foldable and typed.is_number(x1) and typed.is_number(x2):
            return _folded(op, x1, x2)
        return typed.binary(op, x1, x2)

    return handler


_EXTREME = {"max": "largest", "min": "least"}


def _extremum(op: str):
    def handler(tracer: Tracer, *args):
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
            if any(isinstance(a, (list, tuple)) for a in args):
                raise QuadrantsTypeError(
                    f"{op}() of lists, which Python compares item after item, is not supported. Write {op}([..]) of "
                    "numbers, or qd.Vector([..]) for each list, which are compared element by element."
                )
        elif len(args) == 1 and isinstance(args[0], Value) and args[0].is_tensor:
            text = f"{op}() of one vector or matrix is that itself; write v.{op}() for the {_EXTREME[op]} element of v."
            tracer.reports.warn_once(text, UserWarning)
        if not any(isinstance(a, Value) or tensor.is_sequence(a) for a in args):
            return (max if op == "max" else min)(args)
        return typed.extremum(op, args)

    return handler


def _numeric_cast(x, t):
    if isinstance(x, Value) or tensor.is_sequence(x):
        return typed.cast(x, t)
    return Value(constants.of_type(x, t)) if typed.is_number(x) else typed.cast(x, t)


def _int(tracer: Tracer, x=0):
    if isinstance(x, (float, np.floating)):
        if not np.isfinite(x):
            raise QuadrantsTypeError(f"int() of {x} is no integer; `qd.cast` makes the least number of it.")
        constants.literal(int(x))  # raises where it does not fit
    return int(x) if isinstance(x, str) else _numeric_cast(x, tracer.options.default_ip)


def _float(tracer: Tracer, x=0.0):
    return float(x) if isinstance(x, str) else _numeric_cast(x, tracer.options.default_fp)


def _bool(tracer: Tracer, x=False):
    if isinstance(x, Value) or tensor.is_sequence(x):
        return typed.cast(x, constants.u1)
    return bool(x)


def _cast(tracer: Tracer, obj, dtype):
    return typed.cast(obj, tracer.options.resolve_dtype(dtype))


def _bit_cast(tracer: Tracer, obj, dtype):
    return typed.bit_cast(obj, tracer.options.resolve_dtype(dtype))


def _abs(tracer: Tracer, x):
    return typed.unary("abs", x) if isinstance(x, Value) or tensor.is_sequence(x) else abs(x)


def _pow(tracer: Tracer, base, exponent):
    return tracer.operators.apply_binary("pow", base, exponent)


def _any_all(op: str):
    def handler(tracer: Tracer, x):
        if isinstance(x, Value):
            if not x.is_tensor:
                raise QuadrantsTypeError(f"{op}() needs a vector or matrix, found {x.type}")
            return tensor.reduce(op, x)
        if isinstance(x, (list, tuple)) and any(isinstance(e, Value) for e in x):
            return tensor.reduce(op, tensor.construct(x))
        return (any if op == "any" else all)(x)

    return handler


def _len(tracer: Tracer, x):
    if isinstance(x, Value):
        return access.attribute(x, "n") if x.is_tensor else len(x)
    return len(x)


def _sum(tracer: Tracer, items, start=0):
    """Python's sum over the items of a list, which may be run-time values."""
    if isinstance(items, Value):
        raise QuadrantsTypeError(f"The builtin sum() takes a list, found {items.type}; use v.sum() for a vector v.")
    if kind_of(items) or isinstance(items, ArrayRef) or not hasattr(items, "__iter__"):
        raise QuadrantsTypeError("The builtin sum() takes a list; write a loop with += for a field or array.")
    return functools.reduce(lambda total, x: tracer.operators.apply_binary("add", total, x), items, start)


def _zero_one(value: int):
    def handler(tracer: Tracer, x):
        e = typed.to_expr(x)
        t = e.type
        return Value(typed.convert_expr(Const(value, i32), t))

    return handler


_RANDOM = (f16, f32, f64, i32, i64, u32, u64)


def _random(tracer: Tracer, dtype=float):
    t = tracer.options.resolve_dtype(dtype)
    if t not in _RANDOM:
        raise QuadrantsTypeError(f"qd.random() does not support {t}; use one of {', '.join(map(str, _RANDOM))}.")
    return tracer.writer.temp(Value(Rand(t)), "random")


def _atomic(op: str):
    def handler(tracer: Tracer, *args, **kwargs):
        if kwargs or len(args) != 2:
            raise QuadrantsTypeError(f"atomic_{op} takes two operands, by position: qd.atomic_{op}(x[i], value)")
        x, y = args
        return tracer.atomics.atomic(op, tracer.atomics.atomic_target(x, op), y)

    return handler


def _atomic_cas(tracer: Tracer, x, expected, desired):
    target = tracer.atomics.atomic_target(x, "cas")
    if target.is_tensor:
        raise QuadrantsTypeError(
            "atomic_cas on tensor (vector / matrix) destinations is not supported; use a component of it"
        )
    return tracer.atomics.atomic("cas", target, expected, extra=(typed.to_expr(desired),))


def _volatile_load(tracer: Tracer, target):
    return tracer.simt.volatile_load(target)


def _prefetch(tracer: Tracer, target) -> None:
    tracer.simt.prefetch(target)


def _clock_counter(tracer: Tracer):
    return tracer.simt.intrinsic("clock.counter", (), i64)


def _mesh_patch_idx(tracer: Tracer):
    raise QuadrantsCompilationError(
        "qd.mesh_patch_idx() needs a loop over a mesh, and meshes are not in this version. Use fields or ndarrays of "
        "indices for the relations of the mesh, such as the number of the patch of each cell."
    )


def _global_thread_idx(tracer: Tracer):
    return Value(Builtin("thread_index", i32))


def _stop_grad(tracer: Tracer, x) -> None:
    tracer.companions.stop_grad(x)


def _frexp(tracer: Tracer, x) -> tuple:
    """(mantissa, exponent) of a real value."""
    held = tracer.writer.temp(x)
    if held.type not in (f32, f64):
        raise QuadrantsTypeError(f"'frexp' takes f32 or f64, however '{held.type}' is provided")
    mantissa = Value(MatOp("frexp_mantissa", (held.expr,), held.type))
    exponent = Value(MatOp("frexp_exponent", (held.expr,), i32))
    return mantissa, exponent


def _static_assert(tracer: Tracer, cond, msg=None):
    if isinstance(cond, Value):
        raise QuadrantsTypeError("Static assert with non-static condition")
    if not cond:
        raise QuadrantsCompilationError("AssertionError" + (f": {msg}" if msg is not None else ""))


def _static_print(tracer: Tracer, *args, sep=" ", end="\n"):
    builtins.print(*map(shown, args), sep=sep, end=end)


def _static(tracer: Tracer, node):
    return tracer.evaluation.eval_static(node)


def check_static(v, cure: str) -> None:
    """Raise unless `v` may be the argument of qd.static. `cure`: what the message goes on with."""
    if isinstance(v, Value) and isinstance(v.expr, Const):
        return
    accepted = (
        bool, int, float, type(None), np.bool_, np.integer, np.floating, enum.IntEnum, range, list, tuple, *ITERATORS,
        types.FunctionType, types.MethodType, ArrayRef,
    )  # fmt: skip
    if isinstance(v, accepted) or kind_of(v) in (*FIELD_KINDS, "func", "kernel", "snode") or _is_bound_func(v):
        return
    if type(v).__name__ in ("_Ndrange", "ndrange", "NDRange", "GroupedNDRange") or hasattr(v, "_qd_ndrange"):
        return
    if getattr(v, "_qd_host_matrix", False):
        return
    if isinstance(v, (dict, set, frozenset)):
        cure = ". Write `list(..)` around it"
    raise QuadrantsCompilationError(
        "Input to qd.static must be compile-time constants or global pointers, instead of "
        f"{'a run-time value' if isinstance(v, Value) else type(v)}{cure}"
    )


def _is_bound_func(v) -> bool:
    return type(v).__name__ == "BoundFunc"


def _loop_config(tracer: Tracer, node):
    if node.args:
        raise QuadrantsTypeError("qd.loop_config takes keyword arguments only")
    kwargs = tracer.evaluation.eval_keywords(node)
    for key, value in kwargs.items():
        if key not in loop_options.NAMES:
            raise QuadrantsTypeError(
                f"qd.loop_config got an unexpected keyword argument '{key}'; it takes {loop_options.NAMES}"
            )
        if isinstance(value, Value):
            value = kwargs[key] = tracer.simt.known_now(value)
        if isinstance(value, Value):
            raise QuadrantsTypeError(f"qd.loop_config({key}=...) must be known at compile time")
    before = tracer.flow.loop_config  # several lines before one loop add up
    tracer.flow.loop_config = loop_options.config_of(tracer.options.arch_name, kwargs, before)


def _print(tracer: Tracer, node):
    tracer.output.trace_print(node)


def _ndrange(tracer: Tracer, node):
    """Outside the header of a loop: an object for `qd.static`, which a func may return."""
    args, kwargs = tracer.evaluation.eval_arguments(node.args), tracer.evaluation.eval_keywords(node)
    bounds = [bound for a in args for bound in (a if isinstance(a, (list, tuple)) else (a,))]
    if not tracer.positions.frame.in_static and any(isinstance(bound, Value) for bound in bounds):
        raise QuadrantsSyntaxError("qd.ndrange with run-time bounds belongs in the header of a `for` loop.")
    return _host("ndrange")(*args, **kwargs)


def _grouped(tracer: Tracer, node):
    args = tracer.evaluation.eval_arguments(node.args)
    if not tracer.positions.frame.in_static:
        raise QuadrantsSyntaxError("qd.grouped belongs in the header of a `for` loop.")
    if len(args) != 1 or not hasattr(args[0], "grouped"):
        raise QuadrantsSyntaxError(
            "qd.static(qd.grouped(...)) takes one ndrange; fields and arrays cannot be unrolled."
        )
    return args[0].grouped()


def typed_literal(x, t: DType):
    """`qd.u32(3000000000)`: a literal with a type of its own; kinds must agree."""
    if isinstance(x, (bool, np.bool_)):
        return constants.of_type(int(x), t)
    if isinstance(x, (int, np.integer)):
        if t.is_real:
            told = "Integer literals must be annotated with a integer type"
            raise QuadrantsTypeError(f"{told}. For type casting, use `qd.cast({constants.shown(int(x))}, qd.{t})`.")
        if not t.min <= int(x) <= t.max:
            told = f"Integer literal {constants.shown(int(x))} exceeded the range of specified dtype"
            wrapped = f"`qd.cast({constants.shown(int(x))}, qd.{t})` keeps its low bits"
            raise QuadrantsTypeError(f"{told}: {t}. Write another type, such as qd.i64; {wrapped}.")
        return Const(int(x), t)
    if not t.is_real:
        raise QuadrantsTypeError(
            "Floating-point literals must be annotated with a floating-point type. "
            f"For type casting, use `qd.cast({x}, qd.{t})`."
        )
    return constants.real_literal(float(x), t)


# ---------------------------------------------------------------- constructors


def _vector(tracer: Tracer, arr, dt=None):
    return tensor.construct(arr, None if dt is None else tracer.options.resolve_dtype(dt))


def _struct(tracer: Tracer, *args, **kwargs):
    if args:
        if len(args) != 1 or not isinstance(args[0], dict):
            raise QuadrantsSyntaxError("qd.Struct takes keyword arguments or one dict.")
        return structs.anonymous(args[0])
    return structs.anonymous(kwargs)


def _filled(number: int):
    def handler(tracer: Tracer, dt, n, m=None):
        return tensor.filled(number, tracer.options.resolve_dtype(dt), n, m)

    return handler


def _identity(tracer: Tracer, dt, n):
    return tensor.identity(tracer.options.resolve_dtype(dt), n)


def _unit(tracer: Tracer, n, i, dt=None):
    return tensor.unit(n, i, None if dt is None else tracer.options.resolve_dtype(dt))


_FACTORIES = {
    "zero": _filled(0),
    "one": _filled(1),
    "identity": _identity,
    "unit": _unit,
    "diag": lambda tr, dim, val: tensor.diag(dim, val),
    "rows": lambda tr, rows: tensor.stack(rows, True),
    "cols": lambda tr, cols: tensor.stack(cols, False),
}

_BY_NAME: dict = {
    **{op: _elementwise(op) for op in ELEMENTARY},
    **{op: _rounding(op) for op in ("floor", "ceil", "round")},
    **{op: _elementwise(op) for op in ("popcnt", "clz", "ffs")},
    **{op: _two(op) for op in ("atan2", "bit_shr", "raw_div", "raw_mod")},
    **{f"atomic_{op}": _atomic(op) for op in "add sub mul min max and or xor exchange".split()},
    "atomic_cas": _atomic_cas,
    **node_ops.HANDLERS,
    "abs": _abs,
    "pow": _pow,
    "max": _extremum("max"),
    "min": _extremum("min"),
    "select": lambda tr, cond, x1, x2: typed.select(cond, x1, x2),
    "cast": _cast,
    "bit_cast": _bit_cast,
    "random": _random,
    "zero": _zero_one(0),
    "one": _zero_one(1),
    "static_assert": _static_assert,
    "static_print": _static_print,
    "assume_in_range": lambda tr, val, base, low, high: val,
    "loop_unique": lambda tr, val, covers=None: val,
    "volatile_load": _volatile_load,
    "clock_counter": _clock_counter,
    "block_local": lambda tr, *a: None,
    "cache_read_only": lambda tr, *a: None,
    "mesh_local": lambda tr, *a: None,
    "no_activate": lambda tr, *a: None,
    "stop_grad": _stop_grad,
    "frexp": _frexp,
    "global_thread_idx": _global_thread_idx,
    "mesh_patch_idx": _mesh_patch_idx,
}


def _header_only(name: str, statement: str):
    def handler(tracer: Tracer, node):
        raise QuadrantsSyntaxError(f"qd.{name} belongs by itself in the header of a `{statement}` statement.")

    return handler


_WITH_NODE = {
    "static": _static,
    "loop_config": _loop_config,
    "ndrange": _ndrange,
    "grouped": _grouped,
    "do_while": _header_only("graph.do_while", "while"),
    "graph_do_while": _header_only("graph.do_while", "while"),
    "parallel_context": _header_only("graph.parallel_context", "with"),
    "graph_parallel_context": _header_only("graph.parallel_context", "with"),
    "parallel": _header_only("graph.parallel", "with"),
    "graph_parallel": _header_only("graph.parallel", "with"),
    "checkpoint": _header_only("checkpoint", "with"),
    "stream_parallel": _header_only("stream_parallel", "with"),
}
_BUILTINS: dict[Any, Callable] = {
    abs: _abs, pow: _pow, max: _extremum("max"), min: _extremum("min"), int: _int, float: _float, bool: _bool,
    any: _any_all("any"), all: _any_all("all"), len: _len, sum: _sum, round: _rounding("round"),
}  # fmt: skip

_table: dict = {}
_names: dict = {}


def _add(target, handler: Handler) -> None:
    _table[id(target)] = handler
    _names[id(target)] = handler.name


def _build() -> None:
    from quadrants.lang import control, kernel_functions
    from quadrants.lang.matrix import Matrix, Vector
    from quadrants.lang.struct import Struct

    for name, target in kernel_functions.KERNEL_FUNCTIONS.items():
        if name in _BY_NAME:
            _add(target, Handler(name, _BY_NAME[name], False))
        elif name in _WITH_NODE:
            _add(target, Handler(name, _WITH_NODE[name], True))
    for builtin, function in _BUILTINS.items():
        _add(builtin, Handler(builtin.__name__, function, False))
    _add(print, Handler("print", _print, True))
    _add(control.prefetch, Handler("prefetch", _prefetch, False))
    _add(Vector, Handler("Vector", _vector, False))
    _add(Matrix, Handler("Matrix", _vector, False))
    _add(Struct, Handler("Struct", _struct, False))
    for name, function in _FACTORIES.items():
        _add(getattr(Matrix, name), Handler(name, function, False))
        _add(getattr(Vector, name), Handler(name, function, False))


def handler_of(target):
    """The handler of a function object, or None."""
    if not _table:
        _build()
    return _table.get(id(target))


def name_of(target) -> str:
    if not _table:
        _build()
    return _names.get(id(target), "")
