"""Kinds of arguments: what a parameter of a kernel may be annotated with, a kind a file.

A package of its own may have more: see docs/development/add_an_argument_kind.md.
"""

from quadrants.calls.array import Array
from quadrants.calls.dataclass_value import Dataclass
from quadrants.calls.kind import Call, Kind
from quadrants.calls.matrix import Matrix
from quadrants.calls.registry import OURS, of, register
from quadrants.calls.scalar import Scalar
from quadrants.calls.sparse_builder import SparseBuilder
from quadrants.calls.struct_value import Struct
from quadrants.calls.template import Template
from quadrants.calls.tensor import Tensor
from quadrants.calls.view import View

__all__ = ["Call", "Kind", "of", "register"]

OURS += [Scalar, Array, Tensor, Template, Dataclass, View, Matrix, Struct, SparseBuilder]
