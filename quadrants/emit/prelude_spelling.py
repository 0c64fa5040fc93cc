"""How a dialect of the C family spells types, literals, aggregates and identifiers in its prelude."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from quadrants.ir.names import LIBRARY_NAMES, PREFIXES, RESERVED
from quadrants.ir.types import (
    PRIMITIVES,
    DType,
    StructType,
    TensorType,
    ValueType,
    f32,
    f64,
    size_align,
    struct_offsets,
)

_PARENTHESISED = re.compile(r"\([^()]*\)\Z")
_PLAIN_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, repr=False)
class Spelling:
    """The spellings of one dialect.

    dialect: folder of its templates; parents: those of dialects whose prelude files serve where this one has none.
    types: names of the primitive types, by theirs in the IR; declared: those that the prelude has to declare.
    builtin: real functions besides the C library's that the dialect has, named the C way (rsqrtf, rsqrt).
    prefix: what precedes functions. aggregate: a value of a struct type, of {type} and {body}. keywords: identifiers
    that the dialect or the prelude uses, besides those that start with `qd_` or `__`.
    narrow: widest type, in bits, whose compare-and-swap the device has not and the prelude makes from a wider one; 0
    where the atomics need none at all.
    leave: statement that ends a thread; leave_needs: the helper in it. lanes: threads that exchange values without a
    barrier; tile_masks: those of a part of them name each other. operators: tensors may have operators. libm: the
    functions of the C library have to be declared. lane_holds: what the record of a thread points to, besides the
    frame ("runtime" or "error"). signed_wraps: signed arithmetic that overflows wraps; else the compiler assumes that
    none does. own: what the dialect itself calls an operation of `prelude_simt`, by its name there, or as
    `float.OP` a function of f32.
    long_suffix: of a literal of 64 bits. float_suffix: of the names of mathematical functions of f32. builtins: names
    of functions that the language has and a kernel's cannot have. float_atomics: the device adds to real numbers by
    itself. string: what a literal of text is handed over as, up to the name; "" where nothing prints it: its number is,
    and the host has the text. half_arithmetic: there are operations on
    f16; else it is a format of memory. private: qualifier of a thread's own memory, with a blank behind, where pointers
    need one. places_in_lane: where a thread is, only its task is told:
    the record of a thread keeps it, and helpers that want it are handed that. inline: what precedes
    helpers, and large ones: the same without the wish to have them in their callers. memory: names of types in memory
    and aggregates, where these differ. written: real functions (with their types) that the prelude has to write where
    other languages have them. references: memory is reached through blocks, and structs have to say how they end.
    double_suffix: of literals of f64. array: the elements of a tensor as a value, of {type}, {count} and {body}.
    families: a pattern of names that are taken, too.
    """

    dialect: str
    types: dict[str, str]
    declared: tuple[str, ...]
    keywords: str
    aggregate: str = "{type}{{{body}}}"
    builtin: tuple[str, ...] = ()
    prefix: str = ""
    parents: tuple[str, ...] = ()
    narrow: int = 0
    leave: str = ""
    leave_needs: tuple[str | None, ...] = ()
    lanes: int = 1
    tile_masks: bool = False
    operators: bool = False
    libm: bool = False
    lane_holds: str = "error"
    signed_wraps: bool = True
    own: dict[str, str] = field(default_factory=dict)
    long_suffix: str = "ll"
    float_suffix: str = "f"
    builtins: frozenset[str] = frozenset()
    families: str = ""
    float_atomics: bool = True
    coherent: bool = False
    string: str = "const char *"
    half_arithmetic: bool = True
    private: str = ""
    places_in_lane: bool = False
    inline: str = "static inline"
    memory: dict[str, str] = field(default_factory=dict)
    written: frozenset[tuple[str, str]] = frozenset()
    references: bool = False
    array: str = "{{{body}}}"
    double_suffix: str = ""

    @cached_property
    def names(self) -> dict[DType, str]:
        """The names of primitive types, by type."""
        return {PRIMITIVES[name]: text for name, text in self.types.items()}

    @cached_property
    def in_memory(self) -> dict[DType, str]:
        """The names of primitive types in memory, by type, where they are other ones."""
        return {PRIMITIVES[name]: text for name, text in self.memory.items()}

    def elements(self, t: TensorType, body: str) -> str:
        """The elements of a tensor, as part of a value of it."""
        kept = self.kept(t.dtype)
        return self.array.format(type=kept, count=t.count or 1, body=body or f"{kept}(0)" * self.references)

    def kept(self, t: ValueType) -> str:
        """The name of a type in memory and in aggregates."""
        return self.in_memory.get(t) or self.c(t) if isinstance(t, DType) else self.c(t)

    def tail(self, t: StructType) -> int:
        """Bytes behind the last member of a struct that it has to say itself."""
        if not self.references:
            return 0
        key, kind = t.members[-1]
        return size_align(t)[0] - struct_offsets(t)[key] - size_align(kind)[0]

    def padding(self, t: ValueType) -> list[str]:
        """What a value of a type has behind its members."""
        count = self.tail(t) if isinstance(t, StructType) else 0
        return [f"uint8_t[{count}]({', '.join(['uint8_t(0)'] * count)})"] if count else []

    @cached_property
    def _without(self) -> dict[frozenset[str], Spelling]:
        return {frozenset(): self}

    def without(self, types: frozenset[str]) -> Spelling:
        """The same without some types, always the same object: templates are kept by it."""
        types = types.intersection(self.types)
        if types not in self._without:
            left = {name: text for name, text in self.types.items() if name not in types}
            self._without[types] = replace(self, types=left)
        return self._without[types]

    @property
    def failure_real(self) -> DType:
        """How failed checks record real numbers."""
        return f64 if f64 in self.names else f32

    def kind_bits(self, kinds: str) -> int:
        """The kinds of a failure's values, as `qd_abi.h` has them."""
        bits = sum(1 << k + {"f": 0, "u": 32}[kind] for k, kind in enumerate(kinds) if kind != "i")
        return bits | (self.failure_real is f32) << 31

    @cached_property
    def reserved(self) -> frozenset[str]:
        """Identifiers that no user's name may be."""
        library = LIBRARY_NAMES.split()
        return frozenset(
            [*self.keywords.split(), *library, *(f"{name}f" for name in library), *self.types.values()],
        )

    @cached_property
    def _taken(self) -> frozenset[str]:
        return (self.builtins | frozenset(self.keywords.split())) - RESERVED

    @property
    def takes_names(self) -> bool:
        """Whether variables may have names here that they may have elsewhere."""
        return bool(self._taken or self.families)

    def takes(self, name: str) -> bool:
        """Whether no variable may have a name, besides those that none has in any dialect."""
        return name in self._taken or self._in_family(name)

    def _in_family(self, name: str) -> bool:
        return bool(self.families) and re.fullmatch(self.families, name) is not None

    @cached_property
    def context(self) -> dict[str, Any]:
        """What templates of the prelude know."""
        return {
            "c": self.c,
            "fn": self.prefix + self.inline,
            "long_fn": self.prefix + self.inline.removesuffix(" inline"),
            "kept": self.kept,
            "unsigned": unsigned,
            "number": self.number,
            "modular": self.modular,
            "at": self.element_at,
            "kind_bits": self.kind_bits,
            "failure_real": self.names[self.failure_real],
            "narrow": self.narrow,
            "leave": self.leave,
            "ll": self.long_suffix,
            "string": self.string or "int ",
            "private": self.private,
            "coherent": "coherent " if self.coherent else "",
            "lane_first": f"{self.private}qd_lane *lane, " if self.places_in_lane else "",
            "lane_alone": f"{self.private}qd_lane *lane" if self.places_in_lane else "",
            "with_lane": "lane, " if self.places_in_lane else "",
            "only_lane": "lane" if self.places_in_lane else "",
            **{name: PRIMITIVES[name] for name in ("f16", "f32", "f64", "i32", "i64", "u1", "u32", "u64")},
        }

    def element_at(self, spelling: str, operands: Sequence[ValueType], i: int | str) -> str:
        """`spelling` with {a}, {b} .. replaced by element i of the operands of a map, or by scalar operands."""
        if _PARENTHESISED.match(spelling):
            spelling = spelling[1:-1]
        names = zip("abcd", operands, strict=False)
        return spelling.format(**{x: self._element(x, t, i) if isinstance(t, TensorType) else x for x, t in names})

    def _element(self, name: str, t: TensorType, i: int | str) -> str:
        text = f"{name}.v[{i}]"
        return text if self.kept(t.dtype) == self.c(t.dtype) else f"{self.c(t.dtype)}({text})"

    def c(self, t: ValueType) -> str:
        """The name of a primitive or tensor type in this dialect."""
        return self.names[t] if isinstance(t, DType) else "qd_" + suffix(t)

    def number(self, value: float, t: DType) -> str:
        """A finite constant of dtype t, rounded to it by the compiler."""
        if t.kind != "f":
            return str(int(value))
        text = repr(float(value))
        if t.bits == 64:
            return text + self.double_suffix
        if t.bits == 32:
            return text + "f"
        return f"{self.names[t]}({text}f)" if self.references else f"({self.names[t]}){text}f"

    def modular(self, t: DType) -> str:
        """The cast of an operand by which sums and products of integers of type t wrap; "" where they do without it."""
        if self.signed_wraps or t.kind not in "iu" or t.kind == "u" and t.bits >= 32:
            return ""
        return f"({self.names[modular_type(t)]})"

    def value(self, type_name: str, body: str) -> str:
        """A value of a struct type from the comma-separated texts of its members."""
        return self.aggregate.format(type=type_name, body=body)

    def function(self, name: str) -> str:
        """How a function of the user's is called."""
        return f"qd_{name}_" if name in self.builtins or self._in_family(name) else name  # no helper's name ends so

    def identifier(self, name: str) -> str:
        """`name`, or a name with the prefix `qd_` when the dialect cannot use it."""
        taken = name in self.reserved or self._in_family(name) or name.startswith(PREFIXES)
        if not taken and _PLAIN_IDENTIFIER.match(name):
            return name
        if name.isascii() and name.isidentifier():
            return f"qd_{name}"
        plain = "".join(ch for ch in name if ch.isascii() and (ch.isalnum() or ch == "_"))
        return f"qd_u_{plain}_{name.encode().hex()}"


def suffix(t: ValueType) -> str:
    """The part of a helper's name that stands for a type: f32, vec3_f32, mat2x3_f32."""
    if isinstance(t, DType):
        return t.name
    if isinstance(t, TensorType):
        shape = "x".join(map(str, t.shape))
        return f"{'vec' if len(t.shape) == 1 else 'mat'}{shape}_{t.dtype.name}"
    raise ValueError(f"a helper cannot be named after the type {t}")


def unsigned(t: DType) -> DType:
    """The unsigned integer type of t's width (u1 stays u1)."""
    return t if t.kind in "bu" else PRIMITIVES[f"u{t.bits}"]


def modular_type(t: DType) -> DType:
    """The unsigned type in which arithmetic of integers wraps: C takes that of narrow ones in `int`."""
    return PRIMITIVES["u64" if t.bits == 64 else "u32"]


def bits_of(t: DType) -> DType:
    """The unsigned integer type that holds the bit pattern of t."""
    return PRIMITIVES[f"u{8 * t.size}"]
