"""`python -m quadrants templates list|show|eject|check`: see and change what kernels are rendered from."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quadrants.emit import environment, template_check
from quadrants.emit.template_errors import BLOCKS, INNER

_EPILOG = "NAME is a path such as c/task.c.j2 or cuda/prelude/atomic.j2; `list` shows all. See docs/guide/templates.md."


def main(argv: list[str]) -> int:
    """Run one action; returns 0, 1 when `check` found something, or 2 for a name or folder that cannot be used."""
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except (FileNotFoundError, FileExistsError) as error:
        print(f"quadrants templates: {error}", file=sys.stderr)
        return 2
    return status


def names() -> list[str]:
    """Every built-in template, by the name a template folder overrides it with."""
    root = environment.builtin_folder()
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*.j2"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m quadrants templates",
        description="The templates that kernels are rendered from.",
        epilog=_EPILOG,
    )
    actions = parser.add_subparsers(required=True, metavar="list|show|eject|check")

    action = _action(actions, "list", "every template, and the file that is in force for it", _list)
    _add_path(action)

    action = _action(actions, "show", "print a template as it is in force", _show)
    action.add_argument("name", metavar="NAME", help="a template; builtin/NAME is the built-in one in any case")
    _add_path(action)

    action = _action(actions, "eject", "start an override: write a template to a folder, ready to be changed", _eject)
    action.add_argument("name", metavar="NAME")
    action.add_argument("folder", metavar="FOLDER", type=Path, help="the template folder; it is created")
    action.add_argument(
        "--whole", action="store_true", help="copy all of a skeleton, instead of extending it block by block"
    )
    action.add_argument("--force", action="store_true", help="replace the file if there is one")

    action = _action(actions, "check", "look for mistakes in a template folder", _check)
    action.add_argument("folder", metavar="FOLDER", type=Path)
    return parser


def _action(actions: Any, name: str, summary: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    action: argparse.ArgumentParser = actions.add_parser(name, help=summary, description=summary, epilog=_EPILOG)
    action.set_defaults(run=run)
    return action


def _add_path(action: argparse.ArgumentParser) -> None:
    summary = "search this folder first, as qd.init(template_path=) does"
    action.add_argument("--path", action="append", default=[], metavar="FOLDER", help=summary)


def _list(arguments: argparse.Namespace) -> int:
    env = environment.environment(environment.search_path(None, arguments.path))
    everything = names()
    width = max(map(len, everything))
    root = environment.builtin_folder()
    for name in everything:
        file = Path(str(environment.loader_of(env).get_source(env, name)[1]))
        print(f"{name:<{width}}  {'built-in' if file.is_relative_to(root) else file}")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    env = environment.environment(environment.search_path(None, arguments.path))
    _known(arguments.name.removeprefix("builtin/"))
    sys.stdout.write(environment.loader_of(env).get_source(env, arguments.name)[0])
    return 0


def _eject(arguments: argparse.Namespace) -> int:
    name = _known(arguments.name)
    target = arguments.folder / name
    if target.exists() and not arguments.force:
        raise FileExistsError(f"{target} exists; --force replaces it")
    source = (environment.builtin_folder() / name).read_text(encoding="utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(_extension(name) if _is_skeleton(name) and not arguments.whole else source, encoding="utf-8")
    print(target)
    return 0


def _check(arguments: argparse.Namespace) -> int:
    if not arguments.folder.is_dir():
        raise FileNotFoundError(f"there is no folder {arguments.folder}")
    problems = template_check.check(arguments.folder)
    for problem in problems:
        print(problem)
    count = len(list(arguments.folder.rglob("*.j2")))
    print(f"{count} template{'s' * (count != 1)}, {len(problems) or 'no'} problem{'s' * (len(problems) != 1)}")
    return 1 if problems else 0


def _known(name: str) -> str:
    if name not in names():
        raise FileNotFoundError(f"there is no template {name!r}; `python -m quadrants templates list` shows all")
    return name


def _is_skeleton(name: str) -> bool:
    return "/prelude/" not in name and not name.startswith("_base/")


def _extension(name: str) -> str:
    """A skeleton that changes nothing yet."""
    lines = [f'{{% extends "builtin/{name}" %}}', "{# Keep the blocks that you change and delete the others. #}"]
    for block in (*BLOCKS, *INNER):
        lines += ["", f"{{% block {block} %}}", "{{ super() }}", "{% endblock %}"]
    return "\n".join(lines) + "\n"
