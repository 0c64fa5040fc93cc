"""What every field has, whatever its elements: the classes of fields say how."""

from __future__ import annotations

from typing import Any


class FieldMethods:
    """`qd.Field` names these methods; scalar, matrix and struct fields have them."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        raise self._without("indexed elements")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._without("indexed elements")

    def fill(self, val: Any) -> None:
        """Store `val` to every element."""
        raise self._without("fill")

    def copy_from(self, other: Any) -> None:
        """Copy the elements of a field of the same shape."""
        raise self._without("copy_from")

    def from_numpy(self, arr: Any) -> None:
        """Copy the elements of a NumPy array."""
        raise self._without("from_numpy")

    def to_numpy(self, dtype: Any = None, *, copy: Any = True) -> Any:
        """The elements as a NumPy array."""
        raise self._without("to_numpy")

    def from_torch(self, arr: Any) -> None:
        """Copy the elements of a torch tensor."""
        raise self._without("from_torch")

    def to_torch(self, device: Any = None, *, copy: Any = True) -> Any:
        """The elements as a torch tensor."""
        raise self._without("to_torch")

    def to_dlpack(self, versioned: bool = False) -> Any:
        """The memory as a DLPack capsule."""
        raise self._without("to_dlpack")

    def _without(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"A {type(self).__name__} has no {what}")
