"""The text of code, also where no file has it: `python -c`, redirected standard input, cells and consoles.

A text that comes from elsewhere than `linecache` counts only if it compiles to the very code that is asked for: names
such as "<string>" stand for many texts.
"""

from __future__ import annotations

import linecache
import os
import stat
import sys
import textwrap
import types
from collections.abc import Iterator

_kept: dict[int, tuple[types.CodeType, list[str]]] = {}  # by the identity of code, which the entries keep alive
_shown: dict[str, list[str]] = {}
_readable: set[str] = set()


def lines_of(code: types.CodeType, module_globals: dict | None = None) -> list[str]:
    """The lines of the file, cell or text that `code` was compiled from; empty if they cannot be had."""
    file = code.co_filename
    linecache.checkcache(file)
    lines = linecache.getlines(file, module_globals)
    return lines if lines or not file.startswith("<") else _lines_elsewhere(code)


def line(file: str, number: int) -> str:
    """A line of a file, or of the text that was `show`n for that name; "" if there is none."""
    found = linecache.getline(file, number)
    lines = _shown.get(file, ())
    return lines[number - 1] if not found and 0 < number <= len(lines) else found


def show(code: types.CodeType) -> None:
    """From now on the text of this code is that of its name, which other texts may have had before."""
    if id(code) in _kept:
        _shown[code.co_filename] = _kept[id(code)][1]


def require(fn) -> None:
    """OSError for a function whose text cannot be read. It is looked for now: what has it may be gone later."""
    code = fn.__code__
    file = code.co_filename
    if file in _readable:
        return
    if not file.startswith("<") and os.path.exists(file):
        _readable.add(file)
    elif not lines_of(code, fn.__globals__):
        raise missing(fn)


def missing(fn) -> OSError:
    """What is said where the text of `fn` cannot be had."""
    code = fn.__code__
    return OSError(
        f"Cannot find source code for Object: {fn!r}, line {code.co_firstlineno} of {code.co_filename}. "
        f"A kernel is compiled from its source text. {_advice(code.co_filename)}"
    )


def _advice(file: str) -> str:
    if file == "<stdin>" and not hasattr(sys, "ps1"):
        return (
            "This program came through a pipe, which can be read once: save it in a file and run that, or redirect "
            "the file itself: `python - < program.py`."
        )
    if file in ("<stdin>", "<console>"):
        return (
            "This console keeps no text: define the function in a file and import it, or use IPython or the console "
            "of Python 3.13."
        )
    return (
        "Define the function in a file and import it; or, before it is compiled with `exec(compile(text, name, "
        '"exec"))`, register the text under a name of its own: `linecache.cache[name] = (len(text), None, '
        "text.splitlines(True), name)`."
    )


# ------------------------------------------------------------ texts that no file has


def _lines_elsewhere(code: types.CodeType) -> list[str]:
    found = _kept.get(id(code))
    if found is None:
        lines = _registered(code) or next((t for t in map(_lines, _candidates(code)) if _has(t, code)), [])
        if not lines:
            return []
        found = _kept[id(code)] = (code, lines)
        show(code)
    return found[1]


def _registered(code: types.CodeType) -> list[str]:
    """What the console of Python 3.13 and later keeps."""
    look_up = getattr(linecache, "_getlines_from_code", None)
    return look_up(code) if look_up is not None else []


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _candidates(code: types.CodeType) -> Iterator[str]:
    """Texts that may be that of `code`."""
    if code.co_filename == "<string>":
        text = _argument_of_c(getattr(sys, "orig_argv", []))
        yield text
        yield textwrap.dedent(text)
    elif code.co_filename == "<stdin>":
        yield _redirected_input()
    elif "IPython" in sys.modules:  # a magic compiles the cell below it
        shell = sys.modules["IPython"].get_ipython()
        cells = shell.history_manager.input_hist_raw if shell is not None else []
        yield str(cells[-1]).partition("\n")[2].lstrip("\n") if cells else ""


def called(file: str) -> str:
    """What messages call a file: `File "sim.py"`; the cells of IPython as its own tracebacks do, `Cell In[3]`."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    naming = getattr(shell.compile, "format_code_name", None) if shell is not None else None  # since IPython 8
    cell = naming(file) if naming is not None else None
    return " ".join(cell) if cell else f'File "{file}"'


def _argument_of_c(arguments: list[str]) -> str:
    """The text behind -c among the arguments of the interpreter; "" if there is none."""
    rest = iter(arguments[1:])
    for argument in rest:
        if not argument.startswith("-") or argument == "-":
            return ""
        if argument.startswith("--"):
            next(rest if argument == "--check-hash-based-pycs" else iter(()), "")
            continue
        letters = argument[1:]
        takes_value = next((k for k, letter in enumerate(letters) if letter in "cmWX"), None)
        if takes_value is None:
            continue
        value = letters[takes_value + 1 :] or next(rest, "")
        if letters[takes_value] in "cm":
            return value if letters[takes_value] == "c" else ""
    return ""


def _redirected_input() -> str:
    """The file that standard input is; "" where it is a terminal or a pipe, which cannot be read again."""
    try:
        status = os.fstat(0)
        return os.pread(0, status.st_size, 0).decode() if stat.S_ISREG(status.st_mode) else ""
    except (OSError, AttributeError, UnicodeDecodeError):  # closed; no such call on this system; no text
        return ""


def _has(lines: list[str], code: types.CodeType) -> bool:
    """Whether a text compiles to `code`, at its line."""
    if code.co_firstlineno > len(lines):
        return False
    try:
        module = compile("".join(lines), code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    found = [module]
    for outer in found:  # it grows
        found += [inner for inner in outer.co_consts if isinstance(inner, types.CodeType)]
    return any(_same(inner, code) for inner in found)


def _same(a: types.CodeType, b: types.CodeType) -> bool:
    # Not ==, which looks at what the interpreter has learnt of code that ran.
    return (a.co_name, a.co_firstlineno, a.co_code, a.co_names, a.co_varnames, a.co_consts) == (
        b.co_name, b.co_firstlineno, b.co_code, b.co_names, b.co_varnames, b.co_consts,
    )  # fmt: skip
