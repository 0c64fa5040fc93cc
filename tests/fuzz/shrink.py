"""Makes a failing program small: drops and replaces parts of its syntax tree as long as it fails in the same way."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

_BODIES = ("body", "orelse")
_LITERALS = ("1", "0", "2", "1.5")


class Shrinker:
    """`fails(text, options)` says whether a candidate is still the finding. Tries end after `seconds`."""

    def __init__(self, fails: Callable[[str, dict], bool], seconds: float = 120.0):
        self.fails, self.deadline = fails, time.monotonic() + seconds
        self.tried: set = set()
        self.text, self.options = "", {}

    def shrink(self, text: str, options: dict) -> tuple[str, dict]:
        self.text, self.options = ast.unparse(ast.parse(text)) + "\n", dict(options)
        before = ""
        while before != self.text and not self.late():
            before = self.text
            for step in (self.drop_options, self.drop_statements, self.flatten, self.drop_parts, self.simplify):
                step()
        return self.text, self.options

    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def attempt(self, tree: ast.Module) -> bool:
        try:
            text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            ast.parse(text)
        except (SyntaxError, ValueError, AttributeError, TypeError):
            return False
        if text in self.tried or text == self.text or self.late():
            return False
        self.tried.add(text)
        if not self.fails(text, self.options):
            return False
        self.text = text
        return True

    # ------------------------------------------------------------ steps

    def drop_options(self) -> None:
        for name in list(self.options):
            fewer = {k: v for k, v in self.options.items() if k != name}
            if name != "fast_math" and not self.late() and self.fails(self.text, fewer):
                self.options = fewer

    def drop_statements(self) -> None:
        """Runs of statements of one block, long runs first, from the end."""
        size = 16
        while size:
            k = 0
            while True:
                tree = ast.parse(self.text)
                runs = list(_runs(tree, size))
                if k >= len(runs) or self.late():
                    break
                body, start = runs[k]
                del body[start : start + size]
                if not body:
                    body.append(ast.Pass())
                if not self.attempt(tree):
                    k += 1
            size //= 2

    def flatten(self) -> None:
        """A block takes the place of the `if` or loop around it."""
        self._each(_blocks)

    def drop_parts(self) -> None:
        """Single items of calls, lists, dicts, decorators and parameters."""
        self._each(_items)

    def simplify(self) -> None:
        """Expressions become parts of themselves, or literals."""
        self._each(_expressions)

    def _each(self, edits: Callable[[ast.Module], Iterator[Callable[[], None]]]) -> None:
        k = 0
        while not self.late():
            tree = ast.parse(self.text)
            edit = _nth(edits(tree), k)
            if edit is None:
                return
            edit()
            if not self.attempt(tree):
                k += 1


def _nth(items, k: int):
    for n, item in enumerate(items):
        if n == k:
            return item
    return None


def _runs(tree: ast.Module, size: int):
    for node in ast.walk(tree):
        for name in _BODIES:
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                if size > 1 and len(body) < size // 2:
                    continue
                for start in range(max(len(body) - size, 0), -1, -size):
                    if not all(isinstance(s, ast.Pass) for s in body[start : start + size]):
                        yield body, start


def _blocks(tree: ast.Module):
    for node in ast.walk(tree):
        for name in _BODIES:
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            for k, s in enumerate(body):
                if isinstance(s, (ast.If, ast.For, ast.While)):
                    for inner in (s.body, s.orelse):
                        if inner:
                            yield lambda body=body, k=k, inner=inner: body.__setitem__(slice(k, k + 1), inner)
                    if isinstance(s, ast.If) and s.orelse:
                        yield lambda s=s: s.orelse.clear()


def _items(tree: ast.Module):
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for k in range(len(node.keys)):
                yield lambda node=node, k=k: (node.keys.pop(k), node.values.pop(k))
        elif isinstance(node, ast.Call):
            for k in range(len(node.keywords)):
                yield lambda node=node, k=k: node.keywords.pop(k)
            if (
                isinstance(node.func, ast.Name)
                or "place" in ast.unparse(node.func)
                or "Vector" in ast.unparse(node.func)
            ):
                for k in range(len(node.args)):
                    yield lambda node=node, k=k: node.args.pop(k)
        elif isinstance(node, (ast.List, ast.Tuple)):
            for k in range(len(node.elts)):
                yield lambda node=node, k=k: node.elts.pop(k)
    yield from _parameters(tree)


def _parameters(tree: ast.Module):
    """A parameter of a function, with the argument in every call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name != "main":
            for k in range(len(node.args.args)):

                def drop(node=node, k=k):
                    node.args.args.pop(k)
                    for call in ast.walk(tree):
                        if (
                            isinstance(call, ast.Call)
                            and getattr(call.func, "id", "") == node.name
                            and k < len(call.args)
                        ):
                            call.args.pop(k)

                yield drop
            if node.returns is not None:
                yield lambda node=node: setattr(node, "returns", None)


def _expressions(tree: ast.Module):
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                for other in _smaller(value):
                    yield lambda node=node, name=name, other=other: setattr(node, name, other)
            elif isinstance(value, list):
                for k, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        for other in _smaller(item):
                            yield lambda value=value, k=k, other=other: value.__setitem__(k, other)


def _smaller(e: ast.expr):
    """Simpler expressions that may stand where `e` does."""
    if isinstance(e, (ast.Constant, ast.Name)) and not _is_odd(e):
        return
    if not isinstance(e, (ast.Name, ast.Dict, ast.JoinedStr, ast.FormattedValue)):
        for text in _LITERALS:
            if ast.unparse(e) != text:
                yield ast.parse(text, mode="eval").body
    for child in ast.iter_child_nodes(e):
        if isinstance(child, ast.expr) and not isinstance(child, (ast.Dict, ast.JoinedStr)):
            yield copy.deepcopy(child)


def _is_odd(e) -> bool:
    """A constant that a smaller one may replace."""
    return isinstance(e, ast.Constant) and type(e.value) in (int, float) and abs(e.value) > 2


def as_test(text: str, options: dict, sign: str, seed: int) -> str:
    """A finding as a pytest, to paste into a module of `tests`."""
    named = ", ".join(f"{k}={_option(k, v)}" for k, v in sorted(options.items()))
    quoted = "\n".join(f"    {line}" if line else "" for line in text.splitlines())
    return (
        (
            f"# seed {seed}: {sign}\n"
            f"PROGRAM_{seed} = '''\n{text}'''\n\n\n"
            f"def test_program_{seed}(arch_name):\n"
            f'    """{sign.splitlines()[0][:90] if sign else ""}"""\n'
            f"    assert_modelled(PROGRAM_{seed}, dict({named}), arch_name)\n"
        )
        if quoted
        else ""
    )


def _option(name: str, value) -> str:
    return repr(value)
