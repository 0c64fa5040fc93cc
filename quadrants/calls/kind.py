"""What a kind of arguments says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from quadrants._ext.core import TOKEN
from quadrants.errors import QuadrantsTypeError

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer

Source: TypeAlias = tuple[int, tuple[str, ...]]  # a parameter, and the names of the attributes on the way
# What the launch core calls for an argument: the value, the argument block, and where in it. It keeps what comes back.
Packer: TypeAlias = Callable[[Any, memoryview, int], Any]


class Call:
    """What a check is told of a call: the user's function, the mode of the derivative, and whether floats may not be
    templates."""

    __slots__ = ("fn", "mode", "no_floats")

    def __init__(self, fn: Any, mode: str = "", no_floats: bool = False):
        self.fn = fn
        self.mode = mode
        self.no_floats = no_floats


class Kind:
    """What a parameter of a kernel, or a member of a dataclass, takes by its annotation.

    core: how the launch core looks at arguments: SCALAR (it packs a number), ARRAY or ANY (it knows arrays, which ANY
    need not be), TOKEN (it asks `token` for what has none of its own), OPAQUE (by value, packed by `packer`).
    slot: what the values are called, among those that a launch passes, that `packer` writes.
    selects: what of an argument selects a specialisation, for kernels kept on the disk: its "value", its "type", or
    "array" and the number of axes of an element.
    optional: whether a parameter may be `T | None`. takes_fields: whether fields are ordinary arguments.
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

    def check_number(self, name: str, x: Any) -> None:
        """The same of a number, where nothing is launched that would find out."""

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
