"""Run one program under one package and write its result as JSON to a file.

    python harness.py PACKAGE PROGRAM OUTPUT ARCH [--beyond]

The process is the isolation: a program that crashes its package ends here and nowhere else. `run_program` starts it.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent


def program_names() -> list[str]:
    """The names of all programs, in order."""
    return sorted(path.stem for path in (HERE / "programs").glob("p[0-9][0-9]_*.py"))


def path_that_runs(code: str, folder: Path) -> str:
    """A search path on which each process begins with that code. It may import the package and the modules of tests;
    folder: an empty one."""
    (folder / "sitecustomize.py").write_text(code)
    return os.pathsep.join((str(folder), str(HERE.parent.parent), str(HERE.parent)))


def run_program(
    python: str,
    package: str,
    name: str,
    *,
    beyond: bool,
    arch: str = "cpu",
    extra_path: str | None = None,
    timeout: float = 300.0,
) -> dict:
    """Run `name` under `package` as seen by `python`: encoded {"version", "results", "beyond", "messages"}.

    With `beyond` the program is also asked for what the reference cannot do, but ours must.
    Raises RuntimeError with the end of the program's stderr if the process fails.
    """
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONWARNINGS")}
    environment["QD_LOG_LEVEL"] = "error"
    if extra_path is not None:
        environment["PYTHONPATH"] = extra_path
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        process = subprocess.run(
            [python, str(HERE / "harness.py"), package, name, str(output), arch, *(["--beyond"] if beyond else [])],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if process.returncode or not output.exists():
            raise RuntimeError(f"{name} under {package}: status {process.returncode}\n{process.stderr[-4000:]}")
        return json.loads(output.read_text())


def load(name: str):
    """The module of a program."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    return importlib.import_module(f"programs.{name}")


def main() -> None:
    """Run the program named on the command line."""
    package, name, output, arch, *options = sys.argv[1:]
    qd = importlib.import_module(package)
    program = load(name)
    import kit
    from kit import encode, messages

    kit.arch = arch
    kit.start(qd, enable_fallback=False, **getattr(program, "INIT", {}))
    result = {"version": ".".join(map(str, qd.__version__)), "results": {}, "beyond": {}}
    try:
        result["results"] = encode(program.run(qd))
        if "--beyond" in options and hasattr(program, "beyond"):
            result["beyond"] = encode(program.beyond(qd))
    except Exception as error:
        # Only the lines of the program: what is below them belongs to the package and is not the program's business.
        lines = [
            f"{f.filename}:{f.lineno}: {f.line}"
            for f in traceback.extract_tb(error.__traceback__)
            if name in f.filename
        ]
        sys.exit("\n".join([*lines, f"{type(error).__name__}: {str(error)[-1500:]}"]))
    Path(output).write_text(json.dumps(result | {"messages": messages}))


if __name__ == "__main__":
    main()
