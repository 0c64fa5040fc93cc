"""The names of files and folders that are ours: nothing of another name is ever deleted."""

from __future__ import annotations

from quadrants.folders import is_hex

SCRATCH = "quadrants-"


def is_entry(name: str) -> bool:
    """A file of the disk cache in its shelf: the last 62 digits of the key and a suffix."""
    return len(name) > 63 and is_hex(name[:62]) and is_suffix(name[62:])


def is_suffix(text: str) -> bool:
    """What may follow a key: a dot and up to 8 lower-case letters."""
    return text[:1] == "." and 1 < len(text) <= 9 and text.isascii() and text[1:].isalpha() and text.islower()


def is_shelf(name: str) -> bool:
    """A folder of the disk cache: the first 2 digits of keys."""
    return len(name) == 2 and is_hex(name)


def is_version(name: str) -> bool:
    """A folder of shelves: a package version of at least three numbers."""
    first, _, rest = name.partition(".")
    second, _, rest = rest.partition(".")
    return first.isdecimal() and second.isdecimal() and rest[:1].isdecimal()


def is_kept_source(name: str) -> bool:
    """A source that did not compile: `<stem>-<8 hex>.<suffix>`."""
    stem, _, suffix = name.rpartition(".")
    return (
        suffix in ("c", "cpp", "cu", "hip", "cl", "comp", "metal")
        and stem[-9:-8] == "-"
        and len(stem) > 9
        and is_hex(stem[-8:])
    )


def is_scratch(name: str) -> bool:
    """A private folder of a process: `quadrants-<pid>-<12 hex>`."""
    pid, _, tail = name[len(SCRATCH) :].partition("-")
    return name.startswith(SCRATCH) and pid.isdecimal() and len(tail) == 12 and is_hex(tail)


def file_stem(name: str) -> str:
    """`name` made fit for a file name of any file system."""
    return "".join(c if c.isascii() and c.isalnum() or c in "_-" else "_" for c in name)[:64] or "kernel"
