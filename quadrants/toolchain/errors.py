"""What can go wrong between a text and its binary. All of it is a RuntimeError with one finished message."""

from __future__ import annotations


class ToolchainError(RuntimeError):
    """A vendor compiler is missing, failed, or took too long."""


class CompilerNotFound(ToolchainError):
    """No compiler for the dialect on this machine; the message says what to install, and `short` in a few words."""

    def __init__(self, message: str, short: str = ""):
        super().__init__(message)
        self.short = short


class CompileError(ToolchainError):
    """The compiler ran and produced no binary.

    Attributes: `kernel` (name), `dialect` ("c", "cuda", "hip"), `source_path` (the kept source, or None), `log` (all
    that the compiler said).
    """

    def __init__(self, message: str, *, kernel: str, dialect: str, source_path: str | None = None, log: str = ""):
        super().__init__(message)
        self.kernel = kernel
        self.dialect = dialect
        self.source_path = source_path
        self.log = log


class CompileTimeout(CompileError):
    """The compiler was stopped at the time limit."""
