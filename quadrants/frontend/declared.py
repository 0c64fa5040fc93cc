"""What a trace has declared for the module: arrays, and what a launch hands over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quadrants.ir.nodes import ArrayDecl, Var
from quadrants.lang.value import Value


@dataclass(slots=True, eq=False, repr=False)
class Bound:
    """One thing a launch hands to the kernel: where it comes from and what receives it.

    kind: 'array' (target is an ArrayDecl), 'grad' (the same, for the gradient of the foreign array at `source`),
    'flags' (for its flags), 'view' (target is a ViewRef), 'token' (nothing is passed: the token of the object must
    match), or what is passed by value (target is a Var): 'scalar', or the slot of a kind of arguments.
    """

    source: tuple
    kind: str
    target: Any = None

    @property
    def variables(self) -> tuple:
        """The variables that a launch fills."""
        if self.kind == "view":
            return self.target.variables
        return (self.target,) if isinstance(self.target, Var) else ()


class Declared:
    """Declarations made so far. A source is (parameter number, attribute path).

    arrays: of the module, by number. fields: id of a field -> (field, its declaration). bindings: what a launch hands
    over, in order. bound: source -> what stands for it in the kernel.
    attributes: sources that were read off template objects, in order. selecting: those of them by which launches
    choose the specialisation. parameter_variables: ids of variables that hold arguments of funcs. prints: whether
    the kernel prints. on_nodes: whether it loops over nodes of trees, or asks for their cells.
    """

    __slots__ = (
        "arrays", "fields", "bindings", "bound", "attributes", "selecting",
        "parameter_variables", "prints", "on_nodes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.arrays: list[ArrayDecl] = []
        self.fields: dict[int, tuple[Any, ArrayDecl]] = {}
        self.bindings: list[Bound] = []
        self.bound: dict[tuple, Any] = {}
        self.attributes: dict[tuple, None] = {}
        self.selecting: set[tuple] = set()
        self.parameter_variables: set[int] = set()
        self.prints = False
        self.on_nodes = False

    def add_array(self, decl: ArrayDecl) -> None:
        """Number an array of the module; one whose components have arrays of their own is none."""
        if decl.components is None:
            decl.number = len(self.arrays)
            self.arrays.append(decl)

    def bind_source(self, source: tuple, kind: str, target: Any = None) -> None:
        """Have every launch hand what is found at `source` to `target`."""
        self.bindings.append(Bound(source, kind, target))

    def holding_argument(self, variable: Value) -> Value:
        """Note that a variable of the kernel holds the argument of a func."""
        self.parameter_variables.add(variable.place.var.id)
        return variable

    def parameters(self) -> list[Var]:
        """The variables that a launch fills, in order."""
        return [v for b in self.bindings for v in b.variables]
