"""MSL to libraries of Metal. The system compiles, reached through pyobjc, which is imported on first use."""

from __future__ import annotations

import os
import platform
import re
import sys
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from quadrants.toolchain.errors import CompileError, CompilerNotFound

# Where macOS has the runtime of Objective-C and Metal; both are in its cache of libraries, not on the disk.
LIBRARIES = ("/usr/lib/libobjc.A.dylib", "/System/Library/Frameworks/Metal.framework/Metal")
_SYSTEM = "macOS 13 or newer on a Mac with an Apple processor"
_PACKAGE = "pyobjc-framework-Metal: `pip install 'quadrants[metal]'`"
_OLDEST = (13, 0)
_APPLE7 = 1007  # MTLGPUFamilyApple7
_METAL3 = 5001  # MTLGPUFamilyMetal3
_LANGUAGE = 3 << 16  # MTLLanguageVersion3_0
# How the compiler names the text in what it says.
_PLACE = re.compile(r"program_source:(\d+):(?:\d+:)? (?:fatal )?error")

# pyobjc has no annotations that a checker could follow, so its objects are Any here.
_made: dict[tuple[str, bytes], Any] = {}  # libraries whose text was compiled, until they are loaded
_lock = threading.Lock()


class Found(NamedTuple):
    """A device. lacking: what it would need to run kernels of ours, "" for nothing."""

    device: Any
    lacking: str

    @property
    def chip(self) -> str:
        """What the code for it depends on."""
        return f"{self.device.name()}, macOS {platform.mac_ver()[0]}"


def missing() -> list[str]:
    """What keeps kernels from running here, each with what provides it."""
    if not on_mac():
        return [_SYSTEM]
    try:
        found = devices()
    except CompilerNotFound as error:
        return [error.short]
    if not found:
        return ["a device: Metal shows none to this process"]
    return [f"a device with {one.lacking}: {one.device.name()} has none" for one in found if one.lacking]


def on_mac() -> bool:
    """Whether this is macOS."""
    return sys.platform == "darwin"


def devices() -> tuple[Found, ...]:
    """The devices that Metal shows, the usual one first. CompilerNotFound where nothing asks for them."""
    binding = _binding()
    usual = binding.MTLCreateSystemDefaultDevice()
    others = list(binding.MTLCopyAllDevices() or ())
    if usual is None:
        return ()
    ordered = [usual, *(one for one in others if one.registryID() != usual.registryID())]
    return tuple(Found(one, _lacking(one)) for one in ordered)


def chosen(number: int = -1) -> Found | None:
    """The device of that number; of -1 the one that QD_VISIBLE_DEVICE names, or the first that can run kernels. None
    without one."""
    found = devices()
    named, variable = (str(number), "device") if number >= 0 else (os.environ.get("QD_VISIBLE_DEVICE", ""), "")
    if named:
        if not named.isdigit() or int(named) >= len(found):
            text = f"Invalid {variable or 'QD_VISIBLE_DEVICE'}={named}, should be a number below {len(found)}"
            raise ValueError(text)
        return found[int(named)]
    return next((one for one in found if not one.lacking), found[0] if found else None)


def pointer(thing: Any) -> int:
    """The address of an object of Objective-C."""
    import objc

    address: int = objc.pyobjc_id(thing)
    return address


def identity() -> str:
    """Text for cache keys: what is kept is the text itself. Raises CompilerNotFound."""
    _binding()
    return "metal"


def flags() -> tuple[str, ...]:
    """What decides the machine code of a text, in clang's words. The driver's own fast mode supposes that there are no
    NaNs, so texts say themselves which of their functions may be fast."""
    return ("-std=metal3.0", "-fno-fast-math")


def compile(source: str, name: str, chip: str, options: Sequence[str] = ()) -> bytes:
    """What `library` takes, of a text that compiles. `name` is the kernel's, for messages.

    Metal gives a process no code that a later one could load instead of compiling: it is the text. Raises CompileError
    with the compiler's words.
    """
    code = source.encode()
    made = _compiled(source, name, chip)
    with _lock:
        _made[chip, code] = made
    return code


def library(code: bytes, name: str, chip: str) -> Any:
    """The MTLLibrary of what `compile` gave, here or in an earlier process. Raises CompileError."""
    with _lock:
        made = _made.pop((chip, code), None)
    return made if made is not None else _compiled(code.decode(), name, chip)


def _compiled(source: str, name: str, chip: str) -> Any:
    device = next(one.device for one in devices() if one.chip == chip)
    options = _binding().MTLCompileOptions.alloc().init()
    options.setLanguageVersion_(_LANGUAGE)
    options.setFastMathEnabled_(False)
    made, error = device.newLibraryWithSource_options_error_(source, options, None)
    if made is None:  # beside a library, an error is a warning
        log = str(error.localizedDescription()) if error is not None else ""
        raise _failed(source, name, chip, log)
    return made


def _failed(source: str, name: str, chip: str, log: str) -> CompileError:
    from quadrants.toolchain.messages import quoted

    size = f"{source.count(chr(10)) + 1} lines, {len(source)} characters of generated source"
    said = quoted(log, "Metal, which gave no library either,")
    text = f"The Metal compiler failed on kernel '{name}' (dialect metal, {chip}, {size}).\n{said}"
    place, lines = _PLACE.search(log), source.splitlines()
    if place is not None and 0 < int(place[1]) <= len(lines):
        text += f"\nLine {place[1]} of the source is\n  {lines[int(place[1]) - 1].strip()}"
    return CompileError(text, kernel=name, dialect="metal", log=log)


def _binding() -> Any:
    """pyobjc's module of Metal. CompilerNotFound without one."""
    try:
        import Metal
    except ImportError as error:
        text = f"Metal is reached through pyobjc, which cannot be imported ({error}). Install {_PACKAGE}"
        raise CompilerNotFound(text, _PACKAGE) from None
    return Metal


def _lacking(device: Any) -> str:
    version = platform.mac_ver()[0]
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < _OLDEST:
        return f"macOS 13 or newer (this is {version or 'none'})"
    if not device.supportsFamily_(_METAL3) or not device.supportsFamily_(_APPLE7):
        return "Metal 3 and the GPU family Apple7 (M1 and newer)"
    return ""
