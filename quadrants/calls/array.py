"""`x: qd.types.ndarray(...)`: an ndarray, or an array of NumPy, torch or CuPy in its own memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadrants._ext.core import ARRAY, TOKEN
from quadrants.calls.kind import Call, Kind, Source
from quadrants.calls.tokens import external_token
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.ir.types import DType, TensorType, ValueType, tensor_type
from quadrants.lang import parameters
from quadrants.lang.annotations import NdarrayType
from quadrants.lang.kinds import FIELD_KINDS, is_external, kind_of, unwrapped
from quadrants.lang.tensor_types import TensorTypeBase

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class Array(Kind):
    optional = True

    def __init__(self, annotation: Any):
        super().__init__(annotation() if isinstance(annotation, type) else annotation)
        # The trailing axes of a foreign array are its element: the core's token of such an array does not tell them.
        self.core = TOKEN if parameters.compound_kind(self.annotation.dtype) else ARRAY
        self.selects = f"array{element_axes(annotation)}"

    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return annotation is NdarrayType or isinstance(annotation, NdarrayType)

    def token(self, x: Any, name: str) -> int | tuple[int]:
        """That of a foreign array: an ndarray has its own."""
        x = unwrapped(x)
        if kind_of(x) == "ndarray":
            return int(x.token)
        if is_external(x):
            return external_token(x, name, element_axes(self.annotation))
        raise not_an_array(self.annotation, x, name)

    def check(self, call: Call, name: str, x: Any) -> None:
        x = unwrapped(x)
        if kind_of(x) == "ndarray":
            x._check_usable()
        try:
            self.check_type(name, x)
            if call.mode == "reverse":
                self._check_gradient(name, x)
        except (TypeError, ValueError) as error:
            if type(error) in (TypeError, ValueError):
                raise type(error)(
                    f"exception while trying to ensure compiled <function {call.fn.__name__}>:\n{error}"
                ) from None
            raise

    def check_type(self, name: str, x: Any) -> None:
        """Raise unless `x` fits the annotation: `TypeError` for another scalar dtype of an ndarray, `ValueError` for
        other mismatches, `QuadrantsRuntimeTypeError` for what is no array.

        The checks of ndarrays are off when `_template_mapper.__builtins__["__debug__"]` is False.
        """
        from quadrants.data import external
        from quadrants.lang._template_mapper import argument_checks_enabled

        if kind_of(x) == "ndarray":
            if argument_checks_enabled():
                self.check_ndarray(name, x)
        elif external.is_external(x):
            self._check_external(name, external.plain(x))
        else:
            raise not_an_array(self.annotation, x, name)

    def check_ndarray(self, name: str, x: Any, passed: Any = None) -> None:
        """Raise where an ndarray is not what the parameter takes. passed: what the user passed, if that is not `x`."""
        param, passed = self.annotation, x if passed is None else passed
        if param.dtype is not None:
            scalar = _scalar(param.dtype)
            if scalar is not None:
                if x.element_type != scalar:
                    what = f"Expect element type {scalar} for argument {name}, but get {x.element_type}"
                    raise TypeError(f"{what}; {_other(param, passed)}")
            elif not _element_fits(param.dtype, x.element_type):
                raise ValueError(
                    f"Invalid value for argument {name} - required element type: {param.dtype}, but {x.element_type} "
                    f"is provided; {_other(param, passed)}"
                )
        if param.ndim is not None and len(x.shape) != param.ndim:
            raise ValueError(
                f"Invalid value for argument {name} - required ndim={param.ndim}, "
                f"but {len(x.shape)}d ndarray with shape {x.shape} is provided; {_other(param, passed)}"
            )
        if param.needs_grad and not x.has_grad():
            raise ValueError(
                f"Invalid value for argument {name} - required needs_grad=True, but False is provided; make the array "
                "with needs_grad=True"
            )

    def _check_external(self, name: str, x: Any) -> None:
        from quadrants.data import external

        dtype, rank = external.dtype_and_ndim(x, name)
        wanted, ndim = self.annotation.dtype, self.annotation.ndim
        if wanted is None:
            return
        scalar = _scalar(wanted)
        head, advice = f"Invalid value for argument {name} - required", _other(self.annotation, x)
        if scalar is not None:
            if dtype is not scalar:
                raise ValueError(f"{head} array has dtype={scalar}, array with dtype={dtype} is provided; {advice}")
            if ndim is not None and rank != ndim:
                raise ValueError(f"{head} array has ndim={ndim}, array with {rank} dimensions is provided; {advice}")
            return
        element = _element_shape(wanted)
        depth = len(element)
        if ndim is not None and rank != ndim + depth:
            raise ValueError(
                f"{head} array has ndim={ndim} element_dim={depth}, array with {rank} dimensions is provided; {advice}"
            )
        if rank < depth:
            raise ValueError(f"{head} element_dim={depth}, array with {rank} dimensions is provided; {advice}")
        provided = tuple(x.shape[rank - depth :])
        if any(n is not None and n != m for n, m in zip(element, provided, strict=True)):
            raise ValueError(
                f"{head} element_shape={element}, array with element shape of {provided} is provided; {advice}"
            )

    def _check_gradient(self, name: str, x: Any) -> None:
        """A kernel takes arrays that another package made without gradient; its derivative would leave theirs out
        without a word."""
        from quadrants.data import external

        if self.annotation.needs_grad and external.is_external(x) and not external.has_grad(x):
            raise ValueError(
                f"Invalid value for argument {name} - required needs_grad=True, but a {type(x).__name__} without "
                "gradient is provided; pass a torch tensor with requires_grad=True or a qd.ndarray with "
                "needs_grad=True, or leave needs_grad out of the annotation"
            )

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        return declarer.array(source, name, unwrapped(x), self.annotation)


def not_an_array(annotation: Any, x: Any, name: str) -> QuadrantsRuntimeTypeError:
    """The error for a list, a number, None or a field where an array is needed."""
    if kind_of(x) in FIELD_KINDS:
        return QuadrantsRuntimeTypeError(
            f"Invalid type for argument {name}: a field cannot be converted into required type {_written(annotation)}; "
            "annotate the parameter with qd.template() or qd.Tensor to pass fields"
        )
    if type(x).__module__.startswith("pyopencl."):
        return QuadrantsRuntimeTypeError(
            f"Invalid type for argument {name}, got {x!r}, which says nothing of shape and dtype; pass "
            f"pyopencl.array.Array(queue, shape, dtype, data={name})"
        )
    return QuadrantsRuntimeTypeError(
        f"Invalid type for argument {name}, got {x!r}; pass a qd.ndarray or an array of NumPy, torch or CuPy, as "
        "np.array(.., np.float32) makes one"
    )


def describe(x: Any, annotation: Any = None) -> tuple[ValueType, int, tuple[int, ...] | None, bool]:
    """(type of an element, number of axes, their order if it is not that of C, has a gradient) of an ndarray, or of an
    array of another package, of which the annotation says which axes are the element.
    """
    if kind_of(x) == "ndarray":
        ordered = isinstance(x.layout, tuple) and x.layout != tuple(range(len(x.layout)))
        return x.element_type, len(x.shape), x.layout if ordered else None, x.has_grad()
    from quadrants.data import external

    x = external.plain(x)
    dtype, ndim = external.dtype_and_ndim(x)
    axes = element_axes(annotation)
    element = tensor_type(tuple(int(n) for n in x.shape[ndim - axes :]), dtype) if axes else dtype
    return element, ndim - axes, None, external.has_grad(x)


def element_axes(annotation: Any) -> int:
    """How many of the axes of a foreign array are those of its elements: the last ones."""
    dtype = None if isinstance(annotation, type) else getattr(annotation, "dtype", None)
    return int(dtype.ndim) if isinstance(dtype, TensorTypeBase) else 0


def _other(annotation: Any, x: Any) -> str:
    """What to do about an array of another type, rank or elements than the annotation names."""
    made = "" if kind_of(x) == "ndarray" else ", as x.astype(..) or x.reshape(..) of NumPy makes one,"
    written = _written(annotation)
    if kind_of(x) == "view":
        return f"the parameter is a BufferView of {written}: pass a window of such an array or change the annotation"
    return f"the parameter is annotated with {written}: pass such an array{made} or change the annotation"


def _written(annotation: Any) -> str:
    """An annotation as users write it."""
    options = {"dtype": _written_dtype(annotation.dtype), "ndim": annotation.ndim}
    given = ", ".join(f"{key}={value}" for key, value in options.items() if value is not None)
    return f"qd.types.ndarray({given})"


def _written_dtype(dtype: Any) -> Any:
    scalar = _scalar(dtype)
    if scalar is not None:
        return f"qd.{scalar}"
    if not isinstance(dtype, TensorTypeBase) or dtype.dtype is None:
        return dtype
    extents = ", ".join(map(str, _element_shape(dtype)))
    return f"qd.types.{'vector' if dtype.ndim == 1 else 'matrix'}({extents}, qd.{_scalar(dtype.dtype)})"


def _scalar(dtype: Any) -> DType | None:
    from quadrants.data import dtypes

    return dtypes.scalar(dtype)


def _element_shape(dtype: Any) -> tuple[int | None, ...]:
    return dtype.shape if isinstance(dtype, TensorType) else tuple(dtype.get_shape())


def _element_fits(wanted: Any, element: ValueType) -> bool:
    if not isinstance(element, TensorType):
        return False
    shape = _element_shape(wanted)
    if wanted.dtype is not None and wanted.dtype is not element.dtype:
        return False
    return len(shape) == len(element.shape) and all(
        n is None or n == m for n, m in zip(shape, element.shape, strict=True)
    )
