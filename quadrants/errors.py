"""Exception classes of the package. Every layer may import this module; it imports nothing of ours."""

from __future__ import annotations


class QuadrantsCompilationError(Exception):
    """A kernel or func cannot be compiled; also wraps foreign exceptions met at trace time."""


class QuadrantsSyntaxError(QuadrantsCompilationError, SyntaxError):
    """Unsupported construct, bad annotation, wrong argument count or name."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class QuadrantsNameError(QuadrantsCompilationError, NameError):
    """A name that is not defined in kernel scope."""


class QuadrantsIndexError(QuadrantsCompilationError, IndexError):
    """Wrong number of indices, or a constant index out of range."""


class QuadrantsTypeError(QuadrantsCompilationError, TypeError):
    """Types that do not fit together inside a kernel."""


class WrongVariable(ValueError):
    """An environment variable has a value that it may not have."""


class QuadrantsRuntimeError(RuntimeError):
    """Misuse of the runtime: no init, a dead object, too many arguments, out of memory."""


class QuadrantsAssertionError(QuadrantsRuntimeError, AssertionError):
    """A kernel assertion or bounds check that failed while the kernel ran."""


def _advice(name: str, whole: bool, provided: object) -> str:
    """What to write for a parameter of a number, or a member of it, that got something else."""
    if whole and "float" in str(provided):
        return f"; round it and pass an int, or annotate it with a real type, as in `{name}: qd.f32`"
    return f"; pass {'an int' if whole else 'a float'}, or annotate it with a type of what is passed"


class QuadrantsRuntimeTypeError(QuadrantsRuntimeError, TypeError):
    """An argument or return value that cannot be converted to the declared type."""

    @staticmethod
    def get(pos: object, needed: object, provided: object) -> QuadrantsRuntimeTypeError:
        """The error of an argument."""
        place = QuadrantsRuntimeTypeError.place(pos)
        text = f"{place} (type={provided}) cannot be converted into required type {needed}"
        if isinstance(pos, tuple) and len(pos) > 1 and str(needed)[0] in "iu":
            text += ": the member was lifted as an integer kernel argument when the kernel was compiled"
        elif isinstance(pos, tuple) and isinstance(pos[0], str) and str(needed)[0] in "iuf":
            text += _advice(pos[0], str(needed)[0] != "f", provided)
        return QuadrantsRuntimeTypeError(text)

    @staticmethod
    def place(pos: object) -> str:
        """How messages name an argument: by its parameter and the attributes on the way, where they are known."""
        named = isinstance(pos, tuple) and isinstance(pos[0], str)
        return f"Argument {'.'.join(pos) if named else pos}"  # type: ignore[arg-type]  # a tuple of names

    @staticmethod
    def get_ret(needed: object, provided: object) -> QuadrantsRuntimeTypeError:
        """The error of a return value."""
        return QuadrantsRuntimeTypeError(f"Return (type={provided}) cannot be converted into required type {needed}")
