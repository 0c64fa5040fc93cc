"""Compiled code in this process, however it came there."""

from __future__ import annotations

import ctypes
import os
from typing import Protocol

from quadrants.toolchain import loader
from quadrants.toolchain.errors import ToolchainError
from quadrants.toolchain.loader import Unsupported

__all__ = ["Library", "SharedObject", "Unsupported", "load_object", "takes_objects"]

load_object = loader.load


class Library(Protocol):
    """Code that can be called. It stays where it is for the life of the process."""

    def address(self, name: str) -> int:
        """Where a function or variable with external linkage is. Raises ToolchainError when there is none."""


class SharedObject:
    """A shared object, loaded by the system. Raises OSError when the system refuses it."""

    def __init__(self, path: str):
        self._library = ctypes.CDLL(path)

    def address(self, name: str) -> int:
        """Where a function or variable with external linkage is. Raises ToolchainError when there is none."""
        try:
            return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            raise ToolchainError(f"the compiled code has no {name}") from None


def takes_objects() -> bool:
    """Whether relocatable objects are loaded here. QD_LINK=1 asks for shared objects, which debuggers and profilers
    know by name."""
    return os.environ.get("QD_LINK", "0") in ("", "0") and loader.available()
