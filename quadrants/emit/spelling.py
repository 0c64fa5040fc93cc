"""Text of every scalar operation in the C family: an infix operator with its precedence, or a prelude function."""

from __future__ import annotations

from quadrants.ir.types import DType

# Precedences of C, higher binds tighter.
PRIMARY, UNARY, MUL, ADD, SHIFT, RELATION, EQUALITY, BAND, BXOR, BOR, AND, OR, TERNARY = range(16, 3, -1)

INFIX = {
    "add": ("+", ADD), "sub": ("-", ADD), "mul": ("*", MUL), "truediv": ("/", MUL),
    "bit_and": ("&", BAND), "bit_or": ("|", BOR), "bit_xor": ("^", BXOR), "shl": ("<<", SHIFT), "shr": (">>", SHIFT),
    "lt": ("<", RELATION), "le": ("<=", RELATION), "gt": (">", RELATION), "ge": (">=", RELATION),
    "eq": ("==", EQUALITY), "ne": ("!=", EQUALITY), "logic_and": ("&&", AND), "logic_or": ("||", OR),
}  # fmt: skip

# Arithmetic on one bit: sums and differences are taken mod 2.
BOOLEAN = {"add": ("^", BXOR), "sub": ("^", BXOR), "mul": ("&", BAND)}

# IR name -> name in the prelude.
FUNCTIONS = {
    "floordiv": "floordiv", "mod": "floormod", "raw_div": "rawdiv", "raw_mod": "rawmod", "max": "max", "min": "min",
    "atan2": "atan2", "pow": "pow", "bit_shr": "bit_shr",
}  # fmt: skip

WRAPS = frozenset(("add", "sub", "mul", "shl", "shr", "bit_and", "bit_or", "bit_xor", "neg", "bit_not"))


def narrow(op: str, t: DType) -> bool:
    """Whether C computes `op` in a wider type, so that the result must be cast back."""
    if t.name == "f16":
        return op in ("add", "sub", "mul", "truediv", "neg")
    return t.is_integral and t.bits in (8, 16) and op in WRAPS


def paren(text: str, have: int, need: int) -> str:
    return text if have >= need else f"({text})"


def comment(text: str) -> str:
    """`text` as the inside of a `/* */`: a docstring may hold anything."""
    return text.replace("/*", "/ *").replace("*/", "* /")
