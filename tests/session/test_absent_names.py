"""Names of the reference that are not here say so, and what to use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import quadrants as qd
from quadrants import absent

pytestmark = pytest.mark.cpu_only

ROOT = Path(__file__).resolve().parents[2]
NAMES = [(module, name) for module, names in absent.INSTEAD.items() for name in names]


def module_of(path: str):
    found = qd
    for part in filter(None, path.split(".")):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_says_that_it_is_not_here(module, name):
    full = f"qd.{module}.{name}".replace("..", ".")
    with pytest.raises(AttributeError, match="is not in this version") as caught:
        getattr(module_of(module), name)
    assert str(caught.value).startswith(full) and "docs/guide/absent_names.md" in str(caught.value)
    assert not hasattr(module_of(module), name)


@pytest.mark.parametrize("module", list(absent.INSTEAD))
def test_other_names_are_as_ever(module):
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module_of(module).nothing  # noqa: B018


def test_what_is_advised_is_here(arch):
    """Every `qd.name` of the advice can be looked up."""
    for names in absent.INSTEAD.values():
        for advice in names.values():
            for path in re.findall(r"\bqd\.([a-zA-Z_0-9.]*[a-zA-Z_0-9])", advice):
                assert module_of(path) is not None, advice


def test_the_page_has_all_of_them():
    page = (ROOT / "docs" / "guide" / "absent_names.md").read_text()
    rows = dict(re.findall(r"^\| `(qd\.[^`]*)` \| (.*) \|$", page, re.M))
    assert rows == {
        f"qd.{module}.{name}".replace("..", "."): instead
        for module, names in absent.INSTEAD.items()
        for name, instead in names.items()
    }


@pytest.mark.parametrize("name", absent.EXPECTED)
def test_a_name_of_other_packages_says_what_to_use(name):
    with pytest.raises(AttributeError, match=f"^module 'quadrants' has no attribute '{name}'. Use ") as caught:
        getattr(qd, name)
    for path in re.findall(r"\bqd\.([a-zA-Z_0-9.]*[a-zA-Z_0-9])", str(caught.value)):
        assert module_of(path) is not None


def test_a_name_of_the_mathematics_says_where_it_is():
    with pytest.raises(AttributeError, match="has no attribute 'Tape'. Use `qd.ad.Tape`.$"):
        qd.Tape  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'cross'. Use `qd.math.cross`.$"):
        qd.cross  # noqa: B018


def test_in_a_kernel(arch):
    @qd.kernel
    def run():
        qd.Mesh(1)

    with pytest.raises(qd.QuadrantsCompilationError, match="not in this version. Use fields or ndarrays"):
        run()


@pytest.mark.parametrize(
    ("path", "name", "near"),
    [
        ("", "feild", "field"),
        ("math", "vec5", "vec4"),
        ("types", "ndaray", "ndarray"),
        ("simt", "blok", "block"),
        ("simt.block", "synk", "sync"),
        ("profiler", "scop", "scope"),
        ("graph", "do_whle", "do_while"),
        ("algorithms", "sor", "sort"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(path, name, near):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}' \\(did you mean '{near}'\\?\\)$"):
        getattr(module_of(path), name)
    assert not hasattr(module_of(path), f"_{name}")


@pytest.mark.parametrize("path", ["Matrix", "Vector", "Struct", "math", "Sim()"])
def test_kernels_get_them_of_classes_and_objects_too(arch, path):
    """In Python scope tracebacks of Python have them."""

    class Sim:
        field = 1

    owner = Sim() if path == "Sim()" else module_of(path)
    name = "vec5" if path == "math" else "feild"

    @qd.kernel
    def run():
        owner.vec5 if qd.static(path == "math") else owner.feild  # noqa: B018

    near = "vec4" if path == "math" else "field"
    with pytest.raises(qd.QuadrantsCompilationError, match=f"'{name}' \\(did you mean '{near}'\\?\\)"):
        run()
