"""Text of every scalar operation in the C family: an infix operator with its precedence, or a prelude function."""

from __future__ import annotations

from quadrants.emit.text import ADD, AND, BAND, BOR, BXOR, EQUALITY, MUL, OR, RELATION, SHIFT, UNARY
from quadrants.ir.types import DType

INFIX = {
    "add": ("+", ADD), "sub": ("-", ADD), "mul": ("*", MUL), "truediv": ("/", MUL),
    "bit_and": ("&", BAND), "bit_or": ("|", BOR), "bit_xor": ("^", BXOR), "shl": ("<<", SHIFT), "shr": (">>", SHIFT),
    "lt": ("<", RELATION), "le": ("<=", RELATION), "gt": (">", RELATION), "ge": (">=", RELATION),
    "eq": ("==", EQUALITY), "ne": ("!=", EQUALITY), "logic_and": ("&&", AND), "logic_or": ("||", OR),
}  # fmt: skip

# Arithmetic on one bit: sums and differences are taken mod 2.
BOOLEAN = {"add": ("^", BXOR), "sub": ("^", BXOR), "mul": ("&", BAND), "max": ("|", BOR), "min": ("&", BAND)}

# Arithmetic of addresses: no divisor is zero, and no number is negative.
EXACT = {**INFIX, "raw_div": ("/", MUL), "raw_mod": ("%", MUL)}

# Functions of the prelude that have another name than their operation.
FUNCTIONS = {"mod": "floormod", "raw_div": "rawdiv", "raw_mod": "rawmod"}

# In parentheses these read better, and compilers warn less, inside other operators than the grammar asks.
CLEARER = {BAND: UNARY, BXOR: UNARY, BOR: UNARY, EQUALITY: UNARY, SHIFT: UNARY, OR: EQUALITY}

WRAPS = frozenset(("add", "sub", "mul", "shl", "shr", "bit_and", "bit_or", "bit_xor", "neg", "bit_not"))


def narrow(op: str, t: DType) -> bool:
    """Whether C computes `op` in a wider type, so that the result must be cast back."""
    if t.name == "f16":
        return op in ("add", "sub", "mul", "truediv", "neg")
    return t.is_integral and t.bits in (8, 16) and op in WRAPS


def comment(text: str) -> str:
    """`text` as the inside of a `/* */`: a docstring may hold anything."""
    return text.replace("/*", "/ *").replace("*/", "* /")
