"""`qd.BitpackedFields`: which quantised fields share a word, and which bits of it are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadrants.data.placeable import flatten_fields
from quadrants.errors import QuadrantsRuntimeError, QuadrantsSyntaxError
from quadrants.ir.quant import WORDS, Packing, Part, QuantFixed, QuantFloat, QuantInt

if TYPE_CHECKING:
    from quadrants.data.node import Leaf
    from quadrants.ir.types import DType

PLACED = "This variable has been placed."
ONLY_QUANT = (
    "Only a QuantType can be a member of a BitStructType: a field of {dtype} has a place of its own, node.place(x)."
)
NOT_IN_ARRAY = (
    "Quant array only supports quant int/fixed type for now: place one field of qd.types.quant.int or fixed in it"
)
NEEDS_WORD = (
    "a field of the quantised type {quant} is some bits of a word: place it with bits = qd.BitpackedFields(32); "
    "bits.place(x); node.place(bits), or in a node.quant_array(axes, dims, max_num_bits)"
)


class BitpackedFields:
    """A word of `max_num_bits` bits that quantised fields share, from bit 0 on in the order in which they are placed.

        x, y = qd.field(qd.types.quant.int(13)), qd.field(qd.types.quant.int(19, False))
        bits = qd.BitpackedFields(max_num_bits=32)
        bits.place(x, y)
        qd.root.dense(qd.i, 8).place(bits)

    max_num_bits: 8, 16, 32 or 64, else `QuadrantsRuntimeError`.
    """

    def __init__(self, max_num_bits: int):
        self.word = word_of(max_num_bits)
        self.fields: list[Any] = []
        self._end = 0
        self._placed = False

    def place(self, *args: Any, shared_exponent: bool = False) -> None:
        """Give fields (scalar, vector or struct fields, lists of them) the next bits.

        shared_exponent: these floats have one exponent, that of the largest of them; smaller ones lose digits.
        `QuadrantsRuntimeError` for fields that are not quantised or have a place, and for more bits than the word has;
        `QuadrantsSyntaxError` for one field with a shared exponent.
        """
        fields = list(flatten_fields(args))
        leaves = [leaf for field in fields for leaf in field._leaves]
        if self._placed:
            raise QuadrantsRuntimeError("These BitpackedFields have been placed and take no more fields.")
        if len(set(map(id, leaves))) != len(leaves) or any(leaf.snode or leaf.packing for leaf in leaves):
            raise QuadrantsRuntimeError(PLACED)
        for field in fields:
            field._check_alive()
        for leaf in leaves:
            if leaf.quant is None:
                raise QuadrantsRuntimeError(ONLY_QUANT.format(dtype=leaf.dtype))
        packings, end = self._shared(leaves) if shared_exponent else self._apart(leaves)
        for leaf, packing in zip(leaves, packings):
            leaf.packing = packing
        self._end = end
        self.fields += fields

    def _apart(self, leaves: list[Leaf]) -> tuple[list[Packing], int]:
        found, end = [], self._end
        for leaf in leaves:
            exponent, width = -1, leaf.quant.bits
            if isinstance(leaf.quant, QuantFloat):
                exponent, end = end, self._grown(end, leaf.quant.exponent.bits)
                width = leaf.quant.digits.bits
            found.append(Packing(self.word, leaf.quant, end, exponent))
            end = self._grown(end, width)
        return found, end

    def _shared(self, leaves: list[Leaf]) -> tuple[list[Packing], int]:
        if len(leaves) < 2:
            raise QuadrantsSyntaxError("At least 2 fields need to be placed when shared_exponent=True")
        formats = [leaf.quant for leaf in leaves]
        if not all(isinstance(form, QuantFloat) for form in formats):
            raise QuadrantsRuntimeError(f"Only floats share an exponent, and these are of {formats}")
        if len({form.exponent for form in formats}) != 1:
            raise QuadrantsRuntimeError(
                "QuantFloatTypes with shared exponents must have exactly the same exponent type, "
                f"and these are {formats}"
            )
        exponent = self._end
        end = self._grown(exponent, formats[0].exponent.bits)
        parts = []
        for form in formats:
            parts.append(Part(end, form))
            end = self._grown(end, form.digits.bits)
        return [Packing(self.word, part.format, part.bit, exponent, (), tuple(parts)) for part in parts], end

    def _grown(self, end: int, bits: int) -> int:
        return fitting(end + bits, self.word)

    def close(self) -> list[Leaf]:
        """The components, whose word has its place now."""
        leaves = [leaf for field in self.fields for leaf in field._leaves]
        if self._placed or any(leaf.snode is not None for leaf in leaves):
            raise QuadrantsRuntimeError(PLACED)
        if not leaves:
            raise QuadrantsRuntimeError("bit_struct node must have at least one child: bits.place(x) first")
        self._placed = True
        # Who has to know of writes to one number hears of those to the word.
        writes = next((leaf.writes for leaf in leaves if leaf.writes is not None), None)
        for leaf in leaves:
            leaf.writes = writes
            assert leaf.packing is not None
            leaf.packing = leaf.packing._replace(used=(1 << self._end) - 1)
        return leaves


def word_of(max_num_bits: Any) -> DType:
    """The unsigned type of a word; `QuadrantsRuntimeError` if there is none of as many bits."""
    found = WORDS.get(max_num_bits) if not isinstance(max_num_bits, bool) else None
    if found is None:
        raise QuadrantsRuntimeError(f"No primitive int type has {max_num_bits} bits: a word has 8, 16, 32 or 64")
    return found


def fitting(bits: int, word: DType) -> int:
    """`bits`, unless these are more than a word has: `QuadrantsRuntimeError`."""
    if bits > word.bits:
        raise QuadrantsRuntimeError(f"BitStructType overflows: {bits} bits used out of {word.bits}.")
    return bits


def in_array(leaf: Leaf, word: DType, cells: int) -> Packing:
    """The packing of the field of a `quant_array`, but for the levels."""
    if not isinstance(leaf.quant, (QuantInt, QuantFixed)):
        raise QuadrantsRuntimeError(f"{NOT_IN_ARRAY}, not {leaf.quant or leaf.dtype}.")
    used = fitting(cells * leaf.quant.bits, word)
    return Packing(word, leaf.quant, 0, used=(1 << used) - 1)
