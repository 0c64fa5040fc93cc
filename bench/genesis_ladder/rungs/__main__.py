"""Runs one rung in this process: `python -m rungs RUNG`, from the folder above. The last line is JSON."""

from __future__ import annotations

import importlib
import json
import sys
import time

from .ladder import RUNGS


def main(name: str) -> None:
    rung = RUNGS[name]
    from . import kit

    kit.init()
    function = getattr(importlib.import_module(f".{rung.module}", __package__), rung.function)
    started, cpu = time.perf_counter(), kit.cpu_seconds()
    function(*rung.args)
    kit.record.seconds["scene"] = time.perf_counter() - started
    kit.record.cpu["scene"] = kit.cpu_seconds() - cpu
    print(json.dumps(kit.record.as_dict()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
