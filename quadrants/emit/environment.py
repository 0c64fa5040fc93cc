"""The Jinja2 environment: where templates are looked for, and how strict it is.

Search order: the kernel's own folder, `qd.init(template_path=[...])`, `QD_TEMPLATE_PATH`, the built-in set. The latter
stays reachable under `builtin/`, so that an override may `{% extends "builtin/c/task.c.j2" %}` and change one block.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2
    import jinja2.ext

    from quadrants.emit.bytecode import Store

    # A folder, several separated as in PATH, or a list of them.
    Folders = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None


@lru_cache(maxsize=1)
def builtin_folder() -> Path:
    """The folder of the built-in templates."""
    from importlib.util import find_spec

    found = find_spec("quadrants.templates")
    assert found is not None and found.submodule_search_locations, "the templates are part of the package"
    return Path(next(iter(found.submodule_search_locations)))


_store: Store | None = None


def keep_in(store: Store | None) -> None:
    """Compiled templates are kept in that disk cache from now on; None keeps none."""
    global _store
    _store = store


def search_path(kernel_path: Folders = None, init_path: Folders = ()) -> tuple[str, ...]:
    """Folders to search before the built-in set, first match wins."""
    paths: list[str] = []
    for group in (kernel_path, init_path, os.environ.get("QD_TEMPLATE_PATH", "")):
        if not group:
            continue
        if isinstance(group, str):
            group = group.split(os.pathsep)
        elif isinstance(group, os.PathLike):
            group = [group]
        paths += [str(p) for p in group if str(p)]
    return tuple(paths)


def environment(
    paths: tuple[str, ...] = (), extensions: tuple[type[jinja2.ext.Extension], ...] = ()
) -> jinja2.Environment:
    """The environment for a search path, with every template of the user as it is on disk now.

    Raises FileNotFoundError for a folder that does not exist.
    """
    for p in paths:
        if not os.path.isdir(p):
            raise FileNotFoundError(
                f"template folder {p!r} does not exist; see `python -m quadrants templates list` for what it may hold"
            )
    return _environment(paths, state(paths), extensions)


def loader_of(env: jinja2.Environment) -> jinja2.BaseLoader:
    """What finds its templates."""
    assert env.loader is not None
    return env.loader


def state(paths: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """Differs when a template of a search path is edited, added or removed. The built-in ones are part of the program
    that runs: they are looked at once."""
    return (*_states(paths, _content), _builtin_state())


_Mark = Callable[[os.DirEntry[str]], Any]


def _states(paths: Sequence[str | Path], mark: _Mark) -> tuple[Any, ...]:
    return tuple(_state(os.path.join(p, d), mark) for p in paths for d in _parts())


@lru_cache(maxsize=1)
def _builtin_state() -> tuple[Any, ...]:
    return _states([builtin_folder()], _times)


# What a folder of the package holds besides templates.
_APART = ("__pycache__", "compiled")


@lru_cache(maxsize=1)
def _parts() -> tuple[str, ...]:
    """The folders that a template folder may hold; another one in it (it may be a whole project) is not looked into."""
    return tuple(sorted(d.name for d in os.scandir(builtin_folder()) if d.is_dir() and d.name not in _APART))


def _state(folder: str, mark: _Mark) -> tuple[Any, ...]:
    """Changes when a template is edited, added or removed. A walk costs less than one line of C does to compile."""
    if not os.path.isdir(folder):
        return ()
    found: list[tuple[Any, ...]] = []
    for entry in os.scandir(folder):
        if entry.is_dir():
            if entry.name != "__pycache__":
                found.append((entry.name, _state(entry.path, mark)))
        elif entry.name.endswith(".j2"):
            found.append((entry.name, mark(entry)))
    return tuple(sorted(found))


def _times(entry: os.DirEntry[str]) -> tuple[int, int]:
    status = entry.stat()
    return status.st_size, status.st_mtime_ns


def _content(entry: os.DirEntry[str]) -> str:
    """Stands for what is in a file, whatever its times: copies and archives keep old ones."""
    with open(entry.path, "rb") as file:
        return hashlib.blake2b(file.read(), digest_size=16).hexdigest()


@lru_cache(maxsize=8)
def _environment(
    paths: tuple[str, ...], state: tuple[Any, ...], extensions: tuple[type[jinja2.ext.Extension], ...]
) -> jinja2.Environment:
    import jinja2

    from quadrants.emit.bytecode import OPTIONS, TemplateBytecode

    root = str(builtin_folder())
    builtin = jinja2.FileSystemLoader(root)
    loaders = [jinja2.FileSystemLoader(p) for p in paths]
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([*loaders, builtin, jinja2.PrefixLoader({"builtin": builtin})]),
        undefined=jinja2.StrictUndefined,
        bytecode_cache=TemplateBytecode(root, lambda: _store),
        extensions=extensions,
        **OPTIONS,
    )
