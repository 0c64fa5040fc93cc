"""The ranks of a program, and what they do together."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import numpy as np

from quadrants.distributed import agreement, reductions
from quadrants.distributed.engines.interface import OPERATIONS, Engine
from quadrants.tapes import recording


class World:
    """All ranks of the program, as this one sees them. `qdist.init` makes it.

        world = qdist.init(arch=qd.cpu)
        total = world.sum(float(world.rank))

    Attributes: `rank` of `size`, counted from 0; `local_rank` of `local_size` on this host; `host`, its name; `engine`,
    what carries the data; `seed`, the `random_seed` that was asked for.
    """

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine = engine
        self.seed = seed
        self.host = socket.gethostname()
        self.rank, self.size = engine.rank, engine.size
        self.local_rank, self.local_size = engine.local_rank, engine.local_size
        self._grids = 0

    def __repr__(self) -> str:
        return f"<rank {self.rank} of {self.size}, engine {self.engine.name}>"

    def allreduce(self, x: Any, op: str = "sum") -> Any:
        """Combine `x` over all ranks; every rank gets the result, and every rank has to call it.

        x: an int or float, of which the combined number is returned, integers of any size exactly; a NumPy array, of
        which a combined copy is returned; or a field, ndarray or tensor, which is overwritten and returned. op: "sum",
        "min", "max" or "prod". Integers of arrays wrap as NumPy's; of arrays of truth values the sum is or and the
        product and, while True and False are the ints 1 and 0. NaN of any rank is NaN.

        Shapes, dtypes and `op` are those of all ranks. With `debug=True` they are compared, and where they differ all
        ranks raise a QuadrantsRuntimeError with both sides; else the result may be wrong, or ranks may wait for ever.
        TypeError for lists, complex numbers and the like.

        The order of a sum is fixed for a number of ranks; with another number, the last bits may differ. In a tape the
        gradient of a field or ndarray is summed over the ranks, as kernels of all ranks use the result; of a minimum or
        maximum it goes to the rank that has it, the first one of several. A product of an array with gradients is a
        QuadrantsRuntimeError there. A loss that is a sum over ranks is summed after the tape.

            energy = world.allreduce(1.5)
        """
        if op not in OPERATIONS:
            raise ValueError(f"op={op!r} is not an operation; write one of {', '.join(map(repr, OPERATIONS))}")
        return reductions.allreduce(self.engine, x, op)

    def sum(self, x: Any) -> Any:
        """`allreduce(x, "sum")`: the sum of what a kernel returned on each rank, say.

        total = world.sum(1.0)
        """
        return self.allreduce(x, "sum")

    def first(self, kernel: Any, *args: Any) -> Any:
        """`kernel(*args)` on the first rank of each host, and once it has ended there, on the others.

        Every rank calls it. The first one compiles the kernel, and the others of the host find it in the disk cache,
        which they share: for the first launch of a kernel that takes long to compile. Returns what the kernel returns.
        An error of one rank is that of all; where it fails on a first rank, it is not called on others.

            total = world.first(max, 1, 2)
        """
        early = self.local_rank == 0
        with agreement.together(self.engine):
            result = kernel(*args) if early else None
        with agreement.together(self.engine):
            return result if early else kernel(*args)

    def record(self, function: Callable[[], object]) -> Callable[[], object]:
        """Call `function`, and return what does the same again: for steps of kernels and exchanges that are too short
        for the host to keep up with. Every rank calls it, and what it returns as often as the others.

        Where NCCL carries arrays by way of CuPy, the function is called a second time, of which a device records what
        is launched and exchanged and does nothing; what is returned launches that as one graph, with the arrays and
        numbers of that time, which have to live as long. So the function has to do the same each time: two steps where
        arrays change places. Elsewhere, in tapes and with `debug=True`, what is returned calls the function.

        A QuadrantsRuntimeError for what needs the host: kernels that return values, print, draw random numbers, have
        stacks, loops of `qd.graph.do_while` or arguments of the host; copies to and from it; sums of Python numbers,
        `gather` and `migrate`. What is exchanged with `wait=False` has to be waited for in the function.

            again = world.record(lambda: print("a step"))
            again()
        """
        record = getattr(self.engine, "record", None)
        if record is None or agreement.in_debug() or recording.active() is not None:
            function()
            return function
        again: Callable[[], object] = record(function)
        # A tape hears launches, of which a graph has none.
        return lambda: again() if recording.active() is None else function()

    def barrier(self) -> None:
        """Wait until every rank is here.

        world.barrier()
        """
        self.engine.barrier()

    def bcast(self, value: Any, root: int = 0) -> Any:
        """The object of rank `root`, on every rank.

        `root` is that of all ranks: with `debug=True` a QuadrantsRuntimeError where it differs, also of `gather`.
        ValueError for what is no rank.

            name = world.bcast("run 7")
        """
        self._check_root("bcast", root)
        return self.engine.bcast(value, root)

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """The objects of all ranks, in their order, on rank `root`; None on the others.

        hosts = world.gather(world.host)
        """
        self._check_root("gather", root)
        return self.engine.gather(value, root)

    def _check_root(self, what: str, root: int) -> None:
        if agreement.in_debug():
            agreement.agree(self.engine, f"{what} by the same rank", f"{what} with root={root!r}")
        if not hasattr(root, "__index__") or not 0 <= root < self.size:
            raise ValueError(f"{what} with root={root!r}: ranks are whole numbers from 0 to {self.size - 1}")

    def allgather(self, value: Any) -> list[Any]:
        """The objects of all ranks, in their order, on every rank.

        hosts = world.allgather(world.host)
        """
        return self.engine.allgather(value)

    def rng(self) -> np.random.Generator:
        """A new generator of NumPy for this rank: its numbers follow from `random_seed` and the rank.

        noise = world.rng().normal(size=3)
        """
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.rank,)))

    def abort(self, code: int = 1) -> None:
        """End all ranks at once.

        give_up = world.abort
        """
        self.engine.abort(code)

    def count_grid(self) -> int:
        """The number of a new grid: ranks count alike, as they make the same grids.

        number = world.count_grid()
        """
        self._grids += 1
        return self._grids - 1
