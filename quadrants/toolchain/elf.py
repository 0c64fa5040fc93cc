"""Relocatable ELF objects for x86-64, read with no trust in what they say.

A damaged or unusual object is an Unsupported error, never a crash: every offset is checked before it is followed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QIIq")
_LITTLE_64 = b"\x7fELF\x02\x01\x01"
_RELOCATABLE, _X86_64 = 1, 62

PROGBITS, SYMTAB, STRTAB, RELA, NOBITS = 1, 2, 3, 4, 8
_NULL, _NOTE, _UNWIND, _ADDRSIG = 0, 7, 0x70000001, 0x6FFF4C03
WRITE, ALLOC, EXECUTE, _MERGE, _STRINGS, _INFO = 1, 2, 4, 0x10, 0x20, 0x40
UNDEFINED, ABSOLUTE, _RESERVED = 0, 0xFFF1, 0xFF00
_PLAIN_KINDS = (0, 1, 2, 3, 4)  # untyped, data, function, section, file; not thread-local and not indirect
_LIMIT = 1 << 30


class Unsupported(Exception):
    """The object cannot be loaded here; the message says why. The linker may still make a library of it."""


class Section(NamedTuple):
    """A part that has a place in memory. `data` is empty for zeroed memory."""

    name: str
    flags: int
    align: int
    size: int
    data: memoryview


class Symbol(NamedTuple):
    """`section` is an index, UNDEFINED or ABSOLUTE; `value` counts from the start of the section."""

    name: str
    section: int
    value: int


class Relocation(NamedTuple):
    """At `offset` of section `section`: put the address of a symbol plus `addend`, in the way that `kind` says."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class Object(NamedTuple):
    """What there is to load. `sections` maps indices of the file to the parts with a place in memory."""

    sections: dict[int, Section]
    symbols: list[Symbol]
    relocations: list[Relocation]
    exports: dict[str, int]


def parse(data: bytes) -> Object:
    """Read an object. Raises Unsupported."""
    try:
        return _parse(memoryview(data))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise Unsupported(f"damaged object: {error}") from None


def merged(objects: Sequence[Object]) -> Object:
    """Several objects as one: what one of them lacks another one may have. Raises Unsupported."""
    whole = Object({}, [], [], {})
    shift = 0
    for obj in objects:
        first = len(whole.symbols)
        for name, number in obj.exports.items():
            if whole.exports.setdefault(name, first + number) != first + number:
                raise Unsupported(f"two objects have {name!r}")
        whole.sections.update({index + shift: section for index, section in obj.sections.items()})
        whole.symbols.extend(s if s.section in (UNDEFINED, ABSOLUTE) else _moved(s, shift) for s in obj.symbols)
        whole.relocations.extend(
            Relocation(r.section + shift, r.offset, r.kind, r.symbol + first, r.addend) for r in obj.relocations
        )
        shift = 1 + max([shift, *whole.sections, *(s.section for s in whole.symbols if s.section != ABSOLUTE)])
    for number, symbol in enumerate(whole.symbols):
        if symbol.section == UNDEFINED and symbol.name in whole.exports:
            whole.symbols[number] = whole.symbols[whole.exports[symbol.name]]
    return whole


def _moved(symbol: Symbol, shift: int) -> Symbol:
    if symbol.section + shift >= _RESERVED:
        raise Unsupported(f"{symbol.section + shift} sections")
    return Symbol(symbol.name, symbol.section + shift, symbol.value)


def _parse(data: memoryview) -> Object:
    fields = _HEADER.unpack_from(data)
    if fields[0][:7] != _LITTLE_64 or fields[1] != _RELOCATABLE or fields[2] != _X86_64:
        raise Unsupported("no relocatable object for x86-64")
    offset, size, count, names_at = fields[6], fields[11], fields[12], fields[13]
    if size != _SECTION.size or not count:
        raise Unsupported(f"{count} sections, described in {size} bytes each")
    table = _cut(data, offset, size * count)
    headers = list(_SECTION.iter_unpack(table))
    names = _content(data, headers, names_at, STRTAB)
    sections: dict[int, Section] = {}
    relocations: list[Relocation] = []
    symbols: list[Symbol] = []
    exports: dict[str, int] = {}
    for index, header in enumerate(headers):
        name, kind, flags = _text(names, header[0]), header[1], header[2]
        if flags & ALLOC:
            if name != ".eh_frame" and kind not in (_NOTE, _UNWIND):
                sections[index] = _section(data, name, header)
        elif kind == SYMTAB:
            if symbols:
                raise Unsupported("two symbol tables")
            symbols, exports = _symbols(data, headers, header)
        elif kind not in (_NULL, PROGBITS, STRTAB, RELA, _ADDRSIG, _NOTE):
            raise Unsupported(f"section {name} of kind {kind:#x}")
    for header in headers:
        if header[1] == RELA and header[7] in sections:
            place = header[7]
            for offset, kind, symbol, addend in _RELOCATION.iter_unpack(_cut(data, header[4], header[5])):
                relocations.append(Relocation(place, offset, kind, symbol, addend))
    return Object(sections, symbols, relocations, exports)


def _section(data: memoryview, name: str, header: tuple[int, ...]) -> Section:
    kind, flags, offset, size, align = header[1], header[2], header[4], header[5], header[8] or 1
    if kind not in (PROGBITS, NOBITS) or flags & ~(WRITE | ALLOC | EXECUTE | _MERGE | _STRINGS | _INFO):
        raise Unsupported(f"section {name} of kind {kind:#x}, flags {flags:#x}")
    if name.startswith((".ctors", ".dtors")):
        raise Unsupported("code that runs at load")
    if flags & WRITE and flags & EXECUTE:
        raise Unsupported(f"section {name} is both code and variables")
    if align & (align - 1) or align > 4096 or size > _LIMIT:
        raise Unsupported(f"section {name} of {size} bytes, alignment {align}")
    return Section(name, flags, align, size, data[:0] if kind == NOBITS else _cut(data, offset, size))


def _symbols(
    data: memoryview, headers: list[tuple[int, ...]], header: tuple[int, ...]
) -> tuple[list[Symbol], dict[str, int]]:
    names = _content(data, headers, header[6], STRTAB)
    symbols: list[Symbol] = []
    exports: dict[str, int] = {}
    for name_at, info, _, section, value, _ in _SYMBOL.iter_unpack(_cut(data, header[4], header[5])):
        name = _text(names, name_at)
        if info & 15 not in _PLAIN_KINDS or (section >= _RESERVED and section != ABSOLUTE):
            raise Unsupported(f"symbol {name} of kind {info & 15}, place {section:#x}")
        if info >> 4 and section != UNDEFINED:
            exports[name] = len(symbols)
        symbols.append(Symbol(name, section, value))
    return symbols, exports


def _content(data: memoryview, headers: list[tuple[int, ...]], index: int, kind: int) -> bytes:
    header = headers[index]
    if header[1] != kind:
        raise Unsupported(f"section {index} is of kind {header[1]:#x}, not {kind:#x}")
    return bytes(_cut(data, header[4], header[5]))


def _cut(data: memoryview, offset: int, size: int) -> memoryview:
    if offset + size > len(data):
        raise Unsupported(f"{size} bytes at {offset}, in an object of {len(data)}")
    return data[offset : offset + size]


def _text(names: bytes, at: int) -> str:
    end = names.find(b"\0", at)
    if end < 0:
        raise Unsupported(f"a name at {at}, in a table of {len(names)} bytes")
    return names[at:end].decode()
