"""Runs the tests of a program on every rank: functions `test_..(world)`, in order, one after the other."""

from __future__ import annotations

import os
import sys
import time

import quadrants as qd
from quadrants import distributed as qdist
from quadrants.distributed.engines.single import Single
from quadrants.distributed.world import World


def main(names: dict, **options) -> None:
    """Each test of the module; rank 0 prints the names of those that passed on all ranks. A failure ends the job.

    QD_RANKS_ARCH: the arch, cpu unless it is there.
    """
    hide()
    world = qdist.init(arch=getattr(qd, os.environ.get("QD_RANKS_ARCH", "cpu")), random_seed=7, **options)
    only = sys.argv[1:]
    for name, function in list(names.items()):
        if name.startswith("test_") and (not only or name in only):
            start = time.perf_counter()
            function(world)
            patient_barrier(world)
            if world.rank == 0:
                print(f"passed {name} ({time.perf_counter() - start:.2f} s)", flush=True)


def hide() -> None:
    """QD_RANKS_WITHOUT: a package that cannot be imported."""
    if missing := os.environ.get("QD_RANKS_WITHOUT"):
        sys.modules[missing] = None


def patient_barrier(world) -> None:
    """A barrier that leaves the processor to ranks that still work; MPI's own waits with full speed."""
    if world.engine.name != "mpi4py":
        world.barrier()
        return
    request = world.engine._comm.Ibarrier()
    while not request.Test():
        time.sleep(0.002)


def solo(world) -> World:
    """This rank alone, which does the work of all: what results are compared with."""
    return World(Single(), world.seed)


def refused(kind, words: str, function) -> None:
    """AssertionError unless the function raises that error with these words."""
    try:
        function()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")
