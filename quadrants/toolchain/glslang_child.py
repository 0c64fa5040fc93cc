"""GLSL text to SPIR-V, in the process that runs this file: `quadrants.toolchain.glslang` keeps one.

    python glslang_child.py LIBRARY IDLE_SECONDS

A request is a number of four bytes and as much JSON: `source`, and `tasks`, the numbers for which it is compiled. The
answer is a number of four bytes and as much JSON, `sizes` or `log`, then the modules. It ends when nobody asked for so
many seconds, and with whoever started it. It imports as little as it can.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# As the C interface of glslang numbers them.
_GLSL, _COMPUTE, _VULKAN, _SPIRV, _CORE = 1, 5, 1, 1, 2
_VULKAN_1_2, _SPIRV_1_5 = 1 << 22 | 2 << 12, 1 << 16 | 5 << 8
_RULES = 1 << 3 | 1 << 4  # of SPIR-V and of Vulkan
_MOST_BYTES = 4 << 30


class _Input(ctypes.Structure):
    """glslang_input_t; versions before 13 end with `resource`."""

    _fields_ = [
        ("language", ctypes.c_int), ("stage", ctypes.c_int), ("client", ctypes.c_int), ("client_version", ctypes.c_int),
        ("target", ctypes.c_int), ("target_version", ctypes.c_int), ("code", ctypes.c_char_p),
        ("default_version", ctypes.c_int), ("default_profile", ctypes.c_int), ("force_default", ctypes.c_int),
        ("forward_compatible", ctypes.c_int), ("messages", ctypes.c_int), ("resource", ctypes.c_void_p),
        ("callbacks", ctypes.c_void_p * 4),
    ]  # fmt: skip


class Library:
    """The functions of a libglslang. Raises OSError or AttributeError for another library."""

    def __init__(self, path: str):
        self.api = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        folder, tail = os.path.split(os.path.realpath(path))
        end = tail.removeprefix("libglslang")

        def beside(name: str) -> ctypes.CDLL:
            return ctypes.CDLL(os.path.join(folder, f"lib{name}{end}"))

        generator = self.api if hasattr(self.api, "glslang_program_SPIRV_generate") else beside("SPIRV")
        limits = (
            self.api if hasattr(self.api, "glslang_default_resource") else beside("glslang-default-resource-limits")
        )
        self.generator = generator
        self.resource = _function(limits, "glslang_default_resource", ctypes.c_void_p)()
        pointer, text = ctypes.c_void_p, ctypes.c_char_p
        self.shader_create = _function(self.api, "glslang_shader_create", pointer, ctypes.POINTER(_Input))
        self.shader_delete = _function(self.api, "glslang_shader_delete", None, pointer)
        self.shader_preamble = _function(self.api, "glslang_shader_set_preamble", None, pointer, text)
        self.preprocess = _function(
            self.api, "glslang_shader_preprocess", ctypes.c_int, pointer, ctypes.POINTER(_Input)
        )
        self.parse = _function(self.api, "glslang_shader_parse", ctypes.c_int, pointer, ctypes.POINTER(_Input))
        self.shader_log = _function(self.api, "glslang_shader_get_info_log", text, pointer)
        self.program_create = _function(self.api, "glslang_program_create", pointer)
        self.program_delete = _function(self.api, "glslang_program_delete", None, pointer)
        self.add_shader = _function(self.api, "glslang_program_add_shader", None, pointer, pointer)
        self.link = _function(self.api, "glslang_program_link", ctypes.c_int, pointer, ctypes.c_int)
        self.program_log = _function(self.api, "glslang_program_get_info_log", text, pointer)
        self.generate = _function(generator, "glslang_program_SPIRV_generate", None, pointer, ctypes.c_int)
        self.size = _function(generator, "glslang_program_SPIRV_get_size", ctypes.c_size_t, pointer)
        self.words = _function(generator, "glslang_program_SPIRV_get_ptr", pointer, pointer)
        self.api.glslang_initialize_process()

    def compile(self, source: str, defines: str) -> tuple[bytes, str]:
        """The module of a text with these lines in front, or none and what is wrong."""
        code = source.encode()
        told = _Input(
            _GLSL, _COMPUTE, _VULKAN, _VULKAN_1_2, _SPIRV, _SPIRV_1_5, code, 460, _CORE, 0, 0, _RULES, self.resource
        )
        preamble = defines.encode()
        shader = self.shader_create(ctypes.byref(told))
        self.shader_preamble(shader, preamble)
        program = self.program_create()
        try:
            if not (self.preprocess(shader, ctypes.byref(told)) and self.parse(shader, ctypes.byref(told))):
                return b"", self.shader_log(shader).decode(errors="replace")
            self.add_shader(program, shader)
            if not self.link(program, _RULES):
                return b"", self.program_log(program).decode(errors="replace")
            self.generate(program, _COMPUTE)
            return ctypes.string_at(self.words(program), 4 * self.size(program)), ""
        finally:
            self.program_delete(program)
            self.shader_delete(shader)


def _function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


def answer(library: Library, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The modules of a text, or why there are none."""
    modules = []
    for task in request["tasks"]:
        code, log = library.compile(request["source"], f"#define QD_TASK {task}\n{request['defines']}")
        if not code:
            return {"log": log}, b""
        modules.append(code)
    return {"sizes": [len(code) for code in modules]}, b"".join(modules)


def _bound_memory() -> None:
    """What follows a text without end shall end this process, and no other."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = _MOST_BYTES if most == resource.RLIM_INFINITY else min(most, _MOST_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, most))


def main() -> None:
    """Answer until nobody asks."""
    _bound_memory()
    library = Library(sys.argv[1])
    idle = float(sys.argv[2])
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the library prints goes where messages go
    while select.select([requests], [], [], idle)[0]:
        head = requests.read(4)
        if len(head) < 4:
            break
        said, code = answer(library, json.loads(requests.read(int.from_bytes(head, "little"))))
        text = json.dumps(said).encode()
        answers.write(len(text).to_bytes(4, "little") + text + code)
        answers.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
