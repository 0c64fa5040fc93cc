"""Machine code from a relocatable object straight into memory: what a linker and the dynamic loader would do.

For the small objects that kernels are, those two take longer than the compiler's optimiser. The image:

    +--------------------------+-------------------+---------------------+
    | code, then jumps to what | constants, then   | variables           |
    | other libraries have     | table of addresses|                     |
    +--------------------------+-------------------+---------------------+
      read and execute           read                read and write

Nothing is ever writable and executable at once. What is not known here is an Unsupported error, and the caller links.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import sys

from quadrants.toolchain import archive, elf
from quadrants.toolchain.elf import Unsupported
from quadrants.toolchain.errors import ToolchainError

__all__ = ["Image", "Unsupported", "available", "load"]

_R64, _PC32, _PLT32, _GOTPCREL, _PC64, _GOTPCRELX, _REX_GOTPCRELX = 1, 2, 4, 9, 24, 41, 42
_THROUGH_TABLE = (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX)
_JUMP = b"\xff\x25"  # jmp *offset(%rip)
_JUMP_SIZE = 8
_PROT_READ, _PROT_EXEC = 1, 4
# Each costs some microseconds here; beyond this many the linker and the dynamic loader are faster.
_MOST = 2000
# Where the mathematics library, its vector functions and the helpers of the compiler are, where libc is not enough.
_LIBRARIES = ("libm.so.6", "libmvec.so.1", "libgcc_s.so.1")


class Image:
    """Loaded code. It stays in memory for the life of the process, as a library would."""

    def __init__(self, base: int, exports: dict[str, int]):
        self._base = base
        self._exports = exports

    def address(self, name: str) -> int:
        """Where a function or variable with external linkage is. Raises ToolchainError when there is none."""
        if name not in self._exports:
            raise ToolchainError(f"the compiled code has no {name}")
        return self._base + self._exports[name]


def available() -> bool:
    """Whether objects can be loaded on this machine."""
    return sys.platform.startswith("linux") and sys.maxsize > 2**32 and os.uname().machine == "x86_64"


def load(data: bytes) -> Image:
    """Put the code of an object, or of an archive of several, in memory, ready to be called. Raises Unsupported."""
    try:
        parsed = [elf.parse(member) for member in archive.members(data)]
    except ValueError as error:
        raise Unsupported(f"damaged archive: {error}") from None
    obj = parsed[0] if len(parsed) == 1 else elf.merged(parsed)
    if len(obj.relocations) > _MOST:
        raise Unsupported(f"{len(obj.relocations)} relocations")
    layout = _Layout(obj)
    try:
        memory = mmap.mmap(-1, layout.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
    except OSError as error:
        raise Unsupported(f"no memory for {layout.size} bytes of code ({error})") from None
    for index, section in obj.sections.items():
        memory[layout.places[index] : layout.places[index] + len(section.data)] = section.data
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for relocation in obj.relocations:
        _apply(memory, base, layout, relocation)
    _fill_table(memory, base, layout)
    exports = {name: layout.offset(number) for name, number in obj.exports.items() if layout.has(number)}
    _protect(base, layout.code_end, _PROT_READ | _PROT_EXEC)
    _protect(base + layout.code_end, layout.constants_end - layout.code_end, _PROT_READ)
    # Never unmapped, not even when Python ends: a thread may be in this code, or about to be.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    return Image(base, exports)


class _Layout:
    """Where everything goes, in bytes from the start of the image. Symbols go by their number."""

    def __init__(self, obj: elf.Object):
        self.obj = obj
        self.places: dict[int, int] = {}  # of sections
        self.table: dict[int, int] = {}  # of entries in the table of addresses
        self.jumps: dict[int, int] = {}  # of jumps to what other libraries have
        self.outside: dict[int, int] = {}  # addresses of what other libraries have
        called, listed = self._needs()
        end = self._place(0, elf.EXECUTE)
        for number in called:
            end = self.jumps[number] = _up(end, _JUMP_SIZE)
            end += _JUMP_SIZE
        self.code_end = end = _up(end, mmap.PAGESIZE)
        end = self._place(end, 0)
        for number in listed:
            end = self.table[number] = _up(end, 8)
            end += 8
        self.constants_end = end = _up(end, mmap.PAGESIZE)
        self.size = max(_up(self._place(end, elf.WRITE), mmap.PAGESIZE), mmap.PAGESIZE)

    def has(self, number: int) -> bool:
        """Whether the object itself has the symbol."""
        return self.obj.symbols[number].section in self.places

    def offset(self, number: int) -> int:
        """Of a symbol that the object itself has."""
        symbol = self.obj.symbols[number]
        if symbol.value > self.obj.sections[symbol.section].size:
            raise Unsupported(f"symbol {symbol.name!r} is outside of its section")
        return self.places[symbol.section] + symbol.value

    def address(self, number: int, base: int) -> int:
        """Of any symbol, in an image that starts at `base`."""
        return base + self.offset(number) if self.has(number) else self.outside[number]

    def _needs(self) -> tuple[list[int], list[int]]:
        """The symbols that need a jump, and those that need an entry in the table. Finds those of other libraries."""
        called: dict[int, None] = {}
        listed: dict[int, None] = {}
        for relocation in self.obj.relocations:
            number = relocation.symbol
            if number >= len(self.obj.symbols):
                raise Unsupported(f"symbol {number} of {len(self.obj.symbols)}")
            symbol = self.obj.symbols[number]
            if symbol.section not in self.obj.sections:
                if symbol.section != elf.UNDEFINED or not symbol.name:
                    raise Unsupported(f"symbol {symbol.name!r} is in section {symbol.section:#x}")
                self.outside[number] = _address_outside(symbol.name)
                if relocation.kind == _PLT32:
                    called[number] = listed[number] = None
            if relocation.kind in _THROUGH_TABLE:
                listed[number] = None
        return list(called), list(listed)

    def _place(self, end: int, kind: int) -> int:
        for index, section in self.obj.sections.items():
            if section.flags & (elf.EXECUTE | elf.WRITE) == kind:
                end = self.places[index] = _up(end, section.align)
                end += section.size
        return end


def _apply(memory: mmap.mmap, base: int, layout: _Layout, relocation: elf.Relocation) -> None:
    index, offset, kind, number, addend = relocation
    section = layout.obj.sections[index]
    width = 8 if kind in (_R64, _PC64) else 4
    if offset + width > len(section.data):
        raise Unsupported(f"relocation at {offset} of section {section.name}")
    at = layout.places[index] + offset
    if kind in _THROUGH_TABLE:
        value = layout.table[number] + addend - at
    elif kind == _PLT32 and not layout.has(number):
        value = layout.jumps[number] + addend - at
    elif kind in (_PC32, _PC64, _PLT32) and layout.has(number):
        value = layout.offset(number) + addend - at
    elif kind == _R64:
        value = layout.address(number, base) + addend
    else:
        raise Unsupported(f"relocation of kind {kind} for symbol {layout.obj.symbols[number].name!r}")
    try:
        memory[at : at + width] = value.to_bytes(width, "little", signed=kind != _R64)
    except OverflowError:
        raise Unsupported(f"relocation of kind {kind} does not reach symbol {number}") from None


def _fill_table(memory: mmap.mmap, base: int, layout: _Layout) -> None:
    for number, at in layout.table.items():
        memory[at : at + 8] = layout.address(number, base).to_bytes(8, "little")
    for number, at in layout.jumps.items():
        away = layout.table[number] - (at + len(_JUMP) + 4)
        memory[at : at + 6] = _JUMP + away.to_bytes(4, "little", signed=True)


@functools.cache
def _address_outside(name: str) -> int:
    for library in (None, *_LIBRARIES):
        try:
            handle = ctypes.CDLL(library)
            return ctypes.cast(getattr(handle, name), ctypes.c_void_p).value or 0
        except (OSError, AttributeError):
            continue  # this machine lacks the library, or the library lacks the name
    raise Unsupported(f"no library that is loaded has {name!r}")


def _protect(address: int, size: int, protection: int) -> None:
    if size and _mprotect()(address, size, protection) != 0:
        # Some systems forbid memory that was written to become code.
        raise Unsupported(f"the system does not let memory become code ({os.strerror(ctypes.get_errno())})")


@functools.cache
def _mprotect() -> ctypes._NamedFuncPointer:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return function


def _up(number: int, step: int) -> int:
    return (number + step - 1) & -step
