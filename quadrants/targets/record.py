"""The record of a target."""

from typing import NamedTuple


class Target(NamedTuple):
    """archs: names of `quadrants.arch` that it stands for. dialect: the language of its kernels, "" for none.
    language: how dumps call it, as in QD_DUMP_<language>; suffix: of files with its text. printing: module with the
    record DIALECT by which `quadrants.emit` prints it, "" as long as nothing does.

    compiler: module of `quadrants.toolchain` that makes binaries of its text; binaries: their suffixes, each behind the
    beginning of the names of the chips that they are for.

    backend: module that runs its kernels and registers with `quadrants.backends.registry`, "" as long as none does; its
    function `probe` tells whether that is possible here. extensions: names of `qd.extension` that it has.
    host_memory: kernels see the memory of the host; then their threads have no lanes and no shared memory.

    subgroup: threads that exchange values without a barrier; 0: none do, None: the device says. progress: a block that
    has begun goes on while others wait for it, however many there are. block_threads: the most
    of a block, None where there is no such limit. warps: `qd.simt.warp` works. block_votes: a barrier of the block
    counts votes; else shared memory does. shared_bytes: memory that every device has for a block, None where only the
    device knows. most_shared_bytes: the most that a block may ask for at a launch.
    graphs: tasks can be described to the driver once and launched as one, loops around them too.
    emulated_capability: what the emulator says where it is asked for the compute capability of a device.
    """

    archs: tuple[str, ...]
    dialect: str = ""
    language: str = ""
    suffix: str = ""
    printing: str = ""
    compiler: str = ""
    binaries: tuple[tuple[str, str], ...] = ()
    backend: str = ""
    extensions: tuple[str, ...] = ()
    host_memory: bool = False
    subgroup: int | None = None
    progress: bool = False
    shared_bytes: int | None = None
    most_shared_bytes: int = 0
    block_threads: int | None = None
    warps: bool = False
    block_votes: bool = True
    graphs: bool = False
    emulated_capability: int = 0
