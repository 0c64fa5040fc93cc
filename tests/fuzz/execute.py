"""Runs the text of a program as kernels, on one arch."""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache
import types

_number = itertools.count()
# Begins all that programs print, and no line of a program: reports of debug mode break these anywhere.
MARK = "out>"


class Arch:
    """`name`: that of `qd.<name>`, with modes behind it: "cpu-debug" is the CPU with debug=True, "cuda-real" needs a
    GPU, "cpu-poorer" is printed in a language that can say less, "cpu-several" has several
    compilers for every text. `prints`: whether kernels can print."""

    def __init__(self, name: str):
        self.name = name
        self.base, *self.modes = name.split("-")
        self.prints = self.base != "amdgpu"

    @property
    def options(self) -> dict:
        return {"debug": True} if "debug" in self.modes else {}

    @property
    def environment(self) -> dict:
        """Variables of a process that runs on it. Without a GPU wanted by name, GPUs are emulated."""
        return {} if self.base == "cpu" or "real" in self.modes else {"QD_EMULATE": "1"}


def load(text: str) -> types.ModuleType:
    """A module of a text that no file has; its lines are where `inspect` looks for them."""
    name = f"fuzz_program_{next(_number)}"
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = types.ModuleType(name)
    module.__file__ = file
    exec(compile(text, file, "exec", dont_inherit=True), vars(module))
    return module


def start(options: dict, arch: Arch) -> None:
    import quadrants as qd

    if "poorer" in arch.modes:
        import poorer

        poorer.apply()
    if "several" in arch.modes:
        import several

        several.apply()
    named = {k: getattr(qd, v) if k in ("default_ip", "default_fp") else v for k, v in options.items()}
    base = {"offline_cache": False, "enable_fallback": False, "log_level": "error"}
    with contextlib.redirect_stdout(io.StringIO()):
        qd.init(arch=getattr(qd, arch.base), **{**base, **named, **arch.options})


def results(text: str, options: dict, arch: Arch) -> dict:
    """As the model's: what `main` returns, with what was printed as `stdout`."""
    import quadrants as qd

    start(options, arch)
    module = load(text)
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        out = module.main()
        qd.sync()  # a program that ends the process by what it launched last is this one, not the next
    debug = bool({**options, **arch.options}.get("debug"))
    return {**out, "stdout": printed(written.getvalue(), debug)}


def printed(text: str, debug: bool) -> str:
    """What kernels print. Debug mode puts reports with lines of the source between it; every line of ours begins so."""
    if not debug:
        return text
    return "".join(line for line in text.splitlines(keepends=True) if line.startswith(MARK))


def quiet() -> None:
    """Warnings are no findings; nor is what quadrants says at its start."""
    import warnings

    warnings.simplefilter("ignore")
