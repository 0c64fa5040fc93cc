"""Text that stands for a value in every process: equal texts mean that a kernel is translated alike."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import types
import typing
from contextlib import contextmanager

import numpy as np

from quadrants.ir.types import DType
from quadrants.lang import parameters as ann
from quadrants.lang.annotations import BufferViewType, NdarrayType, OptionalNdarray, RefType, Template
from quadrants.lang.func import BoundFunc, Func
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.tensor_types import CompoundType

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType, np.ufunc)
_LONGEST = 200


class Unknown(Exception):
    """No text can stand for this. `silent` where that is to be expected, as for fields."""

    def __init__(self, text: str, *, silent: bool = False, kind: str = "UNKNOWN_TYPE"):
        super().__init__(text)
        self.silent = silent
        self.kind = kind


def value(x, *, captured: bool = False) -> str:
    """The text of a compile-time value. Raises Unknown.

    captured: `x` is reached by name and what is read of it is described apart, so that its type is enough.
    """
    try:
        text = _value(x, captured)
    except RecursionError as error:
        raise Unknown("a container that holds itself") from error
    if len(text) <= _LONGEST:
        return text
    return f"{type(x).__name__} {hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def _value(x, captured: bool) -> str:
    t = type(x)
    if t in _PLAIN:
        return f"{t.__name__} {x!r}"
    if isinstance(x, type):
        return annotation(x)
    if isinstance(x, enum.Enum):
        return f"enum {name(t)}.{x.name} {x.value!r}" if isinstance(x.value, _PLAIN) else f"enum {name(t)}.{x.name}"
    if isinstance(x, (list, tuple)):
        return f"{name(t)}({', '.join([value(item) for item in x])})"
    if isinstance(x, (set, frozenset)):
        return f"{name(t)}({', '.join(sorted([value(item) for item in x]))})"
    if isinstance(x, dict):
        return f"{name(t)}({', '.join([f'{value(k)}: {value(v)}' for k, v in x.items()])})"
    if isinstance(x, (np.ndarray, np.generic)):
        return _array(np.asarray(x))
    if getattr(x, "_qd_host_matrix", False):
        return f"{name(t)} {_array(np.asarray(x.to_numpy()))}"
    if getattr(x, "_qd_host_struct", False):
        return f"{name(t)} {value(x.to_dict())}"
    kind = kind_of(x)
    if kind in FIELD_KINDS:
        raise Unknown("a field", kind="FIELD")
    if isinstance(x, (DType, CompoundType, NdarrayType, OptionalNdarray, BufferViewType, RefType, Template)):
        return annotation(x)
    if isinstance(x, (Func, BoundFunc, *_FUNCTIONS)) or kind == "kernel":
        return function(x)
    if isinstance(x, types.ModuleType):
        return f"module {x.__name__}"
    if typing.get_origin(x) is not None:
        return annotation(x)
    if captured:
        return f"object {name(t)}"
    raise Unknown(f"{name(t)}")


def _array(x: np.ndarray) -> str:
    if x.dtype.hasobject:
        raise Unknown("a NumPy array of objects")
    digest = hashlib.blake2b(np.ascontiguousarray(x).tobytes(), digest_size=16).hexdigest()
    return f"array {x.dtype.str} {x.shape} {digest}"


def name(t) -> str:
    """`module.qualname` of a class or function."""
    return f"{t.__module__}.{t.__qualname__}"


def function(x) -> str:
    """Which function it is; the text of those that a kernel translates is looked at apart."""
    if isinstance(x, BoundFunc):
        return f"{function(x.func)} of {name(type(x.instance))}"
    if isinstance(x, np.ufunc):
        return f"numpy {x.__name__}"
    fn = getattr(x, "fn", x)
    code = getattr(fn, "__code__", None)
    place = f" {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    return f"{type(x).__name__} {getattr(fn, '__module__', '')}.{fn.__qualname__}{place}"


_dataclasses: dict | None = None  # class -> text, while nothing else runs


@contextmanager
def at_one_time():
    """Classes are described once within: for a time in which no code of the user's runs that may change them."""
    global _dataclasses
    outer, _dataclasses = _dataclasses, {}
    try:
        yield
    finally:
        _dataclasses = outer


def annotation(a) -> str:
    """The text of a type or of anything else that annotates a parameter. Raises Unknown."""
    if isinstance(a, DType):
        return f"dtype {a.name}"
    if isinstance(a, NdarrayType):
        return f"ndarray[{annotation(a.dtype)}, {a.ndim}, {a.needs_grad}, {a.boundary}]"
    if isinstance(a, OptionalNdarray):
        return f"{annotation(a.base)} | None"
    if isinstance(a, BufferViewType):
        return f"view[{annotation(a.ndarray_type)}]"
    if isinstance(a, RefType):
        return f"ref[{annotation(a.tp)}]"
    if isinstance(a, Template):
        return "template"
    if isinstance(a, CompoundType):
        methods = getattr(a, "methods", None) or {}
        return f"{a!r} {getattr(a, 'name', '')} {[(k, function(f)) for k, f in methods.items()]}"
    if isinstance(a, tuple):
        return f"({', '.join([annotation(item) for item in a])})"
    if isinstance(a, str) or a is None or a is ...:
        return repr(a)
    if ann.is_dataclass(a):
        return _of_dataclass(a)
    if isinstance(a, type) and not typing.get_args(a):
        return name(a)
    if typing.get_origin(a) is not None:
        return f"{typing.get_origin(a)}[{', '.join([annotation(item) for item in typing.get_args(a)])}]"
    if isinstance(a, typing.TypeVar) or a is typing.Any:
        return repr(a)
    raise Unknown(f"the annotation {a!r}")


def _of_dataclass(cls) -> str:
    known = _dataclasses.get(cls) if _dataclasses is not None else None
    if known is not None:
        return known
    text = f"{name(cls)}({', '.join([f'{key}: {annotation(t)}' for key, t in _members(cls)])})"
    if _dataclasses is not None:
        _dataclasses[cls] = text
    return text


def _members(cls) -> list:
    """(name, annotation) of the fields of a dataclass."""
    fields = dataclasses.fields(cls)
    if not any(isinstance(f.type, str) for f in fields):
        return [(f.name, f.type) for f in fields]
    try:
        hints = typing.get_type_hints(cls)
    except Exception as error:  # the annotation is the user's own text
        raise Unknown(f"the annotations of {name(cls)} ({error})") from error
    return [(f.name, hints[f.name]) for f in fields]
