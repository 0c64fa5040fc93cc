"""Exchange with torch. torch is imported only when a caller asks for a tensor or hands one over."""

from __future__ import annotations

import sys

from quadrants.data import dlpack, dtypes, memory


def loaded():
    """The torch module if the program has imported it, else None. Never imports it."""
    return sys.modules.get("torch")


def is_tensor(obj) -> bool:
    """True for a torch tensor; costs nothing in programs without torch."""
    # While torch is being imported it has no Tensor yet; nothing can be one then.
    kind = getattr(loaded(), "Tensor", None)
    return kind is not None and isinstance(obj, kind)


def home():
    """torch's name for the device where the data is; None if this torch cannot see it. Needs torch to be loaded."""
    place = memory.dlpack_device()
    torch = loaded()
    if place is None:
        return None
    kind, number = place
    if kind == 1:
        return torch.device("cpu")
    if (kind == 10) != (torch.version.hip is not None) or kind not in (2, 10):
        return None
    return torch.device("cuda", number) if torch.cuda.is_available() else None


def is_home(device) -> bool:
    """True if a tensor on this torch device lies where kernels of the runtime in force reach it."""
    mine = home()
    return mine is not None and _same(device, mine)


def is_elsewhere(device) -> bool:
    """True if a tensor on this torch device lies on another device of the kind that kernels run on."""
    mine = home()
    return mine is not None and mine.type == device.type and not _same(device, mine)


def _same(device, mine) -> bool:
    # A device without number stands for any of its type.
    return device.type == mine.type and (device.index is None or mine.index is None or device.index == mine.index)


def export(container, shaped, device, copy):
    """The content of `container` as a tensor on `device`. None: for a copy torch's default device, the CPU unless a
    program chose another one; for a view where the data is.

    `shaped` gives arrays and tensors of canonical shape the extents that the caller asked for; `copy` as in `to_numpy`.
    """
    import torch

    if copy not in (True, False, None):
        raise ValueError(f"copy must be True, False or None, not {copy!r}")
    container._check_usable()
    if not memory.is_device(container._memory()):
        return _export_host(torch, container, shaped, device, copy)
    mine = home()
    reason = container._no_view_reason() if mine is not None else "torch cannot see the memory of this arch"
    target = _target(torch, device, mine if copy is not True and reason is None else None)
    here = mine is not None and _same(target, mine)
    if copy is False:
        if reason is not None:
            raise ValueError(f"Zero-copy not available for dtype={container.dtype}: {reason}; pass copy=True")
        if not here:
            raise ValueError(f"copy=False is incompatible with device transfer ({mine} -> {target})")
    if reason is None and here and copy is not True:
        container._expose()
        return shaped(_view(container))
    if mine is not None and target.type != "cpu" and container._strided() is not None:
        memory.synchronize()
        made = shaped(_view(container)).to(target, memory_format=torch.contiguous_format, copy=True)
        _wait(torch, mine)
        return made
    return torch.from_numpy(shaped(container._to_numpy(None, True))).to(target)


def _target(torch, device, place):
    """The device that a tensor is wanted on: `device`, or where there is none `place`, or what is usual."""
    if device is not None:
        return torch.device(device)
    return place if place is not None else torch.empty(0).device


def _export_host(torch, container, shaped, device, copy):
    target = _target(torch, device, None if copy is True else torch.device("cpu"))
    if target.type != "cpu" and copy is False:
        raise ValueError(f"copy=False is incompatible with device transfer (cpu -> {target})")
    tensor = torch.from_numpy(shaped(container._to_numpy(None, copy)))
    return tensor if target.type == "cpu" else tensor.to(target)


def _view(container):
    """A tensor that shares the memory of a container whose storage is one strided array."""
    return loaded().utils.dlpack.from_dlpack(dlpack.capsule(container._strided(), False))


def _wait(torch, device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def store(container, tensor) -> None:
    """Take over the values of a tensor: on the device where both are there, else through the host."""
    if not is_tensor(tensor):
        raise TypeError(f"a torch.Tensor is expected, not {type(tensor)}")
    container._check_usable()
    if not memory.is_device(container._memory()) or not is_home(tensor.device):
        container.from_numpy(to_numpy(tensor))
        return
    _check_dtype(tensor)
    source = container._check_import(tensor.detach())
    if container._strided() is None:
        container._store_all(to_numpy(source))
        return
    memory.synchronize()
    view = _view(container)
    view.copy_(source)
    _wait(loaded(), tensor.device)
    container._written()


def to_numpy(tensor):
    """The values of a tensor as an array, also of one that shows its memory negated or conjugated."""
    return tensor.detach().resolve_neg().resolve_conj().cpu().numpy()


def _check_dtype(tensor) -> None:
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in dtypes.BY_NUMPY_NAME:
        raise TypeError(
            f"torch dtype {name} has no Quadrants counterpart; convert the tensor with .to() to one of "
            f"{sorted(dtypes.BY_NUMPY_NAME)}"
        )
