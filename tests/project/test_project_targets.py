"""What is known of a target stands in its record; no layer asks what its name is."""

import ast
from pathlib import Path

import pytest

import quadrants
from quadrants import arch, targets
from quadrants.emit import dialects

PACKAGE = Path(quadrants.__file__).parent
NAMES = ("arch", "arch.name", "arch_name", "dialect", "dialect.name", "parallel")
# Where an arch is chosen by the user, or asked for by its name. `is None` asks whether there is one.
ABOUT_NAMES = {
    "arch.py": "the choice of an arch",
    "session.py": "the arch of `qd.init`, and that without a compiler",
    "lang/impl.py": "the compute capability of CUDA, a public function",
    "toolchain/build.py": "C and C++ text of the CPU have compilers of their own",
}


def _asks(path: Path) -> list:
    compared = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Compare))
    return [ast.unparse(node) for node in compared if _is_about_a_name([node.left, *node.comparators])]


def _is_about_a_name(operands: list) -> bool:
    if any(isinstance(e, ast.Constant) and e.value is None for e in operands):
        return False
    return any(ast.unparse(e).endswith(NAMES) for e in operands if isinstance(e, (ast.Name, ast.Attribute)))


def test_no_layer_asks_for_the_name_of_an_arch():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        asked = [] if name.startswith("targets/") or name in ABOUT_NAMES else _asks(path)
        if asked:
            found[name] = asked
    assert found == {}
    assert [name for name in ABOUT_NAMES if not _asks(PACKAGE / name)] == []


def test_every_arch_has_a_record():
    named = {target.archs: target for target in targets.known()}
    assert sorted(name for archs in named for name in archs) == sorted(arch._backends)
    for archs, target in named.items():
        assert all(targets.of_arch(name) is target for name in archs)
        assert not target.dialect or targets.of_dialect(target.dialect) is target
    assert targets.of_arch("none such") is None and targets.of_dialect("") is None


@pytest.mark.parametrize("target", [t for t in targets.known() if t.backend], ids=lambda t: t.archs[0])
def test_a_target_that_runs_kernels_has_a_dialect(target):
    dialect = dialects.get(target.dialect)
    assert dialect.launches != target.host_memory
    assert dialect.spelling.lanes == max(1, target.subgroup or 1)  # devices with Vulkan say themselves
