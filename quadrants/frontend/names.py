"""Names of the emitted text: every variable, function, parameter and array of a kernel gets one of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from quadrants.ir.names import extents_of, identifier, is_reserved


class Names:
    """The names taken so far, and what the next object without a name of its own may be called.

    local: by variables of the enclosing blocks. outer: by functions, parameters and arrays. all: by anything ever.
    hint: what the source calls the array that is about to be declared. assigning: the name on the left of the
    assignment under translation, or "".
    """

    __slots__ = ("local", "outer", "all", "hint", "assigning")

    def __init__(self) -> None:
        self.local: set[str] = set()
        self.outer: set[str] = set()
        self.all: set[str] = set()
        self.hint = ""
        self.assigning = ""

    def unique_name(self, base: str) -> str:
        """A name for a local: unused in the enclosing blocks and by functions and arrays."""
        name = _fresh(base, lambda n: n in self.local or n in self.outer)
        self.local.add(name)
        self.all.add(name)
        return name

    def global_name(self, base: str, along: Callable[[str], Iterable[str]] = lambda _: ()) -> str:
        """A name for a function, parameter or array: never used before in this kernel, nor those `along(name)`."""
        name = _fresh(base, lambda n: n in self.all or not self.all.isdisjoint(along(n)))
        taken = {name, *along(name)}
        self.outer |= taken
        self.all |= taken
        return name

    def array_name(self, base: str) -> str:
        """A name for an array, made of what the source calls it."""
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in base).strip("_") or "array"
        if base[0].isdigit():
            base = "f" + base
        return self.global_name(base, along=extents_of)


def _fresh(base: str, taken: Callable[[str], bool]) -> str:
    base = identifier(base)
    if is_reserved(base):
        base = f"{base.lstrip('_') or 'x'}_"
        base = f"user_{base}" if base.startswith("qd_") or base[0].isdigit() else base
    if not taken(base):
        return base
    k = 1
    while taken(f"{base}_{k}"):
        k += 1
    return f"{base}_{k}"
