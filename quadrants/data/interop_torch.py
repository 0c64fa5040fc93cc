"""Exchange with torch. torch is imported only when a caller asks for a tensor or hands one over."""

from __future__ import annotations

import sys

import numpy as np


def loaded():
    """The torch module if the program has imported it, else None. Never imports it."""
    return sys.modules.get("torch")


def is_tensor(obj) -> bool:
    """True for a torch tensor; costs nothing in programs without torch."""
    # While torch is being imported it has no Tensor yet; nothing can be one then.
    kind = getattr(loaded(), "Tensor", None)
    return kind is not None and isinstance(obj, kind)


def export(take, device, copy):
    """A tensor of what `take(copy)` gives as a NumPy array, moved to `device`."""
    import torch

    target = torch.device("cpu" if device is None else device)
    if target.type != "cpu" and copy is False:
        raise ValueError(f"copy=False is incompatible with device transfer (cpu -> {target})")
    tensor = torch.from_numpy(take(copy))
    return tensor if target.type == "cpu" else tensor.to(target)


def to_host_array(tensor) -> np.ndarray:
    """The values of a tensor as a NumPy array. `TypeError` for other objects and unsupported dtypes."""
    if not is_tensor(tensor):
        raise TypeError(f"a torch.Tensor is expected, not {type(tensor)}")
    return tensor.detach().cpu().numpy()
