"""What a tape needs of a loss, for each kind of container: fields, ndarrays, torch tensors."""

from __future__ import annotations

import math
import sys

from quadrants.data.field import Field
from quadrants.data.ndarray import Ndarray
from quadrants.data.struct_field import StructField
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.types import f64


class FieldLoss:
    """A field of shape `()`."""

    def __init__(self, field: Field):
        self.field = field

    def check(self) -> None:
        """`RuntimeError` for a field that has no shape `()` or no gradient."""
        if isinstance(self.field, StructField) or self.field.shape != ():
            found = "of structs" if isinstance(self.field, StructField) else f"of shape {self.field.shape}"
            raise QuadrantsRuntimeError(
                f"The loss of `Tape` must be a 0-D field, i.e. scalar: qd.field(qd.f32, shape=(), needs_grad=True), "
                f"not one {found}. An ndarray or torch tensor of one element may have any shape."
            )
        if not self.field.has_grad():
            raise QuadrantsRuntimeError(
                "Gradients of loss are not allocated, please use qd.field(..., needs_grad=True) for the loss and for "
                "all fields that the gradient goes through."
            )

    def zero(self) -> None:
        """Set the loss to 0."""
        self.field.fill(0)

    def seed(self) -> None:
        """Set the adjoint to 1."""
        self.field.grad.fill(1)

    def value(self) -> float:
        """The loss; the sum of the components of a vector or matrix."""
        return float(self.field.to_numpy().sum())

    @property
    def is_f64(self) -> bool:
        return self.field.dtype == f64


class NdarrayLoss(FieldLoss):
    """An ndarray of one element."""

    def check(self) -> None:
        """`RuntimeError` for an ndarray that has more than one element or no gradient."""
        self.field._check_usable()
        if math.prod(self.field.shape) != 1:
            raise QuadrantsRuntimeError("The loss of `Tape` must be an ndarray with only one element")
        if not self.field.has_grad():
            raise QuadrantsRuntimeError(
                "Gradients of loss are not allocated, please set needs_grad=True for the loss and for all ndarrays "
                "that the gradient goes through."
            )


class TorchLoss:
    """A torch tensor of one element that requires a gradient."""

    def __init__(self, tensor):
        self.tensor = tensor

    def check(self) -> None:
        """`RuntimeError` for a tensor that has more than one element or requires no gradient."""
        if self.tensor.numel() != 1:
            raise QuadrantsRuntimeError("The loss of `Tape` must be a tensor only contains one element")
        if not self.tensor.requires_grad:
            raise QuadrantsRuntimeError(
                "Gradients of loss are not allocated, please set requires_grad=True for the loss and for all tensors "
                "that the gradient goes through."
            )

    def zero(self) -> None:
        """Set the loss to 0."""
        self.tensor.detach().zero_()

    def seed(self) -> None:
        """Set the adjoint to 1, making it where there is none."""
        if self.tensor.grad is None:
            self.tensor.grad = sys.modules["torch"].ones_like(self.tensor.detach())
        else:
            self.tensor.grad.fill_(1)

    def value(self) -> float:
        """The loss."""
        return float(self.tensor.detach())

    @property
    def is_f64(self) -> bool:
        return self.tensor.dtype == sys.modules["torch"].float64


def loss_of(obj):
    """The loss behind a field, an ndarray, a `qd.Tensor` or a torch tensor. `RuntimeError` for anything else."""
    inner = obj._unwrap() if hasattr(obj, "_unwrap") else obj
    if isinstance(inner, Ndarray):
        return NdarrayLoss(inner)
    if isinstance(inner, Field):
        return FieldLoss(inner)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(inner, torch.Tensor):
        return TorchLoss(inner)
    if obj is None:
        raise QuadrantsRuntimeError("A tape needs a loss to start from: qd.ad.Tape(loss=field)")
    raise QuadrantsRuntimeError(
        "The loss of `Tape` must be a 0-D field, an ndarray with only one element or a torch tensor, "
        f"not {type(obj).__module__}.{type(obj).__name__}"
    )
