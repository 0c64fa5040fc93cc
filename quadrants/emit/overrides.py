"""What a folder of templates replaces, and what in it replaces nothing, since nobody asks for a name like that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from quadrants.emit import dialects, environment
from quadrants.emit.template_errors import BLOCKS, INNER
from quadrants.errors import QuadrantsCompilationError

if TYPE_CHECKING:
    from jinja2 import Environment, nodes
    from jinja2.ext import Extension


@lru_cache(maxsize=8)
def watching(folders: tuple[str, ...]) -> type[Extension]:
    """For an environment: QuadrantsCompilationError for a block or macro of these folders that would be left out
    without a word. Templates are looked at when they are compiled: what the disk cache has costs nothing.
    """
    from jinja2 import TemplateSyntaxError
    from jinja2.ext import Extension

    plain = environment.environment()

    class Watching(Extension):
        def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
            if filename and name in known_names() and any(Path(filename).is_relative_to(root) for root in folders):
                with suppress(TemplateSyntaxError):  # which is told of when this has returned
                    first = next(unknown_names(plain, name, plain.parse(source, name, filename)), None)
                    if first is not None:
                        raise QuadrantsCompilationError("{}:{}: {}".format(filename, *first))
            return source

    return Watching


def unknown_names(env: Environment, name: str, tree: nodes.Template) -> Iterator[tuple[int, str]]:
    """Line and message of each block or macro that nothing asks for. name: of the template, such as `c/task.c.j2`."""
    from jinja2 import nodes

    if "/prelude/" in name:
        yield from _unknown_macros(env, name, tree)
    elif (parent := tree.find(nodes.Extends)) is not None and _is_builtin(parent):
        for block in tree.find_all(nodes.Block):
            if block.name not in (*BLOCKS, *INNER):
                yield block.lineno, f"unknown block {block.name!r}; there are {', '.join((*BLOCKS, *INNER))}"


def builtin_files() -> list[Path]:
    """Of the package."""
    return list(environment.builtin_folder().rglob("*.j2"))


@lru_cache(maxsize=1)
def known_names() -> frozenset[str]:
    """Every name that something looks up; a dialect may also replace what it shares with the others."""
    found = {path.relative_to(environment.builtin_folder()).as_posix() for path in builtin_files()}
    shared = {name.removeprefix("_base/") for name in found if name.startswith("_base/prelude/")}
    return frozenset(found | {f"{dialect}/{name}" for dialect in dialects.names() for name in shared})


def _is_builtin(parent: nodes.Extends) -> bool:
    """A user's own skeleton may have blocks of its own."""
    target = getattr(parent.template, "value", None)
    return isinstance(target, str) and (target.startswith("builtin/") or target in known_names())


def _unknown_macros(env: Environment, name: str, tree: nodes.Template) -> Iterator[tuple[int, str]]:
    """Macros that neither the prelude asks for nor the file itself uses."""
    from jinja2 import nodes

    family = name.rsplit("/", 1)[-1]
    wanted = {"family"}
    for path in builtin_files():
        if path.parent.name == "prelude" and path.name == family:
            wanted |= {macro.name for macro in env.parse(path.read_text(encoding="utf-8")).find_all(nodes.Macro)}
    used = {node.name for node in tree.find_all(nodes.Name) if node.ctx == "load"}
    for macro in tree.find_all(nodes.Macro):
        if macro.name not in wanted | used:
            there = ", ".join(sorted(wanted))
            yield macro.lineno, f"no helper is made by a macro {macro.name!r}; the family has {there}"
