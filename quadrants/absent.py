"""Names of the reference that this version does not have, and what to write instead.

docs/guide/absent_names.md tells users of them; a test compares the two.
"""

from __future__ import annotations

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


def error(module: str, name: str, known: Callable[[], Iterable[str]] = tuple) -> AttributeError:
    """What a module without that name raises; `known()` are those that it has."""
    instead = INSTEAD.get(module, {}).get(name)
    full = f"quadrants.{module}".rstrip(".")
    if instead is None:
        hint = "" if name.startswith("_") else spelling.hint(name, known())
        return AttributeError(f"module '{full}' has no attribute '{name}'{hint}", name=name)
    called = f"qd.{module}.{name}" if module else f"qd.{name}"
    return AttributeError(f"{called} is not in this version. Use {instead}. See {_PAGE}.", name=name)


def names_of(module: str, has: Mapping[str, object]) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has no other. `has`: what is there, as `globals()`."""

    def look_up(name: str) -> NoReturn:
        raise error(module, name, lambda: [known for known in has if not known.startswith("_")])

    return look_up
