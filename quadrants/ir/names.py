"""Identifiers that a kernel's text cannot give to the user's functions and variables in some dialect.

Names of ours begin with `qd_`, and no name of a user does; inside each of these two groups one allocator gives every
name once: `frontend.names` for what users name, `emit.prelude` for helpers and types. Functions of a user are in a
namespace of their own where the dialect has a library with more names than anybody lists.
"""

from __future__ import annotations

import functools
import re

C_KEYWORDS = """
auto bool break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef typeof union unsigned void volatile while asm
alignas alignof constexpr nullptr static_assert thread_local true false unix linux NULL
"""

# Names of the C library that prelude text declares or calls, and compilers know by heart. A global of the user with
# one of these names would change their meaning.
LIBRARY_NAMES = """
sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 log log2 log10 pow sqrt rsqrt cbrt floor ceil round trunc rint
fabs abs labs fmod fmin fmax fma frexp ldexp copysign hypot signbit isnan isinf isfinite nan printf puts putchar memcpy
memset memmove malloc calloc free abort exit main strlen strcmp setjmp longjmp y0 y1 yn j0 j1 jn gamma lgamma tgamma erf
erfc index remainder nextafter modf div ldiv time clock rand random select signal read write open close
"""

CPP_KEYWORDS = """
and and_eq bitand bitor catch class compl concept const_cast consteval constinit co_await co_return co_yield decltype
delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq operator or or_eq private protected
public reinterpret_cast requires static_cast template this throw try typeid typename using virtual wchar_t char8_t
char16_t char32_t xor xor_eq min max threadIdx blockIdx blockDim gridDim warpSize assert clock64 dim3
"""

# Qualifiers and built-in names of the shading and compute languages, and the locals of the skeletons.
OTHER = """
half kernel global local private device thread constant in out inout uniform buffer shared frame lane begin end
worker args rt true false asm error errno stdin stdout stderr EOF INFINITY NAN
"""

RESERVED = frozenset(
    [*C_KEYWORDS.split(), *CPP_KEYWORDS.split(), *OTHER.split(), *LIBRARY_NAMES.split()]
    + [f"{name}f" for name in LIBRARY_NAMES.split()]
    + [f"{kind}{bits}_t" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
)

MOST_AXES = 12

# Members of the argument block and of the frame, and names of tasks.
_NUMBERED = re.compile(r"result\d+|\w+_\d+_(serial|range_for|struct_for)")


def is_reserved(name: str) -> bool:
    """Whether the text of a kernel may mean something else by a name."""
    return name in RESERVED or name.startswith(("qd_", "_")) or _NUMBERED.fullmatch(name) is not None


def extents_of(array: str) -> set[str]:
    """The names that stand for the extents of an array: those of its axes, and of all together."""
    return {f"{array}_shape{axis}" for axis in ("", *range(MOST_AXES))}


@functools.cache
def identifier(name: str) -> str:
    """`name` as an identifier of every dialect and a part of file names; `__name__` of a function may be any text.

    Of other text than that of an identifier, letters of other alphabets become "u", and all that is no letter or digit
    an underscore. The result may be RESERVED, and two names may give one.
    """
    if name.isascii() and name.isidentifier():
        return name
    text = "".join(ch if ch.isascii() and ch.isalnum() else "u" if ch.isalpha() else "_" for ch in name)
    text = re.sub("_+", "_", text).strip("_")
    return text if text and not text[0].isdigit() else f"f{text}"
