"""The Python environment of each package under measurement, from the package index or from a folder of wheels."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
ENVS = ROOT / ".bench-envs"


class BenchError(Exception):
    """Something of the bench, not of a case, failed; the text says what to do."""


@dataclass(frozen=True)
class Subject:
    """What is measured: how it is called in the report, what to import, and with which interpreter.

    `ceiling`: the name of the ceiling that this subject measures in place of a case, or None. `root`: the checkout that
    is imported, where the interpreter alone does not decide it. `arch`: where its kernels run; None: as the run says.
    """

    label: str
    module: str
    python: Path
    ours: bool
    ceiling: str | None = None
    root: Path | None = None
    arch: str | None = None


def _call(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if result.returncode:
        raise BenchError(f"{' '.join(command)} failed:\n{result.stderr.strip()}")


def _make(name: str, python: str, needs: tuple[str, ...], wheels: Path | None) -> Path:
    """The interpreter of the environment `name`, which is made on the first use by pip's arguments `needs`.

    Without `wheels`, an environment of its own, filled from the package index. With `wheels`, nothing is fetched: the
    environment sees the packages of `python` too, and what `needs` asks for beyond them comes from that folder.
    """
    folder = ENVS / name
    interpreter = folder / "bin" / "python"
    done = folder / ".installed"
    if done.exists():
        return interpreter
    print(f"installing {' '.join(needs)} into {folder.relative_to(ROOT)} ...", file=sys.stderr, flush=True)
    ENVS.mkdir(exist_ok=True)
    if wheels is None:
        _call(python, "-m", "venv", "--clear", str(folder))
        _call(str(interpreter), "-m", "pip", "install", "--quiet", *needs)
    else:
        # An environment made from inside another sees that one's base, not the other itself: a .pth line adds it. So
        # pip, too, is the one of `python`, and no bundled pip is needed.
        _call(python, "-m", "venv", "--clear", "--without-pip", str(folder))
        query = "import site; print('\\n'.join(site.getsitepackages()))"
        found = subprocess.run([python, "-c", query], capture_output=True, text=True, check=True).stdout.splitlines()
        lines = [f"import site; site.addsitedir({path!r})\n" for path in found if Path(path).is_dir()]
        own = next((folder / "lib").glob("python*/site-packages"))
        (own / "outer.pth").write_text("".join(lines))
        pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
        pip += ["--find-links", str(wheels.resolve())]
        if not needs[0].startswith("-"):  # even where `python` has it, or another package of that name
            _call(*pip, "--no-deps", "--ignore-installed", needs[0])
        _call(*pip, *needs)
    done.touch()
    return interpreter


def ours(python: str, wheels: Path | None) -> Subject:
    """The package of this checkout. `python` has it installed in editable form, unless `wheels` supplies its needs."""
    if wheels is None:
        return Subject("ours", "quadrants", Path(python), ours=True, root=ROOT)
    built_before = (ENVS / "ours" / ".installed").exists()
    interpreter = _make("ours", python, ("--no-build-isolation", "--editable", str(ROOT)), wheels)
    if built_before:
        _call(str(interpreter), "setup.py", "--quiet", "build_ext", "--inplace")
    return Subject("ours", "quadrants", interpreter, ours=True, root=ROOT)


def peer(spec: str, python: str, wheels: Path | None) -> Subject:
    """The subject of a requirement such as `taichi==1.7.4`."""
    match = re.fullmatch(r"([A-Za-z][A-Za-z0-9_-]*)(==[\w.]+)?", spec)
    if match is None:
        raise BenchError(f"--peer {spec!r}: write NAME or NAME==VERSION, for example quadrants==1.3.3")
    interpreter = _make(spec.replace("==", "-"), python, (spec, "numpy"), wheels)
    # Where `python` has our package under the peer's name, pip may take that one for what was asked.
    query = f"import importlib.util as u; print(u.find_spec({match[1]!r}).origin)"
    found = subprocess.run([interpreter, "-c", query], capture_output=True, text=True, cwd=ENVS).stdout.strip()
    if not Path(found).is_relative_to(interpreter.parents[1]):
        raise BenchError(f"{spec} is imported from {found or 'nowhere'}, not from its own {interpreter.parents[1]}")
    return Subject(spec, match[1], interpreter, ours=False)


def beside(mine: Subject, arch: str) -> Subject:
    """The package of this checkout on another arch."""
    return replace(mine, label=f"on {arch}", arch=arch)


def before(python: str) -> Subject:
    """An earlier state of this package, which another interpreter has installed."""
    return Subject("before", "quadrants", Path(python), ours=True)


def ceiling(name: str, python: str) -> Subject:
    """The subject that measures the ceilings called `name`, with the CuPy of `python`."""
    return Subject(name, "cupy", Path(python), ours=False, ceiling=name)


def has_package(python: str, name: str) -> bool:
    """Whether `python` has a package installed."""
    probe = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)"
    return subprocess.run([python, "-c", probe, name]).returncode == 0
