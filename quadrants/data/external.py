"""Arrays of other packages as kernel arguments: what they are, where their memory is, what happens after the launch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable
from types import BuiltinFunctionType
from typing import Any, NamedTuple

import numpy as np

from quadrants import caller
from quadrants._ext.core import intern_token, set_array_producers
from quadrants.data import copies, dtypes, interop_torch, memory, staging
from quadrants.errors import QuadrantsRuntimeError, QuadrantsRuntimeTypeError
from quadrants.ir.types import PRIMITIVES
from quadrants.lang.kinds import is_cuda_array, is_opencl_array

_MAX_INDEX = 2**31 - 1
_CUDA = 2  # in DLPack's numbers


class External(NamedTuple):
    """Memory of a foreign array for one launch.

    dtype_name: "f32", .. shape: all axes, element axes included. pointer: address of the first element of C-contiguous
    memory, valid while `keepalive` lives. finish: None, or what copies results back after the launch. reached: whether
    kernels see that memory, or it has to be `placed` where they do. grad: the same for the gradient of a torch tensor
    with `requires_grad`, not yet placed, else None.
    """

    dtype_name: str
    shape: tuple[int, ...]
    pointer: int
    keepalive: object
    finish: Callable[[], None] | None
    reached: bool = True
    grad: External | None = None


def torch_enabled() -> bool:
    """False if the environment says `QD_ENABLE_TORCH=0`."""
    return os.environ.get("QD_ENABLE_TORCH", "1") not in ("0", "false", "False")


def is_external(obj) -> bool:
    """True for a NumPy array, for a torch tensor (unless disabled), for what has `__cuda_array_interface__`, and for an
    array of pyopencl.
    """
    if isinstance(obj, np.ndarray):
        return True
    return torch_enabled() if interop_torch.is_tensor(obj) else is_cuda_array(obj) or is_opencl_array(obj)


def producer(cls: type):
    """How the launch core reads arrays of a class by itself, as `set_array_producers` wants it; None if it does not."""
    tensor = getattr(interop_torch.loaded(), "Tensor", None)
    if tensor is not None and issubclass(cls, tensor):
        return True if torch_enabled() and _is_plain_tensor(cls, tensor) else None
    cupy = sys.modules.get("cupy")
    if cupy is not None and cls is getattr(cupy, "ndarray", None) and not hasattr(cls, "__dlpack_c_exchange_api__"):
        return None if cupy.cuda.runtime.is_hip else cupy.cuda.get_current_stream
    return True if hasattr(cls, "__cuda_array_interface__") else None


def reach() -> tuple | None:
    """DLPack's (device type, number) of the memory that kernels work on; None if no foreign array can be there."""
    return memory.dlpack_device()


def _is_plain_tensor(cls: type, tensor: type) -> bool:
    # A class with hooks of its own in Python may have other memory than its base shows, or none.
    function, dispatch = cls.__torch_function__, cls.__torch_dispatch__
    ordinary = getattr(function, "__func__", function) is getattr(tensor.__torch_function__, "__func__", None)
    return (ordinary or isinstance(function, BuiltinFunctionType)) and isinstance(dispatch, BuiltinFunctionType)


set_array_producers(producer)


def before_use(obj) -> None:
    """Have the kernel about to be launched wait for the work of `obj`'s package on this array of the device."""
    from quadrants.backends import exchange

    exchange.before_use(obj)


def after_use(obj) -> None:
    """Have the work of `obj`'s package wait for the kernel that was launched on this array of the device."""
    from quadrants.backends import exchange

    exchange.after_use(obj)


def dtype_and_ndim(obj, name: str = "") -> tuple:
    """`(DType, number of axes)` of a foreign array. `QuadrantsRuntimeTypeError` for a dtype without counterpart."""
    found, kind = _dtype(obj)
    if found is None:
        raise QuadrantsRuntimeTypeError(
            f"Array argument {name} has dtype {kind}, which kernels do not know; convert it to one of "
            f"{', '.join(dtypes.BY_NUMPY_NAME)} first"
        )
    return found, obj.ndim


def _dtype(obj) -> tuple:
    """(DType or None, how the array calls it)."""
    if not interop_torch.is_tensor(obj):
        found = dtypes.BY_NUMPY_NAME.get(obj.dtype.name) if obj.dtype.isnative else None
        return found, obj.dtype if obj.dtype.isnative else obj.dtype.str
    kind = str(obj.dtype).removeprefix("torch.")
    return dtypes.BY_NUMPY_NAME.get(kind), kind


def token_if_passed(obj) -> int | None:
    """The token of a foreign array; None for one that kernels do not take, which `token` fails for."""
    obj = plain(obj)
    dtype, _ = _dtype(obj)
    return None if dtype is None or _advice_on_strides(obj) else _token(obj, dtype)


def token(obj, name: str = "") -> int:
    """The specialisation token of a foreign array: dtype, number of axes, and whether it brings a gradient.

    Checks contiguity, so that an array which cannot be passed fails before anything is compiled.
    """
    obj = plain(obj)
    dtype, _ = dtype_and_ndim(obj, name)
    _check_contiguous(obj)
    return _token(obj, dtype)


def _token(obj, dtype) -> int:
    if has_grad(obj):
        return intern_token(("external", dtype.name, obj.ndim, "grad"))
    return intern_token(("external", dtype.name, obj.ndim))


def has_grad(obj) -> bool:
    """True for a torch tensor with `requires_grad`."""
    return bool(getattr(obj, "requires_grad", False))


def describe_external(obj: Any, param: str = "", written: bool = True) -> External:
    """Memory of a NumPy array or torch tensor for one launch; `param` is the parameter's name for messages.

    written: whether the kernel may write there: copies are then copied back. `ValueError` for memory that is not
    contiguous, and for read-only memory that is written; `QuadrantsRuntimeTypeError` for an unsupported dtype,
    `QuadrantsRuntimeError` for memory of another device than that of kernels.
    """
    obj = plain(obj)
    dtype, _ = dtype_and_ndim(obj, param)
    _check_contiguous(obj)
    if written:
        _check_writable(obj, param)
    if isinstance(obj, np.ndarray):
        described = _describe_numpy(obj, dtype, written, param)
    elif is_opencl_array(obj):
        described = _describe_opencl(obj, dtype, written, param)
    elif is_cuda_array(obj):
        described = _describe_cuda(obj, dtype, written, param)
    else:
        described = _describe_torch(obj, dtype, written, param)
    count = int(np.prod(described.shape, dtype=np.int64))
    if count > _MAX_INDEX:
        caller.warn(
            f"Array argument {param} has {count} elements; kernels index with 32 bits and cannot reach all of them"
        )
    return placed(described, written)


def plain(obj: Any) -> Any:
    """The very memory of an array whose class may say other things of itself."""
    return np.asarray(obj) if isinstance(obj, np.ndarray) else obj


def _check_writable(obj, param: str) -> None:
    if isinstance(obj, np.ndarray):
        fixed = not obj.flags.writeable
    else:
        fixed = is_cuda_array(obj) and obj.__cuda_array_interface__["data"][1]
    if fixed:
        raise ValueError(
            f"Argument {param} is read-only, and the kernel writes to it; pass a writable array, such as a copy of it"
        )


def placed(described: External, written: bool = True) -> External:
    """The same in memory that kernels see: itself, or a copy on the device that `finish` copies back if `written`."""
    if described.reached:
        return described
    nbytes = _bytes_of(described)
    copy = staging.send(described.pointer, nbytes)
    keepalive = (described.keepalive, copy)
    if not written:
        return described._replace(pointer=copy.buffer.ptr, keepalive=keepalive, reached=True)

    def finish() -> None:
        staging.bring_back(copy, described.pointer, nbytes)
        if described.finish is not None:
            described.finish()

    return described._replace(pointer=copy.buffer.ptr, keepalive=keepalive, finish=finish, reached=True)


def _bytes_of(described: External) -> int:
    return int(np.prod(described.shape, dtype=np.int64)) * PRIMITIVES[described.dtype_name].size


def _copied(made: External, array: object, address: Hashable, *order: Hashable) -> External:
    """`made`, which is a copy of an array, or the copy that another argument of the launch has of that memory."""
    nbytes = _bytes_of(made)
    return copies.one_of((address, nbytes, *order), array, made, nbytes)


def flags_of(obj: Any) -> Any:
    """The ndarray of flags that validation keeps for a foreign array."""
    from quadrants.data import check_flags  # debug mode only

    return check_flags.of_foreign(obj)


def _check_contiguous(obj) -> None:
    advice = _advice_on_strides(obj)
    if advice:
        raise ValueError(f"Non contiguous {advice} before passing it into quadrants kernel.")


def _advice_on_strides(obj) -> str:
    """What to do about an array whose elements do not follow each other; "" where they do."""
    if isinstance(obj, np.ndarray):
        contiguous = obj.flags.c_contiguous or obj.flags.f_contiguous
        return "" if contiguous else "numpy arrays are not supported, please call np.ascontiguousarray(arr)"
    if is_opencl_array(obj):
        return "" if obj.flags.c_contiguous else "arrays are not supported, please make a C-contiguous copy"
    if is_cuda_array(obj):
        contiguous = _is_row_major(obj.__cuda_array_interface__)
        return "" if contiguous else "arrays are not supported, please make a C-contiguous copy"
    return "" if obj.is_contiguous() else "tensors are not supported, please call tensor.contiguous()"


# ---------------------------------------------------------------- NumPy


def _describe_numpy(array: np.ndarray, dtype, written: bool, param: str) -> External:
    reached = not memory.on_device()
    if array.flags.c_contiguous:
        return External(dtype.name, array.shape, _address(array), array, None, reached)
    copy = np.array(array, order="C", copy=True)
    finish = _put_back(array, copy, param) if written else None
    made = External(dtype.name, array.shape, _address(copy), copy, finish, reached)
    return _copied(made, array, ("host", _address(array)), array.shape, array.strides)


def _put_back(array: np.ndarray, copy: np.ndarray, param: str) -> Callable[[], None]:
    """What writes a copy back, unless the array has changed meanwhile: another argument is in the same memory then."""
    before, bits = array.copy(order="K"), f"u{array.itemsize}"

    def finish() -> None:
        if not np.array_equal(array.view(bits), before.view(bits)):
            raise QuadrantsRuntimeError(
                f"Argument {param} is not row by row, so that kernels work on a copy of it, and it shares memory with "
                "another argument that was written, too: what was written here is lost. Pass arrays that share "
                "nothing, such as np.ascontiguousarray(..)."
            )
        np.copyto(array, copy)

    return finish


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


# ---------------------------------------------------------------- torch


def _describe_torch(tensor, dtype, written: bool, param: str) -> External:
    grad = None
    if memory.on_device() and interop_torch.is_elsewhere(tensor.device):
        raise _of_another_device(param, str(tensor.device), tensor.device.index)
    if tensor.requires_grad:
        grad = _describe_plain(_gradient_of(tensor), dtype, True)
    return _describe_plain(tensor, dtype, written)._replace(grad=grad)


def _gradient_of(tensor):
    torch = interop_torch.loaded()
    if tensor.grad is None:
        tensor.grad = torch.zeros_like(tensor)
    if not tensor.grad.is_contiguous():
        raise ValueError(
            "Non contiguous gradient tensors are not supported, please call tensor.grad.contiguous() before passing "
            "it into quadrants kernel."
        )
    return tensor.grad


def _describe_plain(tensor, dtype, written: bool) -> External:
    shape = tuple(tensor.shape)
    on_device = memory.on_device()
    if tensor.data_ptr() == 0 and tensor.numel() and tensor.device.type != "meta":
        raise TypeError(f"a {type(tensor).__name__} without memory cannot be passed to a kernel")
    if tensor.is_neg():
        return _describe_negative(tensor, dtype, written)
    if on_device and interop_torch.is_home(tensor.device):
        return _shared(dtype, shape, tensor.data_ptr(), tensor)
    if tensor.device.type == "cpu":
        return External(dtype.name, shape, tensor.data_ptr(), tensor, None, not on_device)
    host = tensor.detach().cpu()
    finish = _send_back(tensor, host) if written else None
    made = External(dtype.name, shape, host.data_ptr(), host, finish, not on_device)
    return _copied(made, tensor, (str(tensor.device), tensor.data_ptr()))


def _describe_negative(tensor, dtype, written: bool) -> External:
    """A tensor whose memory holds the numbers with the other sign."""
    resolved = tensor.detach().resolve_neg()
    made = _describe_plain(resolved, dtype, written)
    made = made._replace(finish=_chained(made.finish, _send_back(tensor, resolved) if written else None))
    if memory.on_device() and interop_torch.is_home(tensor.device):
        return made
    return _copied(made, tensor, ("negative", str(tensor.device), tensor.data_ptr()))


def _chained(first, then):
    """Both of two calls without arguments; None where there is none."""
    if first is None or then is None:
        return first or then

    def both() -> None:
        first()
        then()

    return both


def _of_another_device(param: str, place: str, number: int) -> QuadrantsRuntimeError:
    kind, home = memory.dlpack_device() or (_CUDA, 0)
    arch = "cuda" if kind == _CUDA else "amdgpu"
    return QuadrantsRuntimeError(
        f"Argument {param} is on {place}, and kernels run on cuda:{home}; copy it to cuda:{home}, or have kernels run "
        f"on cuda:{number} with qd.init(arch=qd.{arch}, device={number})"
    )


def _shared(dtype, shape: tuple, pointer: int, array) -> External:
    """Memory of the device that kernels and the array's package both work on."""
    before_use(array)
    return External(dtype.name, shape, pointer, array, lambda: after_use(array))


def _send_back(tensor, copy):
    def finish() -> None:
        with interop_torch.loaded().no_grad():
            tensor.detach().copy_(copy)

    return finish


# ---------------------------------------------------------------- arrays on CUDA of other packages


def _describe_cuda(array, dtype, written: bool, param: str) -> External:
    interface = array.__cuda_array_interface__
    shape, pointer = tuple(interface["shape"]), interface["data"][0]
    home = memory.dlpack_device() if memory.on_device() else None
    if home is not None and home[0] == _CUDA:
        number = memory.owner(pointer)
        if number not in (-1, home[1]):
            raise _of_another_device(param, f"cuda:{number}", number)
        return _shared(dtype, shape, pointer, array)
    if not (hasattr(array, "get") and hasattr(array, "set")):
        raise TypeError(
            f"kernels of this arch cannot reach a {type(array).__module__}.{type(array).__name__} on a CUDA device; "
            "copy it to a NumPy array first"
        )
    host = np.require(array.get(), requirements=["C", "W", "E"])
    if host.shape != shape or host.dtype != np.dtype(interface["typestr"]):
        raise TypeError(
            f"get() of a {type(array).__module__}.{type(array).__name__} gave {host.dtype} values of shape "
            f"{host.shape}, but it says that it has {interface['typestr']} values of shape {shape}"
        )
    finish = (lambda: array.set(host)) if written else None
    made = External(dtype.name, shape, _address(host), host, finish, not memory.on_device())
    return _copied(made, array, ("cuda", pointer))


def _is_row_major(interface: dict) -> bool:
    steps = interface.get("strides")
    if steps is None or 0 in interface["shape"]:
        return True
    expected = np.dtype(interface["typestr"]).itemsize
    for n, step in zip(reversed(interface["shape"]), reversed(steps), strict=True):
        if n != 1 and step != expected:
            return False
        expected *= n
    return True


# ---------------------------------------------------------------- arrays of pyopencl


def _describe_opencl(array, dtype, written: bool, param: str) -> External:
    """Memory with an address of its own is passed as it is. Buffers have none: they are copied."""
    if array.queue is None:
        raise ValueError(
            f"Argument {param} is an array of pyopencl without a queue, which says when its values are there; pass "
            f"{param}.with_queue(queue)"
        )
    shape = tuple(array.shape)
    memory_of = memory.borrowed(array)
    if memory_of is not None:
        made = _shared(dtype, shape, memory_of.address + array.offset, array)
        return made._replace(keepalive=(array, memory_of))
    whole = _addressable(array)
    host = whole.get()
    finish = (lambda: whole.set(host)) if written else None
    made = External(dtype.name, shape, _address(host), host, finish, not memory.on_device())
    return _copied(made, array, _place_of(array))


def _place_of(array) -> Hashable:
    """What tells where the memory of an array begins from other places, while it is kept."""
    owner = array.base_data
    address = getattr(owner, "svm_ptr", None)
    if address is not None:
        return "shared", address + array.offset
    # A region of a buffer is an object of its own.
    whole = getattr(owner, "associated_memobject", None)
    handle = getattr(whole or owner, "int_ptr", 0)
    return "buffer", handle, array.offset + (owner.offset if whole else 0)


def _addressable(array):
    """The same array with memory of which a part can be copied: of shared memory it cannot, but as a buffer."""
    shared = array.base_data
    if not hasattr(shared, "as_buffer") or (array.offset == 0 and array.nbytes == shared.size):
        return array
    buffer = shared.as_buffer(array.context)
    return type(array)(array.queue, array.shape, array.dtype, data=buffer, offset=array.offset, events=array.events)
