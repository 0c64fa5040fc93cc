"""`python -m quadrants cache info|clear [--path FOLDER]`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from quadrants.config import default_cache_path
from quadrants.toolchain.cache import DiskCache
from quadrants.toolchain.compiler import own_store


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m quadrants cache", description="The folder of compiled kernels (see qd.init(offline_cache=...))."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="info|clear")
    for name, summary in (("info", "say where it is and what it holds"), ("clear", "remove every compiled kernel")):
        action = actions.add_parser(name, help=summary, description=summary)
        action.add_argument("--path", help="the folder, if it is not the default or QD_OFFLINE_CACHE_FILE_PATH")
    arguments = parser.parse_args(argv)
    cache = DiskCache(arguments.path or default_folder())
    return _info(cache) if arguments.action == "info" else _clear(cache, () if arguments.path else (own_store(),))


def default_folder() -> str:
    """The folder that `qd.init()` would use."""
    return os.environ.get("QD_OFFLINE_CACHE_FILE_PATH") or default_cache_path()


def size(count: int) -> str:
    """A number of bytes, for a reader."""
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _info(cache: DiskCache) -> int:
    info = cache.info()
    if not info.root:
        print("folder   none: this user has no home folder; set HOME, or name a folder with --path")
        return 0
    print(f"folder   {info.root}" + ("" if os.path.isdir(info.root) else " (does not exist yet)"))
    print(f"entries  {info.entries}")
    print(f"size     {size(info.bytes)}")
    for version, count in sorted(info.versions.items()):
        print(f"         {count} of version {version}")
    return 0


def _clear(cache: DiskCache, more: Sequence[DiskCache]) -> int:
    before = cache.info()
    removed = cache.clear()
    for other in more:
        other.clear()
    after = cache.info()
    if not before.root:
        return _info(cache)
    print(f"Removed {removed} entries ({size(before.bytes - after.bytes)}) from {before.root}")
    if after.entries:
        print(f"{after.entries} entries could not be removed: they may belong to another user")
        return 1
    return 0
