"""Fields of structs on the python arch: one container for each member."""

from __future__ import annotations

from quadrants.data import dtypes, host_values, python_tensor, refusals, shapes
from quadrants.data.python_element import NumberCell


class PythonStructField:
    """Containers by the names of members: `s.member` is one, `s[i]` a live struct. `shape` as that of each.

    Raises IndexError for indices outside the container.
    """

    def __init__(self, members: dict, methods: dict, shape: tuple):
        self._members, self.struct_methods, self.shape = members, methods, shape

    @property
    def keys(self) -> list:
        """Member names in order of declaration."""
        return list(self._members)

    def get_member_field(self, key: str):
        """The container of member `key`; KeyError for an unknown name."""
        return self._members[key]

    def __getattr__(self, name: str):
        members = self.__dict__.get("_members", {})
        if name not in members:
            raise AttributeError(f"this field of structs has no member {name!r}; it has {list(members)}")
        return members[name]

    @property
    def grad(self) -> PythonStructField:
        """A zeroed field like this one; nothing writes gradients on the python arch."""
        grads = {key: part.grad for key, part in self._members.items()}
        return PythonStructField(grads, self.struct_methods, self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a container without axes has no length")
        return self.shape[0]

    def __getitem__(self, key):
        cells = {name: _cell(part, key) for name, part in self._members.items()}
        return host_values.live_struct(cells, self.struct_methods)

    def __setitem__(self, key, value) -> None:
        values = value.to_dict() if hasattr(value, "to_dict") else value
        if not isinstance(values, dict):
            raise TypeError(f"a struct or a dict with the members {self.keys} is needed, not {value!r}")
        refusals.check_members(self._members, values)
        for name, part in self._members.items():
            part[key] = values[name]

    def fill(self, value) -> None:
        """Set every component of every member to a number."""
        for part in self._members.values():
            part.fill(value)

    def copy_from(self, other: PythonStructField) -> None:
        """Take over the content of a field of structs with the same members and shape."""
        for name, part in self._members.items():
            part.copy_from(other.get_member_field(name))

    def from_numpy(self, arrays: dict) -> None:
        """Take over one array per member; KeyError if one is missing."""
        for part, array in [(part, arrays[name]) for name, part in self._members.items()]:
            part.from_numpy(array)

    def from_torch(self, tensors: dict) -> None:
        """Take over one tensor per member; KeyError if one is missing."""
        for part, tensor in [(part, tensors[name]) for name, part in self._members.items()]:
            part.from_torch(tensor)

    def to_numpy(self, *, copy: bool = True) -> dict:
        """The content as a dict of arrays, nested for nested structs."""
        return {name: part.to_numpy(copy=copy) for name, part in self._members.items()}

    def to_torch(self, device=None, *, copy: bool = True) -> dict:
        """As `to_numpy`, as torch tensors."""
        return {name: part.to_torch(device, copy=copy) for name, part in self._members.items()}

    def __repr__(self) -> str:
        return f"PythonStructField(shape={self.shape}, {', '.join(f'{k}={v!r}' for k, v in self._members.items())})"


def _cell(part, key):
    found = part[key]
    place = getattr(found, "_place", None)
    if place is not None:
        return NumberCell(*place)
    return part.number_cell(key) if getattr(found, "ndim", None) == 0 else found


def make_struct_field(members: dict, methods: dict | None, shape, offset) -> PythonStructField:
    """What a field of structs is on the python arch. NotImplementedError for what only compiled archs have."""
    if shape is None or offset is not None:
        raise NotImplementedError("the python arch has no SNodes and no offsets: give the shape, and no offset")
    return _struct(members, methods or {}, shapes.ndarray_shape(shape))


def _struct(members: dict, methods: dict, shape: tuple) -> PythonStructField:
    parts: dict = {}
    for name, kind in members.items():
        inner = kind if isinstance(kind, dict) else getattr(kind, "members", None)
        if inner is not None:
            parts[name] = _struct(inner, getattr(kind, "methods", None) or {}, shape)
            continue
        compound = dtypes.compound(kind)
        element_shape, scalar = compound if compound is not None else ((), kind)
        parts[name] = python_tensor.make_container(scalar, tuple(element_shape), shape)
    return PythonStructField(parts, methods, shape)
