"""What can be read, written and handed over by reference: variables, cells, their components and members."""

from __future__ import annotations

import math

from .errors import Unmodelled
from .memory import tracker
from .numbers import Num
from .operations import binary, cast, extremum
from .values import Struct, Tensor, copied, initial, letters, type_of


class Place:
    """`load` and `store` of a value; `element`, `member` and `components` are places inside it."""

    def load(self):
        raise NotImplementedError

    def store(self, x) -> None:
        raise NotImplementedError

    @property
    def type(self):
        return type_of(self.load())

    def element(self, indices: tuple) -> Place:
        return Element(self, indices)

    def member(self, name: str) -> Place:
        value = self.load()
        if isinstance(value, Struct):
            return Member(self, name)
        if isinstance(value, Tensor):
            return self.swizzle(name)
        raise Unmodelled(f"no member {name}")

    def swizzle(self, word: str) -> Place:
        numbers = letters(word, self.load().shape[0])
        if numbers is None:
            raise Unmodelled(f"no swizzle {word}")
        places = [self.element((k,)) for k in numbers]
        return places[0] if len(places) == 1 else Several(places)

    def atomic(self, op: str, x):
        """Read-modify-write of each number; gives the old value."""
        old = copied(self.load())
        self.store(modified(op, old, x))
        return old


def modified(op: str, old, x):
    x = initial(type_of(old), x)
    if op in ("min", "max"):
        return extremum(op, old, x)
    if op == "exchange":
        return x
    return binary(op, old, x)


class Variable(Place):
    """A variable of a kernel or func. `owner`: the iteration in which it was made, None outside of parallel loops."""

    __slots__ = ("value", "owner")

    def __init__(self, value):
        self.value = value
        self.owner = tracker.iteration if tracker.marks is not None else None

    def _shared(self) -> bool:
        return tracker.marks is not None and self.owner != tracker.iteration

    def load(self):
        if self._shared():
            tracker.read(id(self))
        return self.value

    def store(self, x) -> None:
        if self._shared():
            tracker.write(id(self))
        self.value = initial(type_of(self.value), x)

    def atomic(self, op: str, x):
        old = copied(self.value)
        if self._shared():
            tracker.atomic(id(self), op, _is_real(old))
        self.value = initial(type_of(old), modified(op, old, x))
        return old


def _is_real(x) -> bool:
    return x.dtype.real


class Element(Place):
    """A component of a tensor in another place."""

    def __init__(self, base: Place, indices: tuple):
        self.base, self.indices = base, indices
        base.load().offset(indices)

    def load(self) -> Num:
        value = self.base.load()
        return value.items[value.offset(self.indices)]

    def store(self, x) -> None:
        value = self.base.load().copy()
        k = value.offset(self.indices)
        value.items[k] = initial(value.items[k].dtype, x)
        self.base.store(value)


class Member(Place):
    """A member of a struct in another place."""

    def __init__(self, base: Place, name: str):
        self.base, self.name = base, name
        if name not in base.load().members:
            raise Unmodelled(f"no member {name}")

    def load(self):
        return self.base.load().members[self.name]

    def store(self, x) -> None:
        value = self.base.load().copy()
        value.members[self.name] = initial(value.type.members[self.name], x)
        self.base.store(value)


class Several(Place):
    """The components that a swizzle or a slice names."""

    def __init__(self, places: list, shape: tuple | None = None):
        self.places, self.shape = places, shape or (len(places),)

    def load(self) -> Tensor:
        return Tensor(self.shape, [p.load() for p in self.places])

    def store(self, x) -> None:
        for p, e in zip(self.places, initial(self.type, x).items):
            p.store(e)

    def atomic(self, op: str, x) -> Tensor:
        x = initial(self.type, x)
        return Tensor(self.shape, [p.atomic(op, e) for p, e in zip(self.places, x.items)])

    def element(self, indices: tuple) -> Place:
        return self.places[Tensor(self.shape, list(self.places)).offset(indices)]

    @property
    def type(self):
        from .values import TensorType

        return TensorType(self.shape, self.places[0].type)


class Memory(Place):
    """Consecutive numbers of a container."""

    __slots__ = ("field", "position", "shape")

    def __init__(self, field, position: int, shape: tuple):
        self.field, self.position, self.shape = field, position, shape

    @property
    def type(self):
        return self.field.type if self.shape else self.field.dtype

    def _positions(self) -> range:
        return range(self.position, self.position + math.prod(self.shape))

    def load(self):
        field = self.field
        for k in self._positions():
            tracker.read((id(field.data), k))
        if not self.shape:
            return Num(field.dtype, field.data[self.position])
        return Tensor(self.shape, [Num(field.dtype, field.data[k]) for k in self._positions()])

    def store(self, x) -> None:
        value = initial(self.type, x)
        for k, e in zip(self._positions(), value.items if self.shape else [value]):
            tracker.write((id(self.field.data), k))
            self.field.data[k] = e.value

    def element(self, indices: tuple) -> Memory:
        if self.field.clamped:
            indices = tuple(min(max(i, 0), n - 1) for i, n in zip(indices, self.shape))
        k = Tensor(self.shape, list(self._positions())).offset(indices)
        return Memory(self.field, self.position + k, ())

    def member(self, name: str) -> Place:
        if not self.shape:
            raise Unmodelled(f"no member {name}")
        return self.swizzle(name)

    def swizzle(self, word: str) -> Place:
        numbers = letters(word, self.shape[0])
        if numbers is None:
            raise Unmodelled(f"no swizzle {word}")
        places = [self.element((k,)) for k in numbers]
        return places[0] if len(places) == 1 else Several(places)

    def atomic(self, op: str, x):
        x = initial(self.type, x)
        olds = []
        for k, e in zip(self._positions(), x.items if self.shape else [x]):
            tracker.atomic((id(self.field.data), k), op, self.field.dtype.real)
            old = self.field.value(k)
            olds.append(old)
            self.field.data[k] = cast(modified(op, old, e), self.field.dtype).value
        return Tensor(self.shape, olds) if self.shape else olds[0]


class StructPlace(Place):
    """A cell of a struct field."""

    def __init__(self, type, members: dict):
        self._type, self.members = type, members

    @property
    def type(self):
        return self._type

    def load(self) -> Struct:
        return Struct(self._type, {name: p.load() for name, p in self.members.items()})

    def store(self, x) -> None:
        for name, value in initial(self._type, x).members.items():
            self.members[name].store(value)

    def member(self, name: str) -> Place:
        if name not in self.members:
            raise Unmodelled(f"no member {name}")
        return self.members[name]


class Value(Place):
    """A value under a name that cannot be written: an argument of a kernel, an expression bound to a template."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def load(self):
        return self.value

    def store(self, x) -> None:
        raise Unmodelled("a store to a value")
