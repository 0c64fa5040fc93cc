"""Fields with a struct per cell: a dictionary of member fields, seen as one."""

from __future__ import annotations

from quadrants.data import host_values, refusals
from quadrants.data.field import Field, ScalarField, not_a_field
from quadrants.errors import QuadrantsRuntimeError


class StructField(Field):
    """A field with a struct per cell. `sf.member` is the field of that member, itself a struct field when nested.

    `keys` lists the members in order; `get_member_field(name)` also reaches members whose name is an attribute of
    fields, such as `shape`.

        p = Particle.field(shape=8)  # a qd.StructField
        p.mass.fill(1.0)
    """

    def __init__(self, field_dict: dict, struct_methods: dict, name: str | None = None, is_primal: bool = True):
        self._members = dict(field_dict)
        self._methods = dict(struct_methods)
        Field.__init__(self, self._all_leaves(), name or "<Struct>")
        self._is_primal = is_primal
        for key, member in self._members.items():
            if member is not None and not isinstance(getattr(StructField, key, None), property):
                self.__dict__[key] = member
        self._own()

    def _all_leaves(self) -> tuple:
        return tuple(leaf for part in self._present() for leaf in part._leaves)

    def _present(self) -> list:
        return [part for part in self._members.values() if part is not None]

    def _forget_views(self) -> None:
        pass

    def _placeable(self) -> list:
        return [inner for part in self._present() for inner in part._placeable()]

    # -- what it is

    @property
    def keys(self) -> list:
        """Member names in order of declaration."""
        return list(self._members)

    @property
    def struct_methods(self) -> dict:
        """Methods of the struct type by name."""
        return self._methods

    @property
    def name(self) -> str:
        """The name given at declaration."""
        return self._name

    def get_member_field(self, key: str):
        """The field of member `key`; None for an integer member of a gradient. `KeyError` for an unknown name."""
        return self._members[key]

    @property
    def dtype(self):
        """A struct has no single dtype: `AttributeError`."""
        raise AttributeError(f"a struct field has no dtype; ask one of its members: {self.keys}")

    def _companion(self, which: str):
        if not self._is_primal:
            return None
        if which not in self._companions:
            self._companions[which] = self._make_companion(which)
        return self._companions[which]

    def _make_companion(self, which: str) -> StructField:
        parts = {key: None if part is None else getattr(part, which) for key, part in self._members.items()}
        return StructField(parts, self._methods, f"{self._name}.{which}", is_primal=False)

    def _has_companion(self, which: str) -> bool:
        found = [part._has_companion(which) for part in self._present()]
        return any(found)

    # -- elements

    def __getitem__(self, indices):
        """The element as a live `qd.Struct`: `sf[i].a = x` and `sf[i].p[k] = x` write to the field."""
        self._check_usable()
        return host_values.live_struct(self._cell_views(indices), self._methods)

    def _cell_views(self, indices) -> dict:
        # Members without a gradient are left out; a scalar member becomes a 0-d array over its storage.
        return {
            key: part._cell_view(indices) if isinstance(part, ScalarField) else part[indices]
            for key, part in self._members.items()
            if part is not None
        }

    def __setitem__(self, indices, element) -> None:
        """Write every member from a struct value or a dict. `KeyError` if one is missing."""
        self._check_usable()
        values = element.to_dict() if hasattr(element, "to_dict") else element
        if not isinstance(values, dict):
            raise TypeError(f"a struct or a dict with the members {self.keys} is needed, not {element!r}")
        refusals.check_members(self._members, values)
        for key, part in self._members.items():
            if part is not None:
                part[indices] = values[key]

    # -- whole content

    def fill(self, val) -> None:
        """Set every component of every member to the number `val`. Members without a gradient are left out."""
        for part in self._present():
            part.fill(val)

    def copy_from(self, other: Field) -> None:
        """Take over the values of a struct field with the same members and shape, cast member by member."""
        if not isinstance(other, Field):
            raise not_a_field(other)
        if not isinstance(other, StructField) or set(other.keys) != set(self.keys):
            names = other.keys if isinstance(other, StructField) else None
            raise ValueError(f"a struct field with members {self.keys} cannot copy from members {names}")
        if other.shape != self.shape:
            raise ValueError(f"qd.field shape {self.shape} does not match the source field shape {other.shape}")
        for key, part in self._members.items():
            if part is not None:
                part.copy_from(other.get_member_field(key))

    def from_numpy(self, array_dict: dict) -> None:
        """Take over one array per member. `KeyError` if a member is missing."""
        self._import(array_dict, "from_numpy")

    def from_torch(self, array_dict: dict) -> None:
        """Take over one tensor per member. `KeyError` if a member is missing."""
        self._import(array_dict, "from_torch")

    def _import(self, parts: dict, how: str) -> None:
        if not isinstance(parts, dict):
            raise TypeError(f"{how} of a struct field needs a dict with the members {self.keys}, not {type(parts)}")
        refusals.tell_of_unknown(self._members, parts)
        wanted = {key: part for key, part in self._members.items() if part is not None}
        # Looked up first, so that a missing member leaves the field as it was.
        for part, source in [(part, parts[key]) for key, part in wanted.items()]:
            getattr(part, how)(source)

    def to_numpy(self, *, copy=True) -> dict:
        """The content as a dict of arrays, nested for nested structs. `copy` as for scalar fields, per member."""
        return {key: part.to_numpy(copy=copy) for key, part in self._members.items() if part is not None}

    def to_torch(self, device=None, *, copy=True) -> dict:
        """As `to_numpy`, as torch tensors on `device`."""
        return {key: part.to_torch(device=device, copy=copy) for key, part in self._members.items() if part is not None}

    def to_dlpack(self, versioned: bool = False):
        """A struct is no single array: `RuntimeError`. Export its members."""
        raise QuadrantsRuntimeError(f"a struct field has no DLPack form; export its members {self.keys}")

    def __str__(self) -> str:
        if not self._is_placed():
            return "<Field: Definition of this field is incomplete>"
        dead = next((part for part in self._members.values() if getattr(part, "_dead", False)), None)
        return str(self.to_numpy() if dead is None else dead)

    def _repr_html_(self) -> str:
        """What notebooks show: a table for each member."""
        parts = ((key, part) for key, part in self._members.items() if part is not None)
        return "".join(f"<div><i>{key}</i> {part._repr_html_()}</div>" for key, part in parts)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{key}={part!r}" for key, part in self._members.items())
        return f"<qd.Struct.field {kinds}>"
