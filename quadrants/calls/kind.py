"""What a kind of argument says of itself, and whom it says it to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

from quadrants._ext.core import TOKEN
from quadrants.errors import QuadrantsTypeError

Source: TypeAlias = tuple[int, tuple[str, ...]]  # a parameter, and the names of the attributes on the way
# What the launch core calls for an argument: the value, the argument block, and where in it. It keeps what comes back.
Packer: TypeAlias = Callable[[Any, memoryview, int], Any]


class Call(NamedTuple):
    """What a check is told of a call: the user's function, the mode of the derivative, and whether floats may not be
    templates."""

    fn: Any
    mode: str = ""
    no_floats: bool = False


class Declarer(Protocol):
    """What a kind may have the frontend do while a kernel is traced. Each gives what the name stands for in it.

    source: where a launch finds the argument; what is declared once is found again by it.
    """

    def number(self, source: Source, name: str, dtype: Any) -> Any:
        """A number of the dtype that `dtype` stands for, which the launch core packs."""

    def by_value(self, source: Source, name: str, t: Any, slot: str) -> Any:
        """A value of IR type `t` that cannot be assigned; the packer of the kind with that `slot` writes it."""

    def variable(self, source: Source, name: str, t: Any, slot: str) -> Any:
        """The same in a variable of the kernel, whose parts can be assigned."""

    def array(self, source: Source, name: str, x: Any, annotation: Any = None) -> Any:
        """An ndarray or an array of another package, of which a launch passes pointer and extents."""

    def view(self, source: Source, name: str, x: Any, annotation: Any = None) -> Any:
        """A BufferView: an array, an offset and a size."""

    def object(self, source: Source, x: Any, members: dict[str, Kind | None] | None = None) -> Any:
        """An object whose attributes are followed; with `members`, those alone, each as its kind says."""

    def template(self, source: Source, x: Any) -> Any:
        """What is known while compiling: an object as `object`, anything else as it is."""


class Kind:
    """What a parameter of a kernel, or a member of a dataclass, takes by its annotation.

    core: how the launch core looks at arguments: SCALAR (it packs a number), ARRAY or ANY (it knows arrays, which ANY
    need not be), TOKEN (it asks `token` for what has none of its own), OPAQUE (by value, packed by `packer`).
    slot: what the values are called, among those that a launch passes, that `packer` writes.
    selects: what of an argument selects a specialisation, for kernels kept on the disk: its "value", its "type", or
    "array" and the number of axes of an element.
    optional: whether it may be `T | None`. takes_fields: whether fields are ordinary arguments.
    """

    core: int = TOKEN
    slot: ClassVar[str] = ""
    selects: str = "value"
    optional: ClassVar[bool] = False
    takes_fields: bool = False

    def __init__(self, annotation: Any):
        self.annotation = annotation

    @property
    def of_package(self) -> bool:
        """Whether what it declares changes with the version of this package alone."""
        return type(self).__module__.startswith("quadrants.")

    @classmethod
    def suits(cls, annotation: Any) -> bool:
        """Whether parameters with this annotation are of this kind."""
        raise NotImplementedError

    def token(self, x: Any, name: str) -> int | tuple[int]:
        """All of an argument that can change the code, as a number from `core.intern_token`; raises what is wrong.

        `(token,)` says that this very object keeps it for life.
        """
        raise QuadrantsTypeError(f"Arguments for '{name}' are passed by value: they select nothing")

    def check(self, call: Call, name: str, x: Any) -> None:
        """Raise what is wrong with an argument, before anything is compiled for it."""

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        """What the name stands for in a kernel that is traced for the argument `x`."""
        raise NotImplementedError

    def declare_member(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        """The same for a member of a dataclass."""
        return self.declare(declarer, source, name, x)

    def binding(self, x: Any) -> str:
        """What may be done to the name in the kernel, as `frontend.frame.Binding` says it."""
        return "argument"

    @classmethod
    def packer(cls, t: Any, name: str) -> Packer:
        """What writes an argument into the block as a value of IR type `t`; raises what is wrong with it."""
        raise NotImplementedError
