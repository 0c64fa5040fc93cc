"""What messages call things: the words of users, not the names of our classes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

_WORDS = {
    "ArrayRef": "ndarray", "BoundFunc": "method with @qd.func", "DType": "dtype", "Formatted": "formatted text",
    "Func": "@qd.func", "Kernel": "@qd.kernel", "KernelMethod": "method", "MatrixType": "matrix type",
    "NDRange": "qd.ndrange", "NdarrayType": "annotation of an ndarray", "ObjectRef": "object",
    "SlicedValue": "run-time value", "StructCell": "element of a struct field", "StructType": "struct type",
    "TensorType": "vector or matrix", "Value": "run-time value", "VectorType": "vector type", "ViewRef": "BufferView",
    "_Grouped": "qd.grouped", "Template": "qd.template",
}  # fmt: skip
_PYTHON = {"NoneType": "None", "builtin_function_or_method": "builtin function", "type": "class"}
# Words that users may have for classes of their own count only where Python puts the name of a class.
_SHARED = ("Func", "Kernel", "Template", "Value")


def type_name(x) -> str:
    """What a message calls the class of `x`."""
    cls = type(x)
    if cls.__name__ == "ObjectRef" and cls.__module__.startswith("quadrants."):
        return type(x.obj).__name__
    words = _WORDS if cls.__module__.startswith("quadrants.") else _PYTHON
    return words.get(cls.__name__, cls.__name__)


def shown(x) -> object:
    """What prints `x`: of objects of ours that cannot show themselves, what they are."""
    cls = type(x)
    mute = cls.__repr__ is object.__repr__ and cls.__str__ is object.__str__
    stands_in = mute or cls.__name__ in ("ArrayRef", "ObjectRef", "ViewRef")
    return f"<{type_name(x)}>" if stands_in and cls.__module__.startswith("quadrants.") else x


def plain_words(message: str) -> str:
    """A message of Python or of ours about objects of ours, without the names of their classes."""
    return _named().sub(lambda found: _WORDS.get(found[found.lastgroup or 0], found[found.lastgroup or 0]), message)


@functools.lru_cache(maxsize=1)
def _named() -> re.Pattern:
    import re  # a program without errors compiles no pattern

    ours = "|".join(name for name in _WORDS if name not in _SHARED)
    return re.compile(
        r"<class \'quadrants\.[\w.]*?(?P<full>\w+)\'>|<quadrants\.[\w.]*?(?P<made>\w+) object at 0x[0-9a-f]+>"
        rf"|\b(?P<ours>{ours})\b(?!\[)|(?<=\')(?P<shared>{'|'.join(_SHARED)})(?=\')"
    )


def given_twice(names: Sequence[str], args: Sequence, kwargs: Mapping) -> str:
    """What is wrong where a struct is given a member by its place and by its name; nothing otherwise."""
    both = [name for name in names[: len(args)] if name in kwargs]
    return f"Multiple values for the members {both} of the struct: by their places and by their names" if both else ""


def surplus_values(names: Sequence[str], args: Sequence) -> str:
    return (
        f"The struct has {len(names)} members, {list(names)}, and {len(args)} values are given; the last are dropped."
    )
