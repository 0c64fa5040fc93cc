"""How the C-family dialects spell types, literals, aggregates and identifiers in their preludes."""

from __future__ import annotations

import re

from quadrants.ir.names import C_KEYWORDS, CPP_KEYWORDS, LIBRARY_NAMES
from quadrants.ir.types import PRIMITIVES, DType, TensorType

_COMMON = {
    "f32": "float",
    "f64": "double",
    "u1": "bool",
    **{f"{kind}{bits}": f"{'u' * (kind == 'u')}int{bits}_t" for kind in "iu" for bits in (8, 16, 32, 64)},
}


_PARENTHESISED = re.compile(r"\([^()]*\)\Z")
_PLAIN_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Spelling:
    """The spellings of one dialect.

    parents: dialects whose prelude files serve where this one has none. narrow: widest type, in bits, whose
    compare-and-swap the device has not and the prelude makes from a wider one; 0 where the atomics need none at all.
    leave: statement that ends a thread; leave_needs: the helper in it. lanes: threads that exchange values without a
    barrier; tile_masks: those of a part of them name each other. operators: tensors may have operators. libm: the
    functions of the C library have to be declared. lane_holds: what the record of a thread points to, besides the
    frame ("runtime" or "error"). own: what the dialect itself calls an operation of `prelude_simt`, by its name there.
    """

    def __init__(
        self,
        dialect: str,
        types: dict,
        *,
        declared: str,
        builtin: str,
        prefix: str,
        aggregate: str,
        reserved: str,
        parents: tuple = (),
        narrow: int = 0,
        leave: str = "",
        lanes: int = 1,
        operators: bool = False,
        leave_needs: tuple = (),
        tile_masks: bool = False,
        libm: bool = False,
        lane_holds: str = "error",
        own: dict | None = None,
    ):
        self.dialect = dialect
        self.parents = parents
        self.narrow = narrow
        self.lanes = lanes
        self.operators = operators
        self.leave_needs = leave_needs
        self.tile_masks = tile_masks
        self.libm = libm
        self.lane_holds = lane_holds
        self.own = own or {}
        self.declared = frozenset(PRIMITIVES[name] for name in declared.split())
        """Primitive types that the prelude has to declare."""
        self.builtin = frozenset(builtin.split())
        """Real functions besides the C library's that the dialect has, named the C way (rsqrtf, rsqrt)."""
        self.types = {PRIMITIVES[name]: text for name, text in types.items()}
        self._aggregate = aggregate
        library = LIBRARY_NAMES.split()
        self.reserved = frozenset(
            [*reserved.split(), *library, *(f"{name}f" for name in library), *types.values()],
        )
        """Identifiers that the dialect or the prelude uses, besides those that start with `qd_` or `__`."""

        self.context = {
            "c": self.c,
            "fn": prefix + "static inline",
            "long_fn": prefix + "static",
            "unsigned": unsigned,
            "number": self.number,
            "at": element_at,
            "kind_bits": kind_bits,
            "narrow": narrow,
            "leave": leave,
            "f16": PRIMITIVES["f16"],
            "f32": PRIMITIVES["f32"],
            "f64": PRIMITIVES["f64"],
            "i32": PRIMITIVES["i32"],
            "i64": PRIMITIVES["i64"],
            "u32": PRIMITIVES["u32"],
            "u64": PRIMITIVES["u64"],
        }

    def c(self, t) -> str:
        """The name of a primitive or tensor type in this dialect."""
        return self.types[t] if isinstance(t, DType) else "qd_" + suffix(t)

    def number(self, value, t: DType) -> str:
        """A finite constant of dtype t, rounded to it by the compiler."""
        if t.kind != "f":
            return str(int(value))
        text = repr(float(value))
        if t.bits == 64:
            return text
        return text + "f" if t.bits == 32 else f"({self.types[t]}){text}f"

    def aggregate(self, type_name: str, body: str) -> str:
        """A value of a struct type from the comma-separated texts of its members."""
        return self._aggregate.format(type=type_name, body=body)

    def identifier(self, name: str) -> str:
        """`name`, or a name with the prefix `qd_` when the dialect cannot use it."""
        if name not in self.reserved and not name.startswith(("_", "qd_")) and _PLAIN_IDENTIFIER.match(name):
            return name
        if name.isascii() and name.isidentifier():
            return f"qd_{name}"
        plain = "".join(ch for ch in name if ch.isascii() and (ch.isalnum() or ch == "_"))
        return f"qd_u_{plain}_{name.encode().hex()}"


def suffix(t) -> str:
    """The part of a helper's name that stands for a type: f32, vec3_f32, mat2x3_f32."""
    if isinstance(t, DType):
        return t.name
    if isinstance(t, TensorType):
        shape = "x".join(map(str, t.shape))
        return f"{'vec' if len(t.shape) == 1 else 'mat'}{shape}_{t.dtype.name}"
    raise ValueError(f"a helper cannot be named after the type {t}")


def element_at(spelling: str, operands, i) -> str:
    """`spelling` with {a}, {b} .. replaced by element i of the operands of a map, or by scalar operands."""
    if _PARENTHESISED.match(spelling):
        spelling = spelling[1:-1]
    names = zip("abcd", operands, strict=False)
    return spelling.format(**{x: f"{x}.v[{i}]" if isinstance(t, TensorType) else x for x, t in names})


def kind_bits(kinds: str) -> int:
    """The bit mask of a failure's values: bit k is set when value k is real, bit 32 + k when it is a u64."""
    return sum(1 << k + {"f": 0, "u": 32}[kind] for k, kind in enumerate(kinds) if kind != "i")


def unsigned(t: DType) -> DType:
    """The unsigned integer type of t's width (u1 stays u1)."""
    return t if t.kind in "bu" else PRIMITIVES[f"u{t.bits}"]


def bits_of(t: DType) -> DType:
    """The unsigned integer type that holds the bit pattern of t."""
    return PRIMITIVES[f"u{8 * t.size}"]


_CUDA = {
    "block.sync": "__syncthreads",
    "block.mem_fence": "__threadfence_block",
    "block.sync_all_nonzero": "__syncthreads_and",
    "block.sync_any_nonzero": "__syncthreads_or",
    "block.sync_count_nonzero": "__syncthreads_count",
    "grid.mem_fence": "__threadfence",
    "subgroup.sync": "__syncwarp",
    "subgroup.mem_fence": "__threadfence_block",
    "warp.sync": "__syncwarp",
    "warp.all_nonzero": "__all_sync",
    "warp.any_nonzero": "__any_sync",
    "warp.shfl_sync_i32": "__shfl_sync",
    "warp.shfl_sync_f32": "__shfl_sync",
    "warp.shfl_up_i32": "__shfl_up_sync",
    "warp.shfl_up_f32": "__shfl_up_sync",
    "warp.shfl_down_i32": "__shfl_down_sync",
    "warp.shfl_down_f32": "__shfl_down_sync",
    "warp.shfl_xor_i32": "__shfl_xor_sync",
    "warp.match_any": "__match_any_sync",
    "warp.active_mask": "__activemask",
    "clock.counter": "clock64",
}
_HIP = {
    name: text for name, text in _CUDA.items() if name.split(".")[0] not in ("subgroup", "warp")
} | {"subgroup.mem_fence": "__threadfence_block"}  # fmt: skip

SPELLINGS: dict[str, Spelling] = {
    "c": Spelling(
        "c",
        {**_COMMON, "f16": "_Float16"},
        declared="i8 i16 i32 i64 u1 u8 u16 u32 u64",
        builtin="",
        prefix="",
        aggregate="({type}){{{body}}}",
        reserved=C_KEYWORDS,
        libm=True,
        lane_holds="runtime",
    ),
    "cuda": Spelling(
        "cuda",
        {**_COMMON, "f16": "qd_half"},
        declared="i8 i16 i32 i64 u8 u16 u32 u64 f16",
        builtin="round rsqrt",
        prefix="__device__ ",
        aggregate="{type}{{{body}}}",
        reserved=C_KEYWORDS + CPP_KEYWORDS,
        narrow=8,
        leave="qd_exit();",
        leave_needs=("check", "exit", None),
        lanes=32,
        operators=True,
        tile_masks=True,
        own=_CUDA,
    ),
    "hip": Spelling(
        "hip",
        {**_COMMON, "f16": "qd_half"},
        declared="i8 i16 i32 i64 u8 u16 u32 u64 f16",
        builtin="round rsqrt",
        prefix="__device__ ",
        aggregate="{type}{{{body}}}",
        reserved=C_KEYWORDS + CPP_KEYWORDS,
        parents=("cuda",),
        narrow=16,
        leave="__builtin_amdgcn_endpgm();",
        lanes=64,
        operators=True,
        own=_HIP,
    ),
}
