"""What a statement can see and may touch."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field

from .types import Container, Own, Type, Var


@dataclass
class Scope:
    """`readable`, `writable`: containers that any index may touch; `own`: cells of a parallel iteration.

    `atomic`: {container: operation} of a parallel loop; `reduced`: {variable: operation} that it adds up.
    """

    readable: list = field(default_factory=list)
    writable: list = field(default_factory=list)
    own: list[Own] = field(default_factory=list)
    atomic: dict[Container, str] = field(default_factory=dict)
    reduced: dict[str, str] = field(default_factory=dict)
    variables: list[Var] = field(default_factory=list)
    statics: list[Var] = field(default_factory=list)
    funcs: list = field(default_factory=list)
    approximate: list[Own] = field(default_factory=list)  # cells for results that are compared with a tolerance
    parallel: bool = False  # inside of a parallel loop
    top: bool = False  # loops here are parallel
    loop: bool = False  # break and continue are possible
    own_loop: bool = False  # the innermost loop is the parallel one
    prints: bool = False
    level: int = 0
    anywhere: bool = False  # return is possible
    results: list = field(default_factory=list)
    indices: list[Var] = field(default_factory=list)  # targets of the loops around

    @contextmanager
    def block(self, draw, **changes):
        """A block of its own: names declared in it end with it."""
        kept = {name: getattr(self, name) for name in changes}
        visible = list(self.variables)
        taken = set(draw.taken)
        self.__dict__.update(changes)
        self.level += 1
        yield self
        self.level -= 1
        self.variables = visible
        draw.taken = taken
        self.__dict__.update(kept)

    def values(self, test) -> list[Var]:
        """Variables that may be read, whose type passes a test."""
        return [v for v in self.variables if isinstance(v.type, Type) and v.name not in self.reduced and test(v.type)]

    def targets(self, test) -> list[Var]:
        """Variables that may be assigned."""
        return [
            v
            for v in self.variables
            if v.writable and isinstance(v.type, Type) and test(v.type) and not (self.parallel and v.level == 0)
        ]
