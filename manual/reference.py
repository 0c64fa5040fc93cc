"""The pages of the reference, as Markdown: every public name under an anchor of its own, with what `dir` has of it."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterator
from typing import Any

from manual import docstrings, names, settings

_KINDS = {"f": "real number", "i": "signed integer", "u": "unsigned integer", "b": "truth value"}
# What is no function and no class cannot say for itself what it is.
VALUES = {
    "qd.cfg": "The options in force, a `CompileConfig` ([options](../guide/options.md)); None without a runtime. "
    "Attributes are readable and writable; a write counts for kernels that are compiled later.",
    "qd.gpu": "The archs of GPUs, in the order in which `qd.init(arch=qd.gpu)` tries them.",
    "qd.cpu": "The processor: kernels as C, on all cores. It is `qd.x64` or `qd.arm64`, whichever this machine is.",
    "qd.x64": "A processor of x86-64, where it is the one of this machine.",
    "qd.x86_64": "Another name of `qd.x64`.",
    "qd.arm64": "A processor of arm64, where it is the one of this machine.",
    "qd.cuda": "A GPU of NVIDIA: kernels as CUDA C++ ([GPUs](../guide/gpu.md)).",
    "qd.amdgpu": "A GPU of AMD: kernels as HIP C++ ([GPUs](../guide/gpu.md)).",
    "qd.metal": "A GPU of Apple: kernels as Metal's language ([Metal](../guide/metal.md)).",
    "qd.opencl": "A device with OpenCL ([OpenCL](../guide/opencl.md)).",
    "qd.vulkan": "A device with Vulkan: kernels as GLSL ([Vulkan](../guide/vulkan.md)).",
    "qd.python": "No compiler: kernels run as the Python functions that they are. Needs torch.",
    "qd.root": "The root of the field tree of the runtime: `qd.root.dense(qd.ij, (4, 4)).place(x)`. It has the methods "
    "of [`qd.SNode`](data.md#qd.SNode) that add a level.",
    "qd.KERNEL_FUNCTIONS": "The package's own: the functions that mean something in kernels, by name.",
    "qd.profiler.kernel_records": "The package's own: what the kernel profiler has recorded.",
    "qd.math.pi": "The ratio of a circle's circumference to its diameter, as a Python float.",
    "qd.math.e": "The base of natural logarithms, as a Python float.",
    "qd.math.inf": "Infinity, as a Python float.",
    "qd.math.nan": "A value that is no number, as a Python float.",
}
LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "CRITICAL")


def signature(value: Any) -> str:
    """Parameters with their defaults, without types: "(x, dtype=None)"; "" for what is not called."""
    if not callable(value) or isinstance(value, enum.EnumMeta):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    shown = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    shown = [p for p in shown if p.name != "self" and not p.name.startswith("_") or p.name == "_fn"]
    return str(inspect.Signature(shown))


def describe(name: names.Name) -> str:
    """What a name without a docstring of its own is."""
    value = name.value
    if name.path in VALUES:
        return VALUES[name.path]
    if name.path.startswith("qd.") and name.short in LEVELS and isinstance(value, str):
        return f"The level {value!r} of the log, for `qd.set_logging_level`."
    if type(value).__name__ == "DType":
        width = f"{value.bits} bit{'s' * (value.bits > 1)}"
        literal = "1.0" if value.is_real else "1"
        called = f"In kernels `{name.path}(x)` converts a value, and `{name.path}({literal})` is a literal of that type"
        return f"A dtype: {_KINDS[value.kind]} of {width}. {called}; `qd.cast(x, {name.path})` converts everywhere."
    if isinstance(value, list) and value and type(value[0]).__name__ == "Axis":
        axes = ", ".join(str(axis.number if hasattr(axis, "number") else axis) for axis in value)
        return f"Axes, for `qd.root.dense(qd.{name.short}, ..)`: {axes}."
    return ""


def _example(name: names.Name, example: str) -> Iterator[str]:
    if not example:
        return
    around = settings.setting(name.path)
    if around != "alone":
        yield f"In [this program](settings.md#{around}):"
        yield ""
    yield "```python"
    yield example
    yield "```"
    yield ""


def _members(name: names.Name, homes: dict[int, str]) -> Iterator[str]:
    if not name.members:
        return
    if isinstance(name.value, enum.EnumMeta):
        listed = [f'<span id="{m.path}"></span>`{m.short}`' for m in name.members]
        yield "Members: " + ", ".join(listed) + "."
        yield ""
        return
    own, others = [], []
    for member in name.members:
        (others if id(member.value) in homes else own).append(member)
    silent = [member for member in own if not docstrings.of(member.value) and not callable(member.value)]
    own = [member for member in own if member not in silent]
    if silent:
        listed = [f'<span id="{member.path}"></span>`{member.short}`' for member in silent]
        yield f"Attributes: {', '.join(listed)}."
        yield ""
    if own:
        yield "Members:"
        yield ""
    for member in own:
        homes[id(member.value)] = member.path
        said, example = docstrings.split(docstrings.of(member.value))
        first, *rest = docstrings.markdown(said or "Of the package itself.").split("\n\n")
        call = signature(member.value)
        yield f'- <span id="{member.path}"></span>`{member.short}{call}`: ' + first.replace("\n", "\n    ")
        for block in rest:
            yield ""
            yield "    " + block.replace("\n", "\n    ")
        yield ""
        for line in _example(member, example):
            yield "\n".join("    " + part for part in line.split("\n")) if line else ""
    if others:
        listed = [f'<span id="{m.path}"></span>[`{m.short}`]({_link(homes[id(m.value)])})' for m in others]
        yield "Shared with other classes: " + ", ".join(listed) + "."
        yield ""


_PAGE_OF: dict[str, str] = {}


def _link(path: str) -> str:
    owner = path
    while owner and owner not in _PAGE_OF:
        owner = owner.rpartition(".")[0]
    return f"{_PAGE_OF[owner]}.md#{path}"


def _entry(name: names.Name, homes: dict[int, str]) -> Iterator[str]:
    yield f"### {name.short} {{ #{name.path} }}"
    yield ""
    call = signature(name.value)
    yield f"`{name.path}{call}`"
    yield ""
    shared = callable(name.value) or type(name.value).__name__ == "DType"
    if shared and id(name.value) in homes:
        other = homes[id(name.value)]
        yield f"The same as [`{other}`]({_link(other)})."
        yield ""
        for member in name.members:
            yield f'<span id="{member.path}"></span>'
        yield ""
        return
    homes[id(name.value)] = name.path
    text = docstrings.of(name.value) if callable(name.value) and type(name.value).__name__ != "DType" else ""
    said, example = docstrings.split(text)
    yield docstrings.markdown(said) if said else describe(name)
    yield ""
    yield from _example(name, example)
    yield from _members(name, homes)


def _page(page: names.Page, homes: dict[int, str]) -> str:
    lines = [f"# {page.title}", ""]
    if page.module is not None and page.module.__doc__:
        said, _ = docstrings.split(inspect.cleandoc(page.module.__doc__))
        lines += [docstrings.markdown(said.split("\n\n")[0]), ""]
    for name in page.names:
        lines += _entry(name, homes)
    return "\n".join(lines)


def _modules() -> Iterator[str]:
    yield "| Module | What it is |"
    yield "|---|---|"
    for path, module, public in names.modules():
        said = (module.__doc__ or "").strip().split("\n")[0]
        whose = "" if public else "The package's own, no part of the interface: "
        yield f'| <span id="{path}"></span>`{path}` | {whose}{docstrings.plain(said)} |'


def _index(pages: list[names.Page]) -> str:
    lines = [
        "# Reference",
        "",
        "Every public name, made of the docstrings of the package as it is. `name` below is written `qd.name`, after",
        "`import quadrants as qd`. Dtypes are named as in `qd.f32`; shapes have the axes of elements last.",
        "An example is a few lines of a program; the link above it shows the whole one, which the tests run.",
        "",
        "| Page | Names |",
        "|---|---|",
    ]
    for page in pages:
        listed = ", ".join(f"[{n.short}]({page.stem}.md#{n.path})" for n in page.names)
        lines.append(f"| [{page.title}]({page.stem}.md) | {listed} |")
    lines += ["", "## Modules", "", *_modules(), ""]
    return "\n".join(lines)


def _settings() -> str:
    lines = [
        "# Programs around the examples",
        "",
        "`EXAMPLE` stands for the lines of the example. With `emulate=True` the text for a GPU runs on the processor.",
        "",
    ]
    for path in sorted(settings.FOLDER.glob("*.py")):
        lines += [
            f"## {path.stem.replace('_', ' ')} {{ #{path.stem} }}",
            "",
            "```python",
            settings.text(path.stem).rstrip(),
        ]
        lines += ["```", ""]
    return "\n".join(lines)


def files() -> dict[str, str]:
    """Path below the documentation -> Markdown, of every page of the reference."""
    pages = names.pages()
    _PAGE_OF.update({name.path: page.stem for page in pages for name in page.names})
    homes: dict[int, str] = {}
    made = {f"reference/{page.stem}.md": _page(page, homes) for page in pages}
    return {"reference/index.md": _index(pages), **made, "reference/settings.md": _settings()}


def titles() -> list[tuple[str, str]]:
    """(title, path) of every page, in the order of the manual."""
    listed = [(page.title, f"reference/{page.stem}.md") for page in names.pages()]
    return [("Names", "reference/index.md"), *listed, ("Programs around the examples", "reference/settings.md")]
