"""The Jinja2 environment: where templates are looked for, and how strict it is.

Search order: the kernel's own folder, `qd.init(template_path=[...])`, `QD_TEMPLATE_PATH`, the built-in set. The built-in set stays
reachable under `builtin/`, so that an override may `{% extends "builtin/c/task.c.j2" %}` and change one block.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


def builtin_folder() -> Path:
    """The folder of the built-in templates."""
    import quadrants.templates

    return Path(next(iter(quadrants.templates.__path__)))


def search_path(kernel_path=None, init_path=()) -> tuple:
    """Folders to search before the built-in set, first match wins."""
    paths = []
    for group in (kernel_path, init_path, os.environ.get("QD_TEMPLATE_PATH", "")):
        if not group:
            continue
        if isinstance(group, str):
            group = group.split(os.pathsep)
        elif isinstance(group, os.PathLike):
            group = [group]
        paths += [str(p) for p in group if str(p)]
    return tuple(paths)


@lru_cache(maxsize=8)
def environment(paths: tuple = ()):
    """The environment for a search path; raises FileNotFoundError for a folder that does not exist."""
    import jinja2

    for p in paths:
        if not Path(p).is_dir():
            raise FileNotFoundError(
                f"template folder {p!r} does not exist; see `python -m quadrants templates list` for what it may hold"
            )
    builtin = jinja2.FileSystemLoader(str(builtin_folder()))
    loaders = [jinja2.FileSystemLoader(p) for p in paths]
    loader = jinja2.ChoiceLoader([*loaders, builtin, jinja2.PrefixLoader({"builtin": builtin})])
    return jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
