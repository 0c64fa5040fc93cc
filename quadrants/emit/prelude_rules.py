"""Which macro of which template a request of the prelude stands for, and what else it needs.

A rule takes the Prelude and the parameters of `Prelude.need`, validates them, registers the request with
`Prelude.add` and returns the name to call. The order of FAMILIES is the order of the rendered text: a helper may use
any helper of an earlier family, and of its own family what its rule lists under `needs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from quadrants.emit.prelude_linalg import linalg, map_
from quadrants.emit.prelude_simt import SIMT_RULES
from quadrants.emit.prelude_spelling import bits_of, suffix, unsigned
from quadrants.errors import QuadrantsTypeError
from quadrants.ir.ops import OPS
from quadrants.ir.types import (
    DType,
    StructType,
    TensorType,
    ValueType,
    element_dtype,
    f16,
    f32,
    f64,
    i32,
    i64,
    size_align,
    u1,
    u32,
    u64,
)
from quadrants.ir.words import word_of

if TYPE_CHECKING:
    from quadrants.emit.prelude import Prelude

FAMILIES = (
    "types", "tensor", "struct", "reference", "lane", "libm", "cast", "int", "float",
    "map", "linalg", "atomic", "plain", "joined", "word", "random", "print", "check", "index", "reduce", "memory",
    *SIMT_RULES,
)  # fmt: skip

QUOTIENTS = {"floordiv": "floordiv", "raw_div": "rawdiv"}
CHECKED_OPS = {**dict.fromkeys(("add", "sub", "mul", "shl"), "iu"), **dict.fromkeys(QUOTIENTS, "i")}
INT_OPS = frozenset("floordiv floormod rawdiv rawmod abs neg min max popcnt clz ffs bit_shr shl shr".split())
# Functions of the C mathematical library and their operand counts.
LIBM = {op.name: op.arity for op in OPS.values() if op.library} | {"trunc": 1, "frexp": 1, "fmod": 2, "copysign": 2}
# Functions written out in float.j2 and the others of the family that they call, in the order of the macro's parameters.
FLOAT_OPS = {
    "floordiv": ("floor",), "floormod": ("floordiv",), "rawdiv": (), "min": (), "max": (), "sign": (),
    "rsqrt": ("sqrt",), "round": ("trunc", "copysign"), "frexp_mantissa": ("frexp",), "frexp_exponent": ("frexp",),
}  # fmt: skip
# Of those, the ones that f16 leaves to f32, because a rounded intermediate result would be wrong or inaccurate.
VIA_F32 = {**LIBM, "floordiv": 2, "floormod": 2, "rsqrt": 1, "round": 1}

# Functions that round right where an operation of the language need not, and their operand counts.
NEAREST = {"nearest_quotient": 2, "nearest_root": 1}

UPDATES = ("add", "sub", "mul", "min", "max", "and", "or", "xor", "exchange")
FAIL_VALUES = 24


def types(p: Prelude, t: DType) -> str:
    name = p.spelling.names.get(t)
    if name is None:
        raise QuadrantsTypeError(f"kernels in the language '{p.spelling.dialect}' have no {t}")
    return p.add("types", name, "declare", t) if t.name in p.spelling.declared else name


def tensor(p: Prelude, t: TensorType) -> str:
    return p.add("tensor", p.spelling.c(t), "declare", t, needs=(t.dtype,))


def struct(p: Prelude, t: StructType) -> str:
    members = [(p.stored(kind), p.member(key)) for key, kind in t.members]
    stem = "".join(ch if ch.isascii() and ch.isalnum() else "_" for ch in t.name) or "struct"
    name = p.unique(f"qd_struct_{stem}", ("struct", t))
    if p.spelling.tail(t):
        members.append((f"uint8_t[{p.spelling.tail(t)}]", "qd_tail"))
    return p.add("struct", name, "declare", members, needs=tuple(kind for _, kind in t.members))


def _stem(p: Prelude, t: ValueType) -> str:
    return suffix(t) if isinstance(t, (DType, TensorType)) else p.type(t).removeprefix("qd_")


def reference(p: Prelude, t: ValueType, macro: str = "declare", name: str = "qd_{}_at") -> str:
    name, align = name.format(_stem(p, t)), size_align(t)[1]
    return p.add("reference", name, macro, t, p.stored(t), align, needs=(t,))


def words_of_memory(p: Prelude, *more: ValueType) -> tuple[tuple[str, ValueType], ...]:
    """References to words, and to more, where memory is reached through such."""
    return tuple(("reference", t) for t in (i32, u32, u64, *more)) if p.spelling.references else ()


def reference_value(p: Prelude, t: ValueType) -> str:
    return reference(p, t, "value", "qd_value_{}")


def reference_store(p: Prelude, t: ValueType) -> str:
    at = p.need("reference", t)
    return p.add("reference", f"qd_store_{_stem(p, t)}", "store", at, p.stored(t), needs=(t, ("reference", t)))


def reference_volatile(p: Prelude, t: ValueType) -> str:
    p.need("reference", t)
    return reference(p, t, "volatile_load", "qd_volatile_{}")


def memory(p: Prelude, op: str) -> str:
    return p.add("memory", f"qd_memory_{op}", op, needs=(u64,))


def lane(p: Prelude, part: str = "lane") -> str:
    if part == "rng":
        return p.add("lane", "qd_rng", "rng", needs=(u32, u64))
    if part == "error":
        return p.add("lane", "qd_error", "error", needs=(i32, i64, p.spelling.failure_real))
    if part == "runtime":
        return p.add("lane", "qd_runtime", "runtime", needs=(i32, i64, u64, ("lane", "error")))
    if part == "room":
        return p.add("lane", "qd_has_room", "room", needs=(u1, i64, ("lane", "lane")))
    return p.add("lane", "qd_lane", "lane", needs=(i32, ("lane", p.spelling.lane_holds), ("lane", "rng")))


def cast(p: Prelude, op: str, source: DType, target: DType) -> str:
    if op == "whole" and source in (f32, f64) and target in (i32, i64):
        absolute = ("float", "abs", source)
        name, called = f"qd_{target}_from_{source}", p.need(*absolute)
        return p.add("cast", name, "whole", source, target, called, needs=(source, target, absolute))
    if op == "to_integer" and source in (f32, f64) and target.is_integral and target is not u1:
        # The narrowest signed type on the way that holds all values of the target.
        whole = ("cast", "whole", source, i32 if target is i32 or target.bits < 32 else i64)
        if target in whole:
            return str(p.need(*whole))
        name = f"qd_{target}_from_{source}"
        needs = (source, target, whole)
        return p.add("cast", name, "to_integer", source, target, p.need(*whole), needs=needs)
    if op == "wide" and (source, target) == (i32, i64):
        return p.add("cast", "qd_i64_from_i32", "wide", source, target, needs=(source, target))
    if op == "hidden" and source is target and source in (f16, f32, f64):
        return p.add("cast", f"qd_hidden_{source}", "hidden", source, target, needs=(source,))
    if op == "once" and (source, target) == (f64, f16):
        return p.add("cast", "qd_f16_from_f64", "once", source, target, needs=(source, target))
    if op == "rounded" and (source, target) == (f16, f32):
        return p.add("cast", "qd_f32_from_f16", "rounded", source, target, needs=(source, target))
    if op == "kept" and source in (f16, f32) and target is f64:
        return p.add("cast", f"qd_f64_from_{source}", "kept", source, target, needs=(source, target))
    if op == "half" and f16 in (source, target):
        return p.add("cast", f"qd_{target}_from_{source}", "half", source, target, needs=(source, target))
    if op != "bit_cast" or source.size != target.size or u1 in (source, target):
        raise ValueError(f"the prelude has no cast '{op}' from {source} to {target}")
    return p.add("cast", f"qd_bit_cast_{source}_{target}", "bit_cast", source, target, needs=(source, target))


def singles(p: Prelude, t: DType) -> tuple[DType, tuple[tuple[Any, ...], ...]]:
    """The type in which t is computed, and the conversions there and back."""
    if t is not f16 or p.spelling.half_arithmetic:
        return t, ()
    return f32, (("cast", "half", f16, f32), ("cast", "half", f32, f16))


def int_(p: Prelude, op: str, t: DType, exponent: DType = i32) -> str:
    if op == "powi" and exponent.is_integral:
        # Products of narrow integers are taken in u32, where they wrap: the square of a u16 overflows an int.
        work = t if t.is_real else u32 if t.bits < 32 else unsigned(t)
        needs = (t, exponent, unsigned(exponent), work, *singles(p, t)[1])
        return p.add("int", f"qd_powi_{t}_{exponent}", "powi", t, exponent, work, needs=needs)
    if op not in INT_OPS or t.is_real:
        raise ValueError(f"the prelude has no integer function '{op}' for {t}")
    apart = p.apart and op in QUOTIENTS.values() and t.kind == "i" and t.bits >= 32
    return p.add("int", f"qd_{op}_{t}", op, t, *((True,) if apart else ()), needs=(t, unsigned(t), i32))


def nearest_powi(p: Prelude, t: DType, exponent: DType) -> str:
    """`powi` of which negative exponents give the nearest reciprocal."""
    calls = ("int", "powi", t, unsigned(exponent)), ("float", "nearest_quotient", t)
    needs = (t, exponent, unsigned(exponent), *calls)
    names = [p.need(*call) for call in calls]
    return p.add("float", f"qd_nearest_powi_{t}_{exponent}", "nearest_powi", t, exponent, *names, needs=needs)


def float_(p: Prelude, op: str, t: DType, exponent: DType | int = i32) -> str:
    if op in ("powi", "nearest_powi"):
        assert isinstance(exponent, DType)
        return int_(p, op, t, exponent) if op == "powi" else nearest_powi(p, t, exponent)
    if op == "half_power" and t in (f32, f64):
        assert isinstance(exponent, int)
        return half_power(p, t, exponent)
    op = "fmod" if op == "rawmod" else op
    if op in ("isnan", "isinf") and t.is_real:
        bits = ("cast", "bit_cast", t, bits_of(t))
        return p.add("float", f"qd_{op}_{t}", op, t, p.need(*bits), needs=(u1, bits))
    if op == "quotient" and t is f32:
        return p.add("float", "qd_quotient_f32", "quotient", t, needs=(t,))
    if op in NEAREST and t is f16:
        single = p.need("float", op, f32)
        return p.add("float", f"qd_{op}_{t}", "via_f32", t, single, NEAREST[op], needs=(t, ("float", op, f32)))
    if op in NEAREST and t is f32:
        return p.add("float", f"qd_{op}_{t}", op, t, needs=(t, i32, u32))
    if op == "reduced" and (op, t.name) in p.spelling.written:
        return written(p, op, t)
    if not t.is_real or (op not in LIBM and op not in FLOAT_OPS) or singles(p, t)[1]:
        raise ValueError(f"the prelude has no real function '{op}' for {t}")
    if t.bits == 16 and op in VIA_F32:
        macro = "frexp_via_f32" if op == "frexp" else "via_f32"
        needs = (t, i32, ("float", op, f32))
        return p.add("float", f"qd_{op}_{t}", macro, t, p.need("float", op, f32), VIA_F32[op], needs=needs)
    if (op, t.name) in p.spelling.written:
        return written(p, op, t)
    if op in p.spelling.builtin or op in LIBM:
        return libm(p, op, t)
    calls = [("float", used, t) for used in FLOAT_OPS[op]]
    return p.add("float", f"qd_{op}_{t}", op, t, *[p.need(*call) for call in calls], needs=(t, i32, *calls))


# What functions that the prelude writes itself call.
WRITTEN = {
    "sin": ("reduced",), "cos": ("reduced",), "tan": ("sin", "cos"),
    "asin": ("atan2", "sqrt"), "acos": ("atan2", "sqrt"),
    "atan2": (), "tanh": ("exp",), "exp": (), "log": (), "pow": ("log", "exp"), "fmod": ("copysign",), "copysign": (),
    "frexp": (), "reduced": (),
}  # fmt: skip


def written(p: Prelude, op: str, t: DType) -> str:
    """A function of the C library in a language that has none, or no good one."""
    calls = [("float", used, t) for used in WRITTEN[op]]
    needs = (t, i32, u32, bits_of(t), *calls)
    return p.add("float", f"qd_{op}_{t}", op, t, *[p.need(*call) for call in calls], needs=needs)


def half_power(p: Prelude, t: DType, halves: int) -> str:
    """The function that raises to the power halves / 2, with products and a square root."""
    size = f"{abs(halves)}_2" if halves % 2 else f"{abs(halves) // 2}"
    name = f"qd_pow_{'minus_' * (halves < 0)}{size}_{t}"
    needs = (t, *((("float", "sqrt", t),) if halves % 2 else ()))
    root = p.need("float", "sqrt", t) if halves % 2 else ""
    return p.add("float", name, "half_power", t, halves, root, needs=needs)


def libm(p: Prelude, op: str, t: DType) -> str:
    own = p.spelling.own.get(f"float.{op}", "")
    if own:
        return own
    name = ("fabs" if op == "abs" else op) + (p.spelling.float_suffix if t.bits == 32 else "")
    if p.spelling.libm:
        since = OPS[op].vectors if op in OPS else None
        vector = since is not None and p.simd >= since
        p.add("libm", name, "declare", t, LIBM[op], op, vector)
    return name


def scalar(p: Prelude, op: str, t: DType, *rest: Any) -> str:
    return p.need("float" if t.is_real else "int", op, t, *rest)


def atomic(p: Prelude, op: str, t: ValueType, space: str = "", family: str = "atomic") -> str:
    there = f"_{space.strip()}" if space else ""
    told = (space,) if space else ()
    if op == "cas_narrow":
        return p.add(family, f"qd_cas_{t}{there}", "cas_narrow", t, *told, needs=(t, u32, *words_of_memory(p)))
    if op == "add_whole":
        name = p.unique(f"qd_atomic_add_{suffix(t)}", (family, op, t, space))
        each = (family, "add", element_dtype(t), space)
        return p.add(family, name, "add_whole", t, p.need(*each), *told, needs=(t, each))
    dtype = element_dtype(t)
    bitwise = op in ("and", "or", "xor", "cas")
    if op not in UPDATES and op != "cas" or bitwise and dtype.is_real or op == "cas" and isinstance(t, TensorType):
        raise ValueError(f"the prelude has no {family} operation '{op}' on {t}")
    name = f"qd_{family}_{op}_{suffix(t)}{there}"
    needs: list[Any]
    if isinstance(t, TensorType):
        element = (family, op, dtype, space)
        name = p.unique(name, (family, op, t, space))
        needs = [t, element, *words_of_memory(p, t, dtype)]
        return p.add(family, name, "tensor", t, p.need(*element), *told, needs=needs)
    needs = [dtype, unsigned(dtype), u32, *words_of_memory(p, dtype)]
    combine = None
    computed, conversions = singles(p, dtype)
    needs += conversions
    if op in ("min", "max"):
        needs.append(("scalar", op, computed))
        combine = p.need("scalar", op, computed)
    to_bits = from_bits = None
    if p.spelling.narrow and family == "atomic":
        bits = bits_of(dtype)
        native = dtype.bits >= 32 and op in ("add", "sub") or dtype is f32 and op == "exchange"
        if dtype.is_real and not (native and p.spelling.float_atomics):
            back, forth = conversions or (("cast", "bit_cast", bits, dtype), ("cast", "bit_cast", dtype, bits))
            needs += [bits, forth, back]
            to_bits, from_bits = p.need(*forth), p.need(*back)
        if bits.bits <= p.spelling.narrow:
            needs.append((family, "cas_narrow", bits, space))
    macro = "cas" if op == "cas" else "update"
    return p.add(family, name, macro, dtype, op, combine, to_bits, from_bits, *told, needs=needs)


def word(p: Prelude, op: str, t: ValueType) -> str:
    """A number, or each of a tensor, as an unsigned word ("to"), and back ("of")."""
    kept = word_of(t)
    stem, needs = suffix(t), (t, kept)
    name = f"qd_word_of_{stem}" if op == "to" else f"qd_{stem}_of_word"
    if isinstance(t, TensorType):
        each = ("word", op, t.dtype)
        source, result = (t, kept) if op == "to" else (kept, t)
        return p.add("word", name, "each", t, source, result, p.need(*each), needs=(*needs, each))
    return p.add("word", name, op, t, kept, needs=needs)


def joined(p: Prelude, op: str, t: ValueType, space: str) -> str:
    """An atomic that the lanes of a subgroup do together where they can. Returns nothing."""
    if isinstance(t, TensorType):
        name = p.unique(f"qd_joined_{op}_{suffix(t)}", ("joined", op, t))
        return p.add("joined", name, "whole", t, needs=(t, f32, ("reference", t), ("reference", f32)))
    calls = (("atomic", op, t, space), ("plain", "add" if op == "sub" else op, t, ""))
    names = [p.need(*call) for call in calls]
    return p.add("joined", f"qd_joined_{op}_{t}", "lanes", t, op, *names, needs=(t, *words_of_memory(p, t), *calls))


def plain(p: Prelude, op: str, t: ValueType, space: str = "") -> str:
    return atomic(p, op, t, space, "plain")


def random(p: Prelude, op: str, t: DType | None = None) -> str:
    if op == "begin":
        return p.add("random", "qd_rng_begin", "begin", needs=(u64, ("lane", "rng"), ("random", "mix")))
    if op == "mix":
        return p.add("random", "qd_mix64", "mix", needs=(u64,))
    if op == "bits":
        return p.add("random", "qd_random_bits", "bits", needs=(u64, ("lane", "rng"), ("random", "mix")))
    if op == "draw" and t in (f16, f32, f64, i32, u32, i64, u64):
        return p.add("random", f"qd_random_{t}", "draw", t, needs=(t, u32, ("random", "bits"), *singles(p, t)[1]))
    if op == "normal" and t in (f32, f64):
        calls = [("float", used, t) for used in ("log", "sqrt", "cos")]
        needs = (u64, ("random", "bits"), *calls)
        return p.add("random", f"qd_normal_{t}", "normal", t, *[p.need(*call) for call in calls], needs=needs)
    raise ValueError(f"random numbers have the types f16 f32 f64 i32 u32 i64 u64 (normal: f32 f64), not {t}")


def check(p: Prelude, op: str, what: Any, *tensors: ValueType) -> str:
    if op == "fail":
        if len(what) > FAIL_VALUES or set(what) - {"i", "u", "f"}:
            raise ValueError(f"a failure records up to {FAIL_VALUES} values, each 'i', 'u' or 'f', not '{what}'")
        needs: list[Any] = [i32, i64, ("lane",), *words_of_memory(p)]
        if p.spelling.leave_needs:
            needs.append(p.spelling.leave_needs)
        return p.add("check", f"qd_fail{'_' * bool(what)}{what}", "fail", what, needs=needs)
    if op == "exit":
        return p.add("check", "qd_exit", "exit")
    if what.kind not in CHECKED_OPS.get(op, ""):
        raise ValueError(f"the prelude has no checked operation '{op}' on {what}")
    if not tensors and op in QUOTIENTS:
        divide = ("int", QUOTIENTS[op], what)
        needs = [what, unsigned(what), _report(p), divide]
        return p.add("check", f"qd_checked_{op}_{what}", "quotient", what, p.need(*divide), needs=needs)
    if not tensors:
        return p.add("check", f"qd_checked_{op}_{what}", op, what, needs=(what, unsigned(what), i64, u64, _report(p)))
    element = ("check", op, what)
    name = p.unique("_".join(["qd_checked", op, *map(suffix, tensors)]), ("check", op, *tensors))
    return p.add("check", name, "elementwise", p.need(*element), *tensors, needs=(*tensors, element))


def _report(p: Prelude) -> tuple[str, ...]:
    return ("print",) if p.spelling.string else ("print", "record", "")


def print_(p: Prelude, part: str = "", kinds: str = "") -> str:
    if part == "record":
        needs = (("lane",), *words_of_memory(p))
        return p.add("print", f"qd_print{'_' * bool(kinds)}{kinds}", "record", kinds, needs=needs)
    if part == "together":
        return p.add("print", "qd_print_together", "together")
    return p.add("print", "qd_print", "declare", needs=(("lane",),))


def index(p: Prelude, op: str) -> str:
    if op != "take_axis":
        raise ValueError(f"the prelude has no function '{op}' of indices")
    return p.add("index", "qd_take_axis", "take_axis", needs=(i32, u32, u64))


def reduce(p: Prelude, op: str, how: str, t: DType, lanes: int = 0) -> str:
    if how not in UPDATES or how == "exchange" or op not in ("warp", "block"):
        raise ValueError(f"the prelude has no reduction '{op}' by '{how}'")
    computed, conversions = singles(p, t)
    needs: list[Any] = [t, unsigned(t), i32, *conversions]
    combine = None
    if how in ("min", "max"):
        needs.append(("scalar", how, computed))
        combine = p.need("scalar", how, computed)
    if op == "block":
        return p.add("reduce", f"qd_block_{how}_{t}", "block", t, how, combine, needs=needs)
    name = "warp" if lanes == p.spelling.lanes else f"warp{lanes}"
    return p.add("reduce", f"qd_{name}_{how}_{t}", "warp", t, how, combine, lanes, needs=needs)


RULES: dict[str, Callable[..., str]] = {
    "types": types, "tensor": tensor, "struct": struct, "reference": reference, "reference_value": reference_value,
    "reference_store": reference_store,
    "reference_volatile": reference_volatile, "lane": lane, "cast": cast, "int": int_, "float": float_,
    "scalar": scalar, "map": map_, "linalg": linalg, "atomic": atomic, "plain": plain, "random": random, "check": check,
    "word": word, "joined": joined, "print": print_, "index": index, "reduce": reduce, "memory": memory,
    **SIMT_RULES,
}  # fmt: skip
