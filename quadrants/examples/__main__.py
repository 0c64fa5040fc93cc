"""Command line of the examples."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from ._catalogue import describe, names
from ._run import Run

_ARCHES = ("cpu", "gpu", "cuda", "amdgpu", "vulkan", "metal", "opencl")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m quadrants.examples", description="Run an example program.")
    p.add_argument("name", nargs="?", metavar="NAME", help="which example; leave it out for a list")
    p.add_argument("--frames", type=int, help="number of frames (each example has its own default)")
    p.add_argument("--out", type=Path, default=Path("."), help="folder for pictures (default: the current one)")
    p.add_argument("--arch", choices=_ARCHES, default="cpu", help="where to run (default: cpu)")
    p.add_argument("--quality", choices=("small", "large"), default="small", help="problem size")
    p.add_argument("--no-picture", dest="picture", action="store_false", help="write no pictures")
    return p


def catalogue() -> str:
    width = max(map(len, names()))
    lines = [f"  {name:<{width}}  {describe(name)}" for name in names()]
    return "\n".join(["Examples (python -m quadrants.examples NAME --help shows the options):", *lines])


def main(argv: list[str] | None = None) -> int:
    p = parser()
    options = p.parse_args(argv)
    if options.name is None:
        print(catalogue())
        return 0
    if options.name not in names():
        p.error(f"there is no example {options.name!r}; the examples are {', '.join(names())}")
    if options.frames is not None and options.frames < 1:
        p.error(f"--frames must be at least 1, got {options.frames}")

    import quadrants as qd
    from quadrants import launched

    arch = getattr(qd, options.arch, None)
    if arch is None:
        p.error(f"this version has no arch {options.arch!r}")
    qd.init(arch=arch, random_seed=1)
    run = Run(options.name, frames=options.frames, out=options.out, large=options.quality == "large",
              picture=options.picture)  # fmt: skip
    importlib.import_module(f".{options.name}", __package__).main(run)
    if launched.is_first():  # of several ranks
        run.report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
