"""Every public name that users call says in its docstring how it is called."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap

import pytest

from quadrants.ir.types import DType
from quadrants.lang.tensor_types import CompoundType

from .public import MODULES, called, module

# Objects, not functions: what help() shows is the doc of their class, and stubs tell editors the rest.
_OBJECTS = (DType, CompoundType)


def described(path: str) -> list[tuple[str, str]]:
    """(name, docstring) of the names that are to have an example."""
    found = ((name, getattr(module(path), name)) for name in called(path))
    return [(name, inspect.getdoc(value) or "") for name, value in found if not isinstance(value, _OBJECTS)]


def has_example(name: str, text: str) -> bool:
    """Whether a line of code has it: called, indexed, an attribute of it taken, as a decorator, or what is made."""
    return re.search(rf"\b{name}\b\s*[(\[.]|@qd\.([a-z]+\.)?{name}\b|qd\.([a-z]+\.)*{name}\b", text) is not None


@pytest.mark.parametrize("path", MODULES)
def test_every_public_name_has_an_example(path):
    assert [name for name, text in described(path) if not has_example(name, text)] == []


@pytest.mark.parametrize("path", MODULES)
def test_examples_are_python(path):
    for name, text in described(path):
        for block in re.findall(r"(?:^    +\S.*\n?)+", text, re.MULTILINE):
            code = textwrap.dedent(block)
            if re.match(r"(@|with |[\w, ]+ = )?qd\.", code):
                ast.parse(code if not re.search(r":\s*$", code) else code + "    ...\n"), name
