"""`qd.Struct`: struct values as Python scope sees them, plain or live in a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from quadrants.errors import QuadrantsSyntaxError
from quadrants.lang import containers, kernel_hook
from quadrants.lang.matrix import Matrix
from quadrants.lang.store import store_value


class Struct:
    """Named members: `qd.Struct(a=1, b=qd.Vector([1, 2]))` or `qd.Struct({...})`, reached as `s.a` or `s["a"]`.

    Lists and arrays become matrices, dicts become structs; a key `__struct_methods` of the dict holds methods.
    In kernels the result is a mutable local. Raises QuadrantsSyntaxError for other arguments.

        s = qd.Struct(mass=1.0, pos=qd.Vector([1.0, 2.0]))
        s.mass += s.pos[0]
    """

    __slots__ = ("_entries", "_methods", "__weakref__")

    # Read by the frontend, which must know host structs without importing this module.
    _qd_host_struct = True

    def __new__(cls, *args: Any, **kwargs: Any):
        if kernel_hook.in_kernel() or kernel_hook.has_value(args) or kernel_hook.has_value(kwargs.values()):
            return kernel_hook.dispatch("Struct", args, kwargs)
        return object.__new__(cls)

    def __init__(self, *args: Any, **kwargs: Any):
        if len(args) > 1 or (args and (kwargs or not isinstance(args[0], dict))):
            raise QuadrantsSyntaxError(
                "Custom structs need to be initialized using either dictionary or keyword arguments"
            )
        members = dict(args[0]) if args else kwargs
        methods = members.pop("__struct_methods", {})
        members.pop("__matrix_ndim", None)
        object.__setattr__(self, "_methods", methods)
        object.__setattr__(self, "_entries", {k: _entry(v) for k, v in members.items()})

    @classmethod
    def _make(cls, entries: dict[str, Any], methods: Mapping[str, Any]) -> Struct:
        """A struct that owns `entries` (numbers, matrices, structs) as they are."""
        out = object.__new__(Struct)
        object.__setattr__(out, "_entries", entries)
        object.__setattr__(out, "_methods", methods)
        return out

    @staticmethod
    def _view(cells: dict[str, Any], methods: Mapping[str, Any] | None = None) -> Struct:
        """A live struct element. `cells` maps names to a 0-d NumPy view or an object with `get()` and `set(value)`
        (scalar members), to `Matrix._view(...)`, and to another live struct."""
        out = object.__new__(StructView)
        object.__setattr__(out, "_entries", cells)
        object.__setattr__(out, "_methods", methods or {})
        return out

    # Members

    @property
    def keys(self) -> list:
        """Names of the members, in order."""
        return list(self._entries)

    @property
    def entries(self) -> dict:
        """Members by name; matrices and structs among them are shared, not copied."""
        return self._entries

    @property
    def items(self):
        """Pairs of name and member."""
        return self.entries.items()

    @property
    def methods(self) -> dict:
        """Methods by name, unbound."""
        return dict(self._methods)

    def to_dict(self, include_methods: bool = False, include_ndim: bool = False) -> dict:
        """A snapshot: numbers, nested lists for matrices, dicts for structs.

        With `include_methods` also "__struct_methods", with `include_ndim` also "__matrix_ndim" (rank by member).
        """
        out: dict[str, Any] = {}
        ranks = {}
        for key, value in self.items:
            if isinstance(value, Matrix):
                out[key] = value.to_list()
                ranks[key] = value.ndim
            elif isinstance(value, Struct):
                out[key] = value.to_dict(include_methods, include_ndim)
            else:
                out[key] = value
        if include_methods:
            out["__struct_methods"] = self.methods
        if include_ndim:
            out["__matrix_ndim"] = ranks
        return out

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator:
        return iter(self.entries.values())

    def __contains__(self, key: Any) -> bool:
        return key in self._entries

    def __getitem__(self, key: str) -> Any:
        return self._read(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in self._entries:
            raise KeyError(key)
        self._write(key, value)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            if name in self._entries:
                return self._read(name)
            if name in self._methods:
                return self._methods[name].__get__(self, type(self))
        raise AttributeError(f"struct has no member '{name}'; its members are {self.keys}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._entries:
            raise AttributeError(f"struct has no member '{name}'; its members are {self.keys}")
        self._write(name, value)

    def _read(self, key: str) -> Any:
        return self._entries[key]

    def _write(self, key: str, value: Any) -> None:
        old = self._entries[key]
        if isinstance(old, (Matrix, Struct)):
            old._assign(value)
        else:
            self._entries[key] = _number(value)

    def _assign(self, value: Any) -> None:
        """Write every member; `value` is a struct or dict with exactly these members."""
        if isinstance(value, Struct):
            value = value.entries
        if not isinstance(value, dict):
            raise TypeError(f"a struct or dict is expected when assigning a struct, not {type(value).__name__}")
        if set(value) != set(self._entries):
            raise TypeError(f"struct has the members {self.keys}, but {list(value)} are assigned")
        for key, x in value.items():
            self._write(key, x)

    def __repr__(self) -> str:
        return str(self.to_dict())

    def __copy__(self) -> Struct:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict) -> Struct:
        return Struct._make({k: _copy_entry(v, memo) for k, v in self.items}, self._methods)

    def __reduce__(self):
        return (Struct._make, (dict(self.entries), dict(self._methods)))

    @classmethod
    def field(
        cls, members: dict, methods: Mapping[str, Any] = {}, shape: Any = None, name: str = "<Struct>",
        offset: Any = None, needs_grad: bool = False, needs_dual: bool = False, layout: Any = None,
    ) -> Any:  # fmt: skip
        """A field of structs.

        Args:
            members: name -> primitive type, vector, matrix or struct type.
            methods: name -> function.
            shape: int or tuple; None to place it later. `()` is 0-d.
            name: shown in messages. offset: first valid index per axis.
            needs_grad, needs_dual: allocate gradients, for structs whose members are all real.
            layout: `qd.Layout.AOS` (default) keeps the members of an element together, `qd.Layout.SOA` apart.
        """
        from quadrants.lang.enums import Layout

        return containers.factories().struct_field(
            members, dict(methods), shape=shape, name=name, offset=offset, needs_grad=needs_grad,
            needs_dual=needs_dual, layout=Layout.AOS if layout is None else layout,
        )  # fmt: skip


class StructView(Struct):
    """A live struct element of a field: reads see the field as it is now, writes go to it."""

    __slots__ = ()

    @property
    def entries(self) -> dict:
        return {key: self._read(key) for key in self._entries}

    def _read(self, key: str) -> Any:
        cell = self._entries[key]
        if isinstance(cell, np.ndarray):
            value = cell.item()
            return int(value) if isinstance(value, bool) else value
        return cell if isinstance(cell, (Matrix, Struct)) else cell.get()

    def _write(self, key: str, value: Any) -> None:
        cell = self._entries[key]
        if isinstance(cell, (Matrix, Struct)):
            cell._assign(value)
        elif isinstance(cell, np.ndarray):
            cell[()] = store_value(_number(value), cell.dtype)
        else:
            cell.set(_number(value))


def _entry(value: Any) -> Any:
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        return Matrix(value)
    return Struct(value) if isinstance(value, dict) else value


def _copy_entry(value: Any, memo: dict) -> Any:
    return value.__deepcopy__(memo) if isinstance(value, (Matrix, Struct)) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number, np.bool_))


def _number(value: Any) -> Any:
    if not _is_number(value):
        raise TypeError(f"A number is expected when assigning struct members, not {type(value).__name__}")
    return value
