"""Packing of foreign arrays that the launch core does not pass by pointer."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from quadrants.data import copies, external

if TYPE_CHECKING:
    from quadrants.calls.kind import Packer


class _Held:
    """Keeps a foreign array alive during a launch and copies results back after it. Nobody else copies meanwhile."""

    __slots__ = ("external", "_turn")

    def __init__(self, describe: Callable[[], external.External]):
        self._turn = copies.Turn()
        try:
            self._turn.begin()
            self.external = describe()
            if self.external.finish is None:
                self._turn.end()
        except BaseException:
            self._turn.end()
            raise

    def finish(self) -> None:
        try:
            if self.external.finish is not None:
                self.external.finish()
        finally:
            self._turn.end()

    def __del__(self) -> None:
        self._turn.end()  # a launch that did not come to its end


def flags_packer(name: str, shape_offset: int, ndim: int) -> Packer:
    """A function of the launch core's "call" code for the flags of a foreign array (`data.check_flags`)."""

    def pack(value: Any, block: memoryview, offset: int) -> Any:
        flags = external.flags_of(value)
        flags._name = name
        struct.pack_into("=Q", block, offset, flags.arr.ptr)
        if shape_offset >= 0:
            struct.pack_into(f"={ndim}i", block, shape_offset, *flags.shape[:ndim])
        return flags

    return pack


def external_packer(
    name: str, shape_offset: int, ndim: int, element: tuple[int, ...] | None = None, gradient: bool = False,
    written: bool = True,
) -> Packer:  # fmt: skip
    """A function of the launch core's "call" code for arrays that it does not pass by pointer: those that are not where
    kernels reach them, in Fortran order, with a gradient.

    element: extents that the trailing axes must have; None where the token of the array has settled that. gradient:
    whether it is the gradient that is passed; a tensor without one gets zeros. written: whether the kernel may write to
    the array.
    """

    def describe(value: Any) -> external.External:
        described = external.describe_external(value, name, written)
        if gradient:
            assert described.grad is not None  # the token tells arrays with one apart
            described = external.placed(described.grad)
        if element is not None and tuple(described.shape[ndim:]) != element:
            raise ValueError(
                f"Invalid value for argument {name} - required element_shape={element}, "
                f"array with element shape of {tuple(described.shape[ndim:])} is provided"
            )
        return described

    def pack(value: Any, block: memoryview, offset: int) -> _Held:
        held = _Held(lambda: describe(value))
        described = held.external
        struct.pack_into("=Q", block, offset, described.pointer)
        if shape_offset >= 0:
            struct.pack_into(f"={ndim}i", block, shape_offset, *described.shape[:ndim])
        return held

    return pack
