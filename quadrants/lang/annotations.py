"""Objects that annotate parameters of kernels and funcs: templates, arrays, buffer views, references."""

from __future__ import annotations

import operator
from typing import Any, Generic, TypeVar

from quadrants.lang.enums import BoundaryMode, Layout
from quadrants.lang.primitive_types import is_dtype_like, resolve_dtype
from quadrants.lang.tensor_types import MatrixType, TensorTypeBase, VectorType

T = TypeVar("T")


class Template(Generic[T]):
    """Marks a compile-time parameter, as `qd.template()` or bare `qd.template`.

    The argument is part of the specialisation; a func parameter so marked aliases its argument.
    Attributes: `element_type` and `ndim`, informative only.

        def k(n: qd.Template): ...
    """

    def __init__(self, element_type: type = object, ndim: int | None = None):
        self.element_type = element_type
        self.ndim = ndim

    def __repr__(self) -> str:
        return "template()"

    def __getitem__(self, i: Any) -> T:
        raise TypeError("qd.template() is an annotation, not a value: it cannot be indexed")


template = Template


def boundary_mode(boundary: Any) -> BoundaryMode:
    """BoundaryMode of the strings 'unsafe' and 'clamp'; ValueError for anything else."""
    if boundary == "unsafe":
        return BoundaryMode.UNSAFE
    if boundary == "clamp":
        return BoundaryMode.CLAMP
    raise ValueError(f"Invalid boundary argument: {boundary}. Valid options: 'unsafe', 'clamp'")


class NdarrayType:
    """Annotation of an array parameter: `qd.types.ndarray(dtype=None, ndim=None, ...)`, `NDArray[dtype, ndim]`.

    Args:
        dtype: element type (primitive, int, float, vector or matrix type); None accepts any.
        ndim: number of array axes without element axes; None accepts any.
        element_dim: 0, 1 or 2: elements are scalars, vectors or matrices of any extents.
        element_shape: () , (n,) or (n, m): extents of the elements.
        needs_grad: True demands an array with gradient; None and False accept both.
        boundary: "unsafe", or "clamp" to limit every index to the valid range. Where an extent is zero there is none:
            what is read is 0 and what is written is lost; where bounds are checked, as with debug=True, it fails.

        def k(x: qd.types.ndarray(dtype=qd.f32, ndim=2)): ...
    """

    def __init__(
        self,
        dtype: Any = None,
        ndim: int | None = None,
        element_dim: int | None = None,
        element_shape: tuple[int, ...] | None = None,
        field_dim: int | None = None,
        needs_grad: bool | None = None,
        boundary: str = "unsafe",
    ):
        if field_dim is not None:
            raise ValueError("The field_dim argument for ndarray type is already deprecated. Please use ndim instead.")
        self.dtype = _with_element_shape(dtype, element_dim, element_shape)
        self.ndim = _checked_ndim(ndim)
        self.layout = Layout.AOS
        self.needs_grad = needs_grad
        self.boundary = int(boundary_mode(boundary))

    @classmethod
    def __class_getitem__(cls, args: Any) -> NdarrayType:
        return cls(*args) if isinstance(args, tuple) else cls(args)

    def __or__(self, other: Any):
        return OptionalNdarray(self) if other is None else NotImplemented

    def __getitem__(self, i: Any) -> Any:
        raise TypeError(f"{self!r} is an annotation, not an array: it cannot be indexed")

    def __setitem__(self, i: Any, v: Any) -> None:
        raise TypeError(f"{self!r} is an annotation, not an array: it cannot be written")

    def check_matched(self, ndarray_type: Any, arg_name: str) -> None:
        """Raise ValueError unless an array of that type (`array.get_type()`) may be passed for a parameter."""
        found, shape = ndarray_type.element_type, ndarray_type.shape
        if not _element_matches(self.dtype, found):
            raise ValueError(
                f"Invalid value for argument {arg_name} - required element type: {self.dtype}, but {found} is provided"
            )
        if self.ndim is not None and shape is not None and len(shape) != self.ndim:
            raise ValueError(
                f"Invalid value for argument {arg_name} - required ndim={self.ndim}, but {len(shape)}d ndarray with "
                f"shape {shape} is provided"
            )
        if self.needs_grad and not ndarray_type.needs_grad:
            raise ValueError(f"Invalid value for argument {arg_name} - required needs_grad=True, but False is provided")

    def to_dlpack(self) -> Any:
        """Present for type checkers, which see a parameter as an array: always TypeError."""
        raise TypeError(f"{self!r} is an annotation, not an array: it has no data")

    def __repr__(self) -> str:
        return f"NdarrayType(dtype={self.dtype}, ndim={self.ndim}, layout={self.layout}, needs_grad={self.needs_grad})"

    def __call__(self) -> None:
        # typing.Optional[X] accepts callables only.
        raise TypeError(f"{self!r} is an annotation and cannot be called")


def _checked_elements(dtype: Any) -> Any:
    """`dtype` where arrays may have such elements."""
    if dtype is None or isinstance(dtype, TensorTypeBase) or hasattr(dtype, "ir_type") or is_dtype_like(dtype):
        return dtype
    raise TypeError(
        f"Invalid data type {dtype!r} of array elements; use a primitive type such as qd.f32, int, float, or a vector "
        "or matrix type"
    )


def _with_element_shape(dtype: Any, element_dim: int | None, element_shape: tuple | None) -> Any:
    if element_dim is None and element_shape is None:
        return _checked_elements(dtype)
    if isinstance(dtype, TensorTypeBase):
        raise TypeError(f'Cannot specify matrix dtype "{dtype}" and element shape or dim at the same time.')
    if dtype is not None and not is_dtype_like(dtype):
        raise TypeError(f"Invalid data type {dtype} of array elements; use a primitive type, int or float")
    if element_shape is None:
        element_shape = (None,) * _checked_dim(element_dim)
    elif element_dim is not None and len(element_shape) != element_dim:
        raise ValueError(
            "Both element_shape and element_dim are specified, but shape doesn't match specified dim: "
            f"{len(element_shape)}!={element_dim}"
        )
    rank = _checked_dim(len(element_shape))
    if rank == 0:
        return dtype
    return VectorType(element_shape[0], dtype) if rank == 1 else MatrixType(element_shape[0], element_shape[1], dtype)


def _element_matches(wanted: Any, found: Any) -> bool:
    if wanted is None:
        return True
    if not isinstance(wanted, TensorTypeBase):
        return resolve_dtype(wanted) is found
    shape = getattr(found, "shape", ())
    if wanted.dtype is not None and resolve_dtype(wanted.dtype) is not getattr(found, "dtype", None):
        return False
    extents = wanted.get_shape()
    return len(extents) == len(shape) and all(n in (None, m) for n, m in zip(extents, shape))


def _checked_ndim(ndim: Any) -> int | None:
    if ndim is None:
        return None
    try:
        axes = operator.index(ndim)
    except TypeError:
        told = f"Invalid ndim {ndim!r} of qd.types.ndarray()"
        raise TypeError(f"{told}: write the number of axes, as in ndim=2") from None
    if axes < 0:
        raise ValueError(f"Invalid ndim {axes} of qd.types.ndarray(): the number of axes is 0 or more, as in ndim=2")
    return axes


def _checked_dim(dim: Any) -> int:
    if dim not in (0, 1, 2):
        raise ValueError("Only scalars, vectors, and matrices are allowed as elements of qd.types.ndarray()")
    return dim


class OptionalNdarray:
    """`NDArray[...] | None`: an array parameter that may be None; each presence is its own specialisation."""

    def __init__(self, base: NdarrayType):
        self.base = base

    def __repr__(self) -> str:
        return f"OptionalNdarray(base={self.base})"


class BufferViewType:
    """Annotation of a BufferView parameter: `qd.BufferView[dtype]`, `qd.BufferView[dtype, "clamp"]`.

    Args:
        dtype: element type of the ndarray (primitive, vector or matrix type); None takes that of the argument.
        boundary: "unsafe", or "clamp" to limit indices to the underlying ndarray.

        def k(out: qd.BufferView[qd.f32, "clamp"]): ...  # a qd.types.BufferViewType()
    """

    def __init__(self, dtype: Any = None, boundary: str = "unsafe"):
        self.dtype = dtype
        self.ndarray_type = NdarrayType(dtype, ndim=1, boundary=boundary)

    @property
    def boundary(self) -> int:
        """Code of the BoundaryMode."""
        return self.ndarray_type.boundary

    def __repr__(self) -> str:
        return f"BufferViewType(dtype={self.dtype}, boundary={self.boundary})"


class RefType:
    """Annotation of a by-reference scalar of a `@qd.real_func`; made by `qd.ref(dtype)`."""

    def __init__(self, tp: Any):
        self.tp = tp

    def __repr__(self) -> str:
        return f"ref({self.tp})"


def ref(tp: Any) -> RefType:
    """Annotation of a scalar parameter of dtype `tp` that a `@qd.real_func` gets by reference.

    @qd.real_func
    def bump(x: qd.ref(qd.f32)):
        x += 1.0
    """
    return RefType(tp)


class sparse_matrix_builder:  # noqa: N801 - a public name written like a function
    """Annotation of a parameter that takes a `qd.linalg.SparseMatrixBuilder`.

    def k(K: qd.types.sparse_matrix_builder()): ...
    """


ndarray = NDArray = NdarrayType


def tuple_items(a) -> tuple | None:
    """The item annotations of `tuple[A, B]` and of the tuple `(A, B)`; None for anything else."""
    if isinstance(a, tuple):
        return a
    return a.__args__ if getattr(a, "__origin__", None) is tuple else None
