"""Array arguments against the annotation of their parameter: the table of mismatches and their messages."""

from __future__ import annotations

from quadrants.data import external
from quadrants.data.ndarray import Ndarray
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.ir.types import DType, TensorType, tensor_type


def check_annotation(param, array, name: str) -> None:
    """Raise unless `array` fits `param`, which has `dtype`, `ndim` and `needs_grad` like `qd.types.ndarray(...)`.

    `array` is an ndarray, a NumPy array or a torch tensor; `name` is the parameter's name. `TypeError` for another
    scalar dtype of an ndarray, `ValueError` for the other mismatches, `QuadrantsRuntimeTypeError` for what is no array.
    The checks of ndarrays are off when `_template_mapper.__builtins__["__debug__"]` is False.
    """
    from quadrants.lang._template_mapper import argument_checks_enabled

    if isinstance(array, Ndarray):
        if argument_checks_enabled():
            check_ndarray_type(param, array.element_type, array.shape, array.has_grad(), name)
    elif external.is_external(array):
        _check_external(param, external.plain(array), name)
    else:
        raise not_an_array(param, array, name)


def check_gradient(param, array, name: str) -> None:
    """Raise `ValueError` where a derivative must reach an array that another package made without gradient.

    The kernel itself takes such arrays; its derivative would leave their gradient out without a word.
    """
    if param.needs_grad and external.is_external(array) and not external.has_grad(array):
        raise ValueError(
            f"Invalid value for argument {name} - required needs_grad=True, but a {type(array).__name__} without "
            "gradient is provided; pass a torch tensor with requires_grad=True or a qd.ndarray with needs_grad=True, "
            "or leave needs_grad out of the annotation"
        )


def not_an_array(param, value, name: str) -> QuadrantsRuntimeTypeError:
    """The error for a list, a number, None or a field where an array is needed."""
    from quadrants.data.field import Field

    if isinstance(value, Field):
        return QuadrantsRuntimeTypeError(
            f"Invalid type for argument {name}: a field cannot be converted into required type {param}; annotate the "
            "parameter with qd.template() or qd.Tensor to pass fields"
        )
    return QuadrantsRuntimeTypeError(f"Invalid type for argument {name}, got {value!r}")


def check_ndarray_type(param, element_type, shape: tuple, has_grad: bool, name: str) -> None:
    """The checks of an ndarray, on its type alone."""
    wanted = param.dtype
    if wanted is not None:
        scalar = _scalar(wanted)
        if scalar is not None:
            if element_type != scalar:
                raise TypeError(f"Expect element type {scalar} for argument {name}, but get {element_type}")
        elif not _element_fits(wanted, element_type):
            raise ValueError(
                f"Invalid value for argument {name} - required element type: {wanted}, but {element_type} is provided"
            )
    if param.ndim is not None and len(shape) != param.ndim:
        raise ValueError(
            f"Invalid value for argument {name} - required ndim={param.ndim}, "
            f"but {len(shape)}d ndarray with shape {shape} is provided"
        )
    if param.needs_grad and not has_grad:
        raise ValueError(f"Invalid value for argument {name} - required needs_grad=True, but False is provided")


def _scalar(dtype) -> DType | None:
    from quadrants.data import dtypes

    return dtypes.scalar(dtype)


def _element_shape(dtype) -> tuple:
    return dtype.shape if isinstance(dtype, TensorType) else tuple(dtype.get_shape())


def _element_fits(wanted, element_type) -> bool:
    if not isinstance(element_type, TensorType):
        return False
    shape = _element_shape(wanted)
    if wanted.dtype is not None and wanted.dtype is not element_type.dtype:
        return False
    return len(shape) == len(element_type.shape) and all(
        n is None or n == m for n, m in zip(shape, element_type.shape, strict=True)
    )


def _check_external(param, array, name: str) -> None:
    dtype, rank = external.dtype_and_ndim(array, name)
    wanted = param.dtype
    if wanted is None:
        return
    scalar = _scalar(wanted)
    head = f"Invalid value for argument {name} - required"
    if scalar is not None:
        if dtype is not scalar:
            raise ValueError(f"{head} array has dtype={scalar}, array with dtype={dtype} is provided")
        if param.ndim is not None and rank != param.ndim:
            raise ValueError(f"{head} array has ndim={param.ndim}, array with {rank} dimensions is provided")
        return
    element_shape = _element_shape(wanted)
    depth = len(element_shape)
    if param.ndim is not None and rank != param.ndim + depth:
        raise ValueError(
            f"{head} array has ndim={param.ndim} element_dim={depth}, array with {rank} dimensions is provided"
        )
    if rank < depth:
        raise ValueError(f"{head} element_dim={depth}, array with {rank} dimensions is provided")
    provided = tuple(array.shape[rank - depth :])
    if any(n is not None and n != m for n, m in zip(element_shape, provided, strict=True)):
        raise ValueError(f"{head} element_shape={element_shape}, array with element shape of {provided} is provided")


def element_of_external(param, array, name: str):
    """`(element type, canonical shape)` of a foreign array under an annotation that was checked.

    With a vector or matrix dtype the trailing axes are the element; its scalar dtype is that of the array.
    """
    dtype, rank = external.dtype_and_ndim(array, name)
    wanted = param.dtype
    if wanted is None or _scalar(wanted) is not None:
        return dtype, tuple(array.shape)
    split = rank - len(_element_shape(wanted))
    return tensor_type(tuple(array.shape[split:]), dtype), tuple(array.shape[:split])
