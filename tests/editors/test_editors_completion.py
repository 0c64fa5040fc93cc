"""Editors that do not run programs: jedi completes every public name and shows the parameters of what is called."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import quadrants as qd
from quadrants.lang.simt import folds

from .public import MODULES, called, names

jedi = pytest.importorskip("jedi", reason="needs the package jedi")
PROJECT = jedi.Project(Path(qd.__file__).parents[1])
DECORATORS = ("kernel", "func", "pyfunc", "real_func")


def script(last: str):
    return jedi.Script(f"import quadrants as qd\n{last}", project=PROJECT)


@pytest.mark.parametrize("path", MODULES)
def test_every_public_name_is_completed(path):
    found = {c.name for c in script(f"{path}.").complete()}
    assert [name for name in names(path) if name not in found] == []


@pytest.mark.parametrize("path", MODULES)
def test_every_public_function_shows_its_parameters(path):
    assert [name for name in called(path) if not script(f"{path}.{name}(").get_signatures()] == []


@pytest.mark.parametrize("line, wanted", [
    ("qd.field(qd.f32, 3).", {"to_numpy", "fill", "grad", "shape", "from_torch"}),
    ("qd.ndarray(qd.f32, 3).", {"to_numpy", "fill", "grad", "shape", "to_dlpack"}),
    ("qd.Vector([1.0, 2.0]).", {"norm", "dot", "normalized"}),
    ("qd.root.dense(qd.ij, 4).", {"place", "dense", "parent"}),
    ("qd.ad.Tape().", {"grad", "insert"}),
    ("qd.create_stream().", {"synchronize", "destroy"}),
])  # fmt: skip
def test_what_is_made_is_completed_too(line, wanted):
    assert wanted <= {c.name for c in script(line).complete()}


def test_the_stub_of_folds_says_what_the_module_does():
    stub = {}
    exec(Path(folds.__file__).with_suffix(".pyi").read_text(), stub)
    for name in folds.__all__:
        assert list(inspect.signature(stub[name]).parameters) == list(
            inspect.signature(getattr(folds, name)).parameters
        )
        assert folds.__dict__[name].__doc__.split() == stub[name].__doc__.split()


@pytest.mark.parametrize("name", DECORATORS)
def test_the_stub_of_decorators_has_their_options(name):
    (shown,) = script(f"qd.{name}(").get_signatures()
    assert [p.name for p in shown.params] == list(inspect.signature(getattr(qd, name)).parameters)


def test_checkers_see_the_names_that_programs_see():
    """`__all__` is for checkers alone: a new name must be in it, and one in it must exist."""
    text = Path(qd.__file__).read_text()
    listed = eval(text.split("__all__ = ", 1)[1].split("# fmt", 1)[0])
    assert sorted(set(names("qd")) - set(listed)) == []
    assert [name for name in listed if not hasattr(qd, name)] == []
