"""HIP text to a code object, in the process that runs this file: `quadrants.toolchain.hiprtc` starts one for each text.

    python hiprtc_child.py LIBRARY < request > answer

The request is JSON: `token`, and a text to compile with `source`, `name`, `arch`, `options`, or none of these to ask
what the library is. The answer is the token and one line of JSON: `version`, `archs`, `size`, and of a compile
`status`, `reason`, `log`; then `size` bytes of code. What comes before the token was said by the libraries.

It imports as little as it can: this file is read anew for every text.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

TYPE_CHECKING = False  # a child that starts for one text imports little
if TYPE_CHECKING:
    from typing import Any


class Library:
    """The functions of a HIPRTC and of the compiler behind it. Raises OSError or AttributeError for another library."""

    def __init__(self, path: str):
        self.api = ctypes.CDLL(path)
        self.api.hiprtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.check(self.api.hiprtcVersion(ctypes.byref(major), ctypes.byref(minor)), "hiprtcVersion")
        self.version = [major.value, minor.value]

    def reason(self, status: int) -> str:
        """What a status of HIPRTC means."""
        text: bytes = self.api.hiprtcGetErrorString(status)
        return text.decode(errors="replace")

    def check(self, status: int, what: str) -> None:
        """Raises RuntimeError for a status other than success."""
        if status != 0:
            raise RuntimeError(f"{what} failed: {self.reason(status)}")

    def archs(self) -> list[str]:
        """The processors that the compiler knows, or none where it cannot be asked."""
        for name in ("", "libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"):
            try:
                comgr = ctypes.CDLL(name) if name else self.api
                count = ctypes.c_size_t()
                if comgr.amd_comgr_get_isa_count(ctypes.byref(count)) == 0:
                    break
            except (OSError, AttributeError):
                continue
        else:
            return []
        found = []
        for index in range(count.value):
            isa = ctypes.c_char_p()
            if comgr.amd_comgr_get_isa_name(ctypes.c_size_t(index), ctypes.byref(isa)) == 0 and isa.value:
                found.append(isa.value.decode().rpartition("-")[2])
        return found

    def compile(self, source: str, name: str, arch: str, options: list[str]) -> tuple[int, str, bytes]:
        """Status, log and code object of one text. Raises RuntimeError."""
        program = ctypes.c_void_p()
        self.check(
            self.api.hiprtcCreateProgram(ctypes.byref(program), source.encode(), f"{name}.hip".encode(), 0, None, None),
            "hiprtcCreateProgram",
        )
        try:
            given = [f"--gpu-architecture={arch}", *options]
            arguments = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
            status = self.api.hiprtcCompileProgram(program, len(given), arguments)
            log = self._text(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            return status, log, self._text(program, "Code") if status == 0 else b""
        finally:
            self.api.hiprtcDestroyProgram(ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self.check(getattr(self.api, f"hiprtcGet{what}Size")(program, ctypes.byref(size)), f"hiprtcGet{what}Size")
        buffer = ctypes.create_string_buffer(size.value + 1)
        self.check(getattr(self.api, f"hiprtcGet{what}")(program, buffer), f"hiprtcGet{what}")
        return buffer.raw[: size.value]


def answer(path: str, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What the library at `path` says to a request, and the code."""
    try:
        library = Library(path)
    except (OSError, AttributeError, RuntimeError) as error:
        return {"missing": str(error)}, b""
    archs = library.archs()
    about = {"version": library.version, "archs": archs}
    arch = request.get("arch", "")
    # An arch that it does not know corrupts the heap of HIPRTC 5, instead of being refused.
    if not arch or (archs and arch.partition(":")[0] not in archs):
        return about, b""
    try:
        status, log, code = library.compile(request["source"], request["name"], arch, request["options"])
    except RuntimeError as error:
        return {**about, "status": -1, "reason": str(error), "log": ""}, b""
    reason = library.reason(status) if status else ""
    return {**about, "status": status, "reason": reason, "log": log}, code


def main() -> None:
    """Answer one request and end at once: what the libraries do when they are unloaded matters to nobody."""
    request = json.load(sys.stdin.buffer)
    said, code = answer(sys.argv[1], request)
    said["size"] = len(code)
    output = sys.stdout.buffer
    output.write(request["token"].encode() + json.dumps(said).encode() + b"\n" + code)
    output.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
