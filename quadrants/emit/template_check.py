"""Mistakes in a folder of templates, found without running a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from quadrants.emit import dialects, environment, overrides, sample
from quadrants.emit.template_errors import INNER, VARIABLES, reason, where
from quadrants.errors import QuadrantsCompilationError

if TYPE_CHECKING:
    from jinja2 import Environment, nodes


def check(folder: Path) -> list[str]:
    """`file:line: what is wrong` for every problem: syntax, unknown blocks, variables, macros and templates, and names
    that no dialect looks up. Where all that is right, a sample kernel is rendered through the folder."""
    env = environment.environment((str(folder),))
    problems = []
    for path in sorted(folder.rglob("*.j2")):
        name = path.relative_to(folder).as_posix()
        problems += [f"{path}:{line}: {text}" for line, text in _problems(env, folder, name, path)]
    if not problems:
        problems += _render_sample(folder)
    return problems


def _problems(env: Environment, folder: Path, name: str, path: Path) -> Iterator[tuple[int, str]]:
    from jinja2 import TemplateSyntaxError, meta, nodes

    try:
        tree = env.parse(path.read_text(encoding="utf-8"), name, str(path))
    except TemplateSyntaxError as error:
        yield error.lineno, reason(error)
        return
    if name not in overrides.known_names() and name not in _referenced(env, folder):
        yield 1, f"nothing looks for a template named {name!r}; `python -m quadrants templates list` shows the names"
    if circle := _circle(env, name):
        yield 1, f"{circle!r} extends itself; write {{% extends 'builtin/{circle}' %}} for the built-in one"
        return
    for target in _missing(env, tree):
        yield 1, f"there is no template {target!r} (the built-in ones begin with 'builtin/')"
    prelude = "/prelude/" in name
    variables = _prelude_variables(name) if prelude else set(VARIABLES)
    undeclared = meta.find_undeclared_variables(tree) - variables - set(env.globals) - _exported(env, tree)
    undeclared -= _given(env, name)
    if any(block.name in INNER for block in tree.find_all(nodes.Block)):
        undeclared.discard("task")  # the rendering of the sample finds it where it is not known
    for node in tree.find_all(nodes.Name):
        if node.name in undeclared and node.ctx == "load":
            undeclared.discard(node.name)
            yield node.lineno, f"unknown variable {node.name!r}; there are {', '.join(sorted(variables))}"
    yield from overrides.unknown_names(env, name, tree)


def _prelude_variables(name: str) -> set[str]:
    folder = name.split("/")[0]
    records = [dialects.get(folder)] if folder in dialects.names() else map(dialects.get, dialects.names())
    return {variable for record in records for variable in record.spelling.context}


def _referenced(env: Environment, folder: Path) -> set[str]:
    """Templates that others of the folder extend, include or import."""
    from jinja2 import TemplateSyntaxError, meta

    found: set[str] = set()
    for path in folder.rglob("*.j2"):
        try:
            found.update(filter(None, meta.find_referenced_templates(env.parse(path.read_text(encoding="utf-8")))))
        except TemplateSyntaxError:
            continue  # reported with that file
    return found


def _exported(env: Environment, tree: nodes.Template) -> set[str]:
    """What there is besides variables: macros, assignments and imports, also those of the extended templates."""
    from jinja2 import TemplateError, nodes

    # Assignments below `if` count everywhere: whether they are made is for the rendering of the sample to find out.
    assigned = (name for node in tree.find_all(nodes.Assign) for name in node.find_all(nodes.Name))
    names = {name.name for name in assigned if name.ctx == "store"}
    for node in tree.body:
        if isinstance(node, (nodes.Macro, nodes.Import)):
            names.add(node.name if isinstance(node, nodes.Macro) else node.target)
        elif isinstance(node, nodes.FromImport):
            names |= {name if isinstance(name, str) else name[1] for name in node.names}
        elif isinstance(node, nodes.Extends) and isinstance(node.template, nodes.Const):
            try:
                source, file, _ = environment.loader_of(env).get_source(env, node.template.value)
                names |= _exported(env, env.parse(source, node.template.value, file))
            except TemplateError:
                continue  # a missing parent, or a mistake in it, is a problem of its own
    return names


def _given(env: Environment, name: str) -> set[str]:
    """What the built-in skeletons that extend a template give it."""
    from jinja2 import nodes

    names: set[str] = set()
    for path in overrides.builtin_files():
        tree = env.parse(path.read_text(encoding="utf-8"))
        target = tree.find(nodes.Extends)
        if target is not None and isinstance(target.template, nodes.Const) and target.template.value == name:
            names |= _exported(env, tree)
    return names


def _circle(env: Environment, name: str) -> str:
    """The template that extends itself, by others or at once, among `name` and those that it extends; "" without."""
    from jinja2 import TemplateError, nodes

    seen: set[str] = set()
    while name and name not in seen:
        seen.add(name)
        try:
            source, _, _ = environment.loader_of(env).get_source(env, name)
            found = env.parse(source).find(nodes.Extends)
        except TemplateError:
            return ""  # a missing parent, or a mistake in it, is a problem of its own
        name = getattr(found.template, "value", "") if found is not None else ""
    return name


def _missing(env: Environment, tree: nodes.Template) -> list[str]:
    from jinja2 import TemplateNotFound, meta

    missing = []
    for target in filter(None, meta.find_referenced_templates(tree)):
        try:
            environment.loader_of(env).get_source(env, target)
        except TemplateNotFound:
            missing.append(target)
    return missing


def _render_sample(folder: Path) -> list[str]:
    problems = []
    for dialect in dialects.names():
        try:
            text = sample.rendered(dialect, folder)
            if not all(task.name in text for task in sample.module().tasks):
                problems.append(f"{folder}/{dialect}: a text without tasks; extend the template of the package")
        except QuadrantsCompilationError as error:
            problems.append(str(error))
        except Exception as error:
            # A macro may fail in any way; only what does not lead to a template is an error of ours.
            place = where(error)
            if place is None:
                raise
            problems.append(f"{place}: {reason(error)}")
    return list(dict.fromkeys(problems))
