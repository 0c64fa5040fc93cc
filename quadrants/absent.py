"""Names of the reference that this version does not have, and what to write instead.

docs/guide/absent_names.md tells users of them; a test compares the two.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from quadrants import spelling

_PAGE = "docs/guide/absent_names.md"
_MESH = "fields or ndarrays of indices for the relations of the mesh"
_SUBGROUP = "the function of that name in `qd.simt.subgroup`"

# Module -> name -> what to write. "*" stands for the rest of what the reference has there.
INSTEAD: dict[str, dict[str, str]] = {
    "": {
        "Mesh": _MESH,
        "MeshInstance": _MESH,
    },
    "linalg": {
        "fields_builder": "`qd.FieldsBuilder`",
        **{name: f"`qd.{name}`" for name in (
            "QuadrantsRuntimeError QuadrantsTypeError data_oriented field grouped kernel sqrt template"
        ).split()},
    },
    "simt": {
        "TYPE_CHECKING": "`typing.TYPE_CHECKING`", "reductions": _SUBGROUP,
        "tile_slicing": "`qd.simt.Tile16x16` and its slices",
    },
    "simt.block": {
        "arch_uses_spv": "`qd.cfg.arch`", "make_expr_group": "the functions of `qd.simt.block`",
        "quadrants_scope": "@qd.func", "template": "`qd.template`",
    },
    "simt.grid": {"arch_uses_spv": "`qd.cfg.arch`"},
    "simt.sorting": {
        "func": "@qd.func", "invocation_id": _SUBGROUP, "shuffle": _SUBGROUP, "template": "`qd.template`",
    },
    "simt.subgroup": {"func": "@qd.func", "template": "`qd.template`"},
    "types.quant": {"i32": "`qd.i32`"},
}  # fmt: skip


_DRAW = "`qd.tools.imwrite` for pictures, `qd.tools.VideoWriter` for films, or matplotlib for windows"
_MAKE = "`qd.field` or `qd.ndarray` in Python, and `qd.Vector([...])` in kernels"

# Names of Taichi and NumPy that programs expect; the reference has them not either.
EXPECTED: dict[str, str] = {
    "GUI": _DRAW, "ui": _DRAW, "ggui": _DRAW, "aot": "`kernel.source(...)`, which gives the text of a kernel",
    "Texture": "fields or ndarrays", "imread": "`qd.tools.imread`", "imwrite": "`qd.tools.imwrite`",
    "imshow": "`qd.tools.imwrite`, or matplotlib for windows", "VideoManager": "`qd.tools.VideoWriter`",
    "VideoWriter": "`qd.tools.VideoWriter`", "PLYWriter": "`qd.tools.PLYWriter`",
    "array": _MAKE, "zeros": _MAKE, "ones": _MAKE, "empty": _MAKE, "linspace": _MAKE, "arange": "`range(n)` in kernels",
    "norm": "`v.norm()` of a vector v", "sum": "`v.sum()` of a vector v, and a loop over a field or array",
}  # fmt: skip


def _expected(module: str, name: str, known: Callable[[], Iterable[str]]) -> str:
    """What to use instead of a name that nobody ever promised; "" of most."""
    if module:
        return ""
    if name in EXPECTED:
        return f"Use {EXPECTED[name]}."
    if "math" in known():
        package: Any = sys.modules["quadrants"]
        for module in ("math", "ad"):
            if name in dir(getattr(package, module)):
                return f"Use `qd.{module}.{name}`."
    return ""
    return ""


def _is_module(name: str) -> bool:
    """Whether that is a part of the package: `from quadrants import fields` asks for it before it imports it."""
    return importlib.util.find_spec(f"quadrants.{name}") is not None


def error(module: str, name: str, known: Callable[[], Iterable[str]] = tuple) -> AttributeError:
    """What a module without that name raises; `known()` are those that it has."""
    instead = INSTEAD.get(module, {}).get(name)
    full = f"quadrants.{module}".rstrip(".")
    if instead is None:
        if name not in EXPECTED and (name.startswith("_") or not module and _is_module(name)):
            return AttributeError(f"module '{full}' has no attribute '{name}'", name=name)
        use = _expected(module, name, known)
        if use:
            return AttributeError(f"module '{full}' has no attribute '{name}'. {use}", name=name)
        hint = spelling.hint(name, known())
        return AttributeError(f"module '{full}' has no attribute '{name}'{hint}", name=name)
    called = f"qd.{module}.{name}" if module else f"qd.{name}"
    return AttributeError(f"{called} is not in this version. Use {instead}. See {_PAGE}.", name=name)


def names_of(module: str, has: Mapping[str, object]) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has no other. `has`: what is there, as `globals()`."""

    def look_up(name: str) -> NoReturn:
        raise error(module, name, lambda: [known for known in has if not known.startswith("_")])

    return look_up
