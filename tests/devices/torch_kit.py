"""torch, and subclasses of its tensors."""

import pytest

torch = pytest.importorskip("torch", reason="needs the package torch")


class Tensor(torch.Tensor):
    """An ordinary subclass."""


class Function(torch.Tensor):
    """A subclass that sees what is done with it."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})
