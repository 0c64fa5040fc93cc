"""Rank 1 fails in the way that the first argument names, while the others wait for it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np
from on_ranks import hide

import quadrants as qd
from quadrants import distributed as qdist


def deep(n: int):
    return deep(n - 1) if n % 2 else 1 // 0 if n == 0 else deeper(n)


def deeper(n: int):
    return deep(n - 1)


@qd.kernel
def asserts(n: qd.i32):
    for i in range(n):
        assert i < 3, "too far"


def caught_exit():
    try:
        sys.exit(4)
    except SystemExit:
        pass


def in_thread():
    thread = threading.Thread(target=deep, args=(3,))
    thread.start()
    thread.join()
    time.sleep(30)


def send(cells: int):
    """Ranks that disagree about a message, without a comparison before."""

    def move():
        peer = 1 - world.rank
        found = cells if world.rank == 1 else 50
        world.engine.exchange([(peer, np.ones(found), np.ones(50))])

    return move


def known(dtype, cells: int):
    """Rank 1 exchanges a new array, and compares, where rank 0 has one that it exchanged before, and sends values."""

    def exchange():
        grid = qdist.Grid((4 * world.size, cells), (1, 0), periodic=(True, False), dims=(world.size, 1))
        kept, new = grid.ndarray(dtype), grid.ndarray(dtype)
        grid.exchange_halo(kept)
        grid.exchange_halo(new if world.rank == 1 else kept)

    return exchange


def absent():
    """Rank 0 is at an exchange between devices to which this one does not come."""
    time.sleep(60)


WAYS = {
    "absent": absent,
    "exception": lambda: deep(40),
    "assertion": lambda: (asserts(5), qd.sync()),
    "exit": lambda: sys.exit(3),
    "exit_text": lambda: sys.exit("no such file"),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "more": send(100),
    "fewer": send(25),
    "known_fewer": known(qd.f32, 3),
    "known_as_many": known(qd.i8, 1021),
    "known_more": known(qd.f64, 4000),
    "sum": lambda: world.sum(np.ones(3 + world.rank)),
    "thread": in_thread,
    "silent": lambda: time.sleep(60),
    "caught": caught_exit,
    "well": lambda: sys.exit(0),
}
way = sys.argv[1]
hide()
arch = getattr(qd, os.environ.get("QD_RANKS_ARCH", "cpu"))
# Where devices carry values and hosts compare, ranks that disagree wait for each other.
waits = way in ("silent", "absent") or (way.startswith("known") and arch == qd.cuda)
world = qdist.init(arch=arch, debug=way == "assertion", timeout=4 if waits else 60)
world.barrier()
if way == "absent":
    grid = qdist.Grid((64, 64))
    shared = grid.ndarray(qd.f32)
    grid.exchange_halo(shared)
    qd.sync()
    if world.rank == 0:
        grid.exchange_halo(shared)
        qd.sync()
if world.rank == 1 or way in ("more", "fewer", "sum") or way.startswith("known"):
    print(f"fails at {time.time()}", flush=True)
    WAYS[way]()
if way != "well":
    world.barrier()
print(f"rank {world.rank} is done", flush=True)
