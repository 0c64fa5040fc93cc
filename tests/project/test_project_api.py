"""The table of public names: each name is there, or says that it is not in this version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import quadrants as qd

ROOT = Path(__file__).resolve().parents[2]
ABSENT = "not in this version"
ROWS = re.findall(
    r"^\| `qd\.([\w.]+)` \| (\w+) \| `?([^|`]+)`? \|$", (ROOT / "docs/development/coverage/api.md").read_text(), re.M
)
# Attributes that objects have, and their classes do not.
OBJECTS = {"Ndarray": lambda: qd.ndarray(qd.f32, 3)}


@pytest.fixture(scope="module", autouse=True)
def runtime():
    qd.init(arch=qd.cpu)
    yield
    qd.reset()


def look_up(path: str):
    *owners, name = path.split(".")
    found = qd
    for owner in owners:
        found = getattr(found, owner)
    if not hasattr(found, name) and path.split(".")[0] in OBJECTS:
        found = OBJECTS[path.split(".")[0]]()
    return getattr(found, name)


def test_the_table_has_them_all():
    names = [name for name, _, _ in ROWS]
    assert len(names) == len(set(names)) == 932
    lines = (ROOT / "docs/development/coverage/api.md").read_text().splitlines()
    assert sum(line.startswith("| `qd.") for line in lines) == len(ROWS)


@pytest.mark.parametrize(("name", "kind", "test"), ROWS, ids=[name for name, _, _ in ROWS])
def test_a_name_is_as_the_table_says(name, kind, test):
    if test == ABSENT:
        with pytest.raises(AttributeError, match=f"{ABSENT}. Use .*docs/guide/absent_names.md"):
            look_up(name)
        return
    found = look_up(name)
    if kind in ("function", "method", "classmethod", "staticmethod", "class"):
        assert callable(found)
    text = (ROOT / test).read_text()
    owner, _, last = name.rpartition(".")
    words = [owner.rpartition(".")[2]] if last.startswith("__") else last.split("_")
    assert all(word in text for word in words), f"{test} does not name {last}"


def test_public_names_of_the_package_are_known():
    """A name that the package adds is one that its own pages tell of."""
    known = {name.split(".")[0] for name, _, _ in ROWS}
    own = {
        "KERNEL_FUNCTIONS", "cfg", "opencl", "outer", "print_header", "random_at", "annotations",
    }  # fmt: skip
    listed = {name for name in dir(qd) if not name.startswith("_")}
    modules = {name for name in listed if type(getattr(qd, name)).__name__ == "module"}
    assert listed - modules - known <= own
