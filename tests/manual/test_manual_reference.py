"""The reference has every public name under an anchor, and the examples of docstrings run."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest

import quadrants as qd
from manual import docstrings, names, reference, settings
from quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeError

ROOT = Path(__file__).resolve().parents[2]
API = re.findall(
    r"^\| `(qd\.[\w.]+)` \| \w+ \| (.*) \|$", (ROOT / "docs/development/coverage/api.md").read_text(), re.MULTILINE
)
# What every module has.
OF_PYTHON = {"annotations", "TYPE_CHECKING", "ctypes", "os", "sys"}
# Names that are called and whose docstrings have no example: errors are raised, not called; internal helpers that `dir`
# shows; the enumeration of texel formats; a table that no program reads.
WITHOUT_EXAMPLE = {"qd.Format", "qd.simt.block.scratch", "qd.simt.subgroup.tile_size"}
ATTRIBUTES = {"qd.Ndarray.layout", "qd.Ndarray.shape"}
# Examples of what this version does not have, with what it says.
REFUSED = {"qd.mesh_patch_idx": (QuadrantsCompilationError, "meshes are not in this version")}
# Examples that need a package which not every Python has.
NEEDS = {"qd.distributed.read_zarr": "zarr", "qd.distributed.write_zarr": "zarr"}


def anchors() -> set[str]:
    text = "\n".join(reference.files().values())
    return {*re.findall(r"\{ #(qd[\w.]*) \}", text), *re.findall(r'<span id="(qd[\w.]*)">', text)}


@pytest.mark.cpu_only
def test_every_name_that_dir_gives_has_an_anchor():
    found = anchors()
    missing = []
    for path in names.MODULES:
        module = names.module(path)
        for name in dir(module):
            if name != "TYPE_CHECKING" and not name.startswith("_") and (name not in OF_PYTHON or path == "types"):
                missing += [f"qd.{path}.{name}".replace("..", ".")]
    assert [name for name in missing if name not in found] == []


@pytest.mark.cpu_only
def test_every_public_name_of_the_table_has_an_anchor():
    found = anchors()
    there = [name for name, test in API if test != "not in this version"]
    internal = tuple(f"{path}." for path, _, public in names.modules() if not public)
    wanted = [n for n in there if not n.rpartition(".")[2].startswith("__") and not n.startswith(internal)]
    assert len(wanted) > 600
    # Attributes of objects, which their classes do not have, are in the docstrings.
    assert [name for name in wanted if name not in found and name not in ATTRIBUTES] == []


@pytest.mark.cpu_only
def test_an_anchor_is_there_once():
    for path, text in reference.files().items():
        ids = [*re.findall(r"\{ #([\w.]+) \}", text), *re.findall(r'<span id="([\w.]+)">', text)]
        assert [name for name in set(ids) if ids.count(name) > 1] == [], path


def with_docstrings() -> dict[str, str]:
    """Every public function and class of the package -> its docstring."""
    found, seen = {}, set()
    for page in names.pages():
        for name in page.names:
            called = callable(name.value) and type(name.value).__name__ != "DType"
            if called and not isinstance(name.value, ModuleType) and id(name.value) not in seen:
                seen.add(id(name.value))
                found[name.path] = docstrings.of(name.value)
    return found


@pytest.mark.cpu_only
def test_every_function_and_class_has_a_docstring_with_an_example():
    found = with_docstrings()
    assert [name for name, text in found.items() if not text] == []
    without = [
        name
        for name, text in found.items()
        if not docstrings.split(text)[1] and not (name.startswith(("qd.Quadrants", "qd.types.quant.")))
    ]
    assert set(without) == WITHOUT_EXAMPLE


@pytest.mark.cpu_only
def test_methods_have_docstrings():
    silent = [
        member.path
        for page in names.pages()
        for name in page.names
        for member in name.members
        if not docstrings.of(member.value) and callable(member.value)
    ]
    assert [path for path in silent if ".Tile" not in path and ".SharedArray" not in path] == []


@pytest.mark.cpu_only
def test_what_is_an_example():
    assert docstrings.split("Sine.\n\n    y = qd.sin(x)\n") == ("Sine.", "y = qd.sin(x)")
    assert docstrings.split("Sine.\n\ny = qd.sin(x)") == ("Sine.", "y = qd.sin(x)")
    assert docstrings.split("Sine.\n\nArgs:\n    x: a number.") == ("Sine.\n\nArgs:\n    x: a number.", "")
    assert docstrings.split("Sine.\n\nIn radians.") == ("Sine.\n\nIn radians.", "")


EXAMPLES = {path: split[1] for path, text in with_docstrings().items() if (split := docstrings.split(text))[1]}


# Some examples are of names that are deprecated.
@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("path", EXAMPLES)
def test_the_example_of_a_docstring_runs(arch_name, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if path in NEEDS:
        pytest.importorskip(NEEDS[path], reason=f"the example needs {NEEDS[path]} (pip install {NEEDS[path]})")
    file = tmp_path / "example.py"
    file.write_text(settings.program(path, EXAMPLES[path]).replace("arch=qd.cpu", f"arch=qd.{arch_name}"))
    sparse = settings.setting(path) == "sparse_tree"
    try:
        if path in REFUSED:
            error, said = REFUSED[path]
            with pytest.raises(error, match=said):
                runpy.run_path(str(file))
        elif sparse and not _has_sparse_trees(arch_name):
            with pytest.raises(QuadrantsRuntimeError, match="not supported"):
                runpy.run_path(str(file))
        else:
            runpy.run_path(str(file))
    finally:
        qd.reset()


def _has_sparse_trees(arch_name: str) -> bool:
    qd.init(arch=getattr(qd, arch_name))
    return qd.is_extension_enabled(qd.extension.sparse)


@pytest.mark.cpu_only
def test_every_setting_is_used():
    used = {settings.setting(path) for path in EXAMPLES}
    assert used == {path.stem for path in settings.FOLDER.glob("*.py")}


@pytest.mark.cpu_only
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "i8", "i32", "u64", "u1"])
def test_what_is_said_of_a_dtype_holds(dtype, tmp_path):
    about = reference.describe(names.Name(f"qd.{dtype}", getattr(qd, dtype)))
    expressions = re.findall(r"`(qd\.\w+\(.*?\))`", about)
    assert len(expressions) == 3
    file = tmp_path / "program.py"
    body = "".join(f"    kept[None] = {one}\n" for one in expressions)
    file.write_text(
        f"import quadrants as qd\nqd.init(arch=qd.cpu)\nkept = qd.field(qd.{dtype}, shape=())\n"
        f"@qd.kernel\ndef run(x: qd.f32):\n{body}\nrun(1.0)\nassert kept[None] == 1\n"
        f"x = 1\nassert {expressions[-1]} == 1\n"
    )
    runpy.run_path(str(file))
    qd.reset()
