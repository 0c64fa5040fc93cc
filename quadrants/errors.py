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


class QuadrantsRuntimeError(RuntimeError):
    """Misuse of the runtime: no init, a dead object, too many arguments, out of memory."""


class QuadrantsAssertionError(QuadrantsRuntimeError, AssertionError):
    """A kernel assertion or bounds check that failed while the kernel ran."""


class QuadrantsRuntimeTypeError(QuadrantsRuntimeError, TypeError):
    """An argument or return value that cannot be converted to the declared type."""

    @staticmethod
    def get(pos: object, needed: object, provided: object) -> QuadrantsRuntimeTypeError:
        text = f"Argument {pos} (type={provided}) cannot be converted into required type {needed}"
        if isinstance(pos, tuple) and len(pos) > 1 and str(needed)[0] in "iu":
            text += ": the member was lifted as an integer kernel argument when the kernel was compiled"
        return QuadrantsRuntimeTypeError(text)

    @staticmethod
    def get_ret(needed: object, provided: object) -> QuadrantsRuntimeTypeError:
        return QuadrantsRuntimeTypeError(f"Return (type={provided}) cannot be converted into required type {needed}")
