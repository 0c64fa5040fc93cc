"""Tables of all options and environment variables, made of the table of the configuration (quadrants/config.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from manual.docstrings import plain
from quadrants import config, targets

IGNORED = "Accepted for old scripts; has no effect."
# Variables that belong to no option: (name, what it is, where it is read).
VARIABLES = [
    ("QD_ARCH", "The arch where `qd.init` names none: `cpu`, `cuda`, ..", "start"),
    (
        "QD_ENABLE_NAME",
        "0 hides the arch of that name, as in `QD_ENABLE_CUDA=0`; the next one in a list is taken",
        "start",
    ),
    ("QD_ENABLE_TORCH", "0: torch is not looked for, and tensors of it are no arguments", "start"),
    ("QD_ENABLE_PYBUF", "0: output of kernels goes to the file of standard output, not to `sys.stdout`", "start"),
    ("ENABLE_QUADRANTS_HEADER_PRINT", "0: no greeting at import", "start"),
    ("QD_DEFAULT_UP", "Ignored, with a warning: the default unsigned type follows `default_ip`", "start"),
    ("QD_LOAD_IR", "Ignored, with a warning", "start"),
    ("OMP_NUM_THREADS", "The most threads of a rank that `quadrants.distributed` starts on", "devices"),
    ("QD_VISIBLE_DEVICE", "The device to use, where neither the option `device` nor `QD_DEVICE` names one", "devices"),
    (
        "QD_OPENCL_DEVICE",
        "The OpenCL device to use, `<platform>:<device>` as `clinfo -l` numbers them; goes before `QD_VISIBLE_DEVICE`",
        "devices",
    ),
    ("LOCAL_RANK", "Of launchers of several processes: a warning where all would share one GPU", "devices"),
    ("CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES", "Of the vendors: which GPUs a process can see", "devices"),
    ("QD_GRAPH", "0: CUDA kernels are launched task by task, never as a graph of the driver", "devices"),
    ("QD_CUDA_FORCE_HOST_LOOP", "Set: loops of `qd.graph.do_while` are driven by the host", "devices"),
    ("QD_PRINT_BUFFER", "Bytes for what one launch prints, on devices without `printf`; 1 MiB when unset", "devices"),
    (
        "QD_VULKAN_MOVES",
        "1: large copies and fills are done by kernels, 0: by commands; 1 on GPUs, 0 on processors",
        "devices",
    ),
    ("QD_VULKAN_STAGING", "1: memory goes through copies, also where host and device share it", "devices"),
    ("QD_VULKAN_VALIDATION", "1: with the validation layers of Vulkan", "devices"),
    ("QD_CC", "The C compiler; when unset the first of `clang` and `gcc`, then the one of ziglang", "compilers"),
    ("QD_CXX", "The C++ compiler of the emulator; when unset the one that goes with the C compiler", "compilers"),
    ("QD_CC_TIMEOUT", "Seconds that one compilation may take, 600 when unset", "compilers"),
    ("QD_WARM_COMPILER", "0: no compiler waits in the background for the next kernel", "compilers"),
    ("QD_LINK", "1: each kernel becomes a shared object, in which debuggers and profilers find functions", "compilers"),
    ("QD_GLSLANG", "Path of the library or the program of glslang", "compilers"),
    ("CUDA_HOME, CUDA_PATH, ROCM_PATH", "Where toolkits are, besides the usual places", "compilers"),
    ("QD_TMP_DIR", "Folder of temporary files; else TMPDIR, TEMP, TMP", "files"),
    ("XDG_CACHE_HOME", "Folder of caches; the disk cache is in `quadrants/qdcache` below it", "files"),
    ("QD_SHOW_COMPILING", "1: a line for each kernel that is compiled", "diagnostics"),
    ("QD_DUMP_IR", "1: the IR of every stage as files in `debug_dump_path`", "diagnostics"),
    ("QD_DUMP_SRC", "1: the text of every kernel, printed and as a file in `debug_dump_path`", "diagnostics"),
    ("QD_DUMP_NAME", "1: prints the texts in one language: `QD_DUMP_C`, {languages}", "diagnostics"),
    ("QD_VERIFY_IR", "1: the IR is checked after each step, as in debug mode", "diagnostics"),
    ("QD_DEBUG_ADSTACK", "1: a line for each change of the memory for stacks of derivatives", "diagnostics"),
    (
        "QD_PERFDISPATCH_FORCE",
        "`prototype:implementation,..`: what `qd.perf_dispatch` always runs; `?` lists",
        "diagnostics",
    ),
    ("QD_PERFDISPATCH_PRINT_DEBUG", "1: registrations and choices of `qd.perf_dispatch`", "diagnostics"),
]
PARTS = {
    "start": "Start",
    "devices": "Devices",
    "compilers": "Compilers",
    "files": "Files",
    "diagnostics": "Diagnostics",
}


def default(row: config.Option) -> str:
    if row.default is config.hardware_threads:
        return "all cores"
    if row.default is config.default_cache_path:
        return "`~/.cache/quadrants/qdcache`"
    value = row.initial()
    if isinstance(value, (str, list)) and not value:
        return "none"
    return f"`{value!r}`" if not isinstance(value, config.DType) else f"`qd.{value.name}`"


def _row(row: config.Option) -> str:
    kind = (
        "dtype"
        if row.type is config.DType
        else {"str": "text", "list": "paths"}.get(row.type.__name__, row.type.__name__)
    )
    variables = "".join(f"<br>`{v}`" for v in (row.variable, row.env_fallback) if v)
    code = "yes" if row.enters_cache_key else ""
    where = f" ({', '.join(row.archs)} only)" if row.archs else ""
    cells = (f'<span id="{row.name}"></span>`{row.name}`{variables}', kind, default(row), code, plain(row.doc) + where)
    return f"| {' | '.join(cells)} |"


def table(ignored: bool) -> Iterator[str]:
    """Rows of the options that have no effect, or of the others."""
    yield "| Option, variable | Type | Default | Code | Meaning |"
    yield "|---|---|---|---|---|"
    for row in config.OPTIONS.values():
        if (row.doc == IGNORED) == ignored:
            yield _row(row)


def variables() -> Iterator[str]:
    languages = sorted({f"`QD_DUMP_{t.language}`" for t in targets.known() if t.dialect} - {"`QD_DUMP_C`"})
    for part, title in PARTS.items():
        yield f"### {title}"
        yield ""
        yield "| Variable | Meaning |"
        yield "|---|---|"
        for name, said, where in VARIABLES:
            if where == part:
                said = said.replace("{languages}", ", ".join(languages))
                yield f"| {', '.join(f'`{n}`' for n in name.split(', '))} | {said} |"
        yield ""


def filled(text: str) -> str:
    """The page of options with its tables in place of `<!-- table: NAME -->`."""
    tables = {"options": table(False), "ignored": table(True), "variables": variables()}
    return re.sub(r"<!-- table: (\w+) -->", lambda found: "\n".join(tables[found[1]]), text)


def page() -> str:
    return filled((Path(__file__).parents[1] / "docs/guide/options.md").read_text(encoding="utf-8"))
