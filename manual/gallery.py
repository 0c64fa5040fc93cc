"""The gallery: every example of the catalogue, run, with its pictures made small enough for a page."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from quadrants.examples import _catalogue

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "quadrants" / "examples"
NOTEBOOKS = ROOT / "docs" / "notebooks"
# Frames of those that take long with their own number. An example that is new in the catalogue needs no row.
FRAMES = {"path_tracer": 16, "sph": 80, "game_of_life": 80, "fluid": 100, "mandelbrot": 40}
MOST_FRAMES = 40
WIDTH = 256
# What comes first in the gallery; the others follow by name.
FIRST = ("mpm3d", "path_tracer", "cloth", "fluid", "sph", "controller", "nbody")


def names() -> list[str]:
    found = _catalogue.names()
    return [*(name for name in FIRST if name in found), *(name for name in found if name not in FIRST)]


def run(name: str, folder: Path) -> None:
    """Runs an example with its small size, and makes its animation small. Raises where it fails."""
    command = [sys.executable, "-m", "quadrants.examples", name, "--out", str(folder)]
    if name in FRAMES:
        command += ["--frames", str(FRAMES[name])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the example {name} failed:\n{done.stdout}{done.stderr}")
    shrink(folder / f"{name}.gif")


def shrink(path: Path) -> None:
    """Fewer and smaller frames of an animation, with the same duration."""
    from PIL import Image, ImageSequence

    with Image.open(path) as film:
        every = -(-getattr(film, "n_frames", 1) // MOST_FRAMES)
        size = (WIDTH, WIDTH * film.height // film.width)
        kept = [f.convert("RGB").resize(size) for k, f in enumerate(ImageSequence.Iterator(film)) if k % every == 0]
        milliseconds = film.info.get("duration", 40) * every
    small = [frame.quantize(64) for frame in kept]
    small[0].save(path, save_all=True, append_images=small[1:], duration=milliseconds, loop=0, optimize=True)


def _is_fresh(film: Path, source: Path) -> bool:
    return film.exists() and film.stat().st_mtime > source.stat().st_mtime


def pictures(folder: Path) -> dict[str, Path]:
    """Path below docs/ -> file, of the pictures of all examples; what is in the folder already and newer than
    its example is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in names() if not _is_fresh(folder / f"{name}.gif", SOURCES / f"{name}.py")]
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda name: run(name, folder), wanted))
    return {f"gallery/made/{path.name}": path for path in sorted(folder.iterdir())}


def _docstring(name: str) -> str:
    import ast

    return ast.get_docstring(ast.parse((SOURCES / f"{name}.py").read_text(encoding="utf-8"))) or ""


def _notebook(name: str) -> str:
    there = (NOTEBOOKS / f"{name}.ipynb").exists()
    return f"As a notebook: [{name}.ipynb](../notebooks/{name}.ipynb).\n\n" if there else ""


def texts() -> dict[str, str]:
    """Path below docs/ -> Markdown: the gallery, and a page for each example."""
    cards, made = [], {}
    for name in names():
        said = _docstring(name)
        title = name.replace("_", " ")
        cards.append(
            f'<a class="qd-card" href="{name}/"><img src="made/{name}.gif" alt="{title}" loading="lazy">'
            f"<strong>{title}</strong><span>{_catalogue.describe(name)}</span></a>"
        )
        source = (SOURCES / f"{name}.py").read_text(encoding="utf-8")
        made[f"gallery/{name}.md"] = (
            f"# {title}\n\n{said}\n\n![{title}](made/{name}.gif)\n\n"
            f"```bash\npython -m quadrants.examples {name}   # --arch cuda, --quality large, --frames N\n```\n\n"
            f"{_notebook(name)}## Source\n\n`quadrants/examples/{name}.py`\n\n```python\n{source}```\n"
        )
    notebooks = ", ".join(f"[{path.stem}](../notebooks/{path.name})" for path in sorted(NOTEBOOKS.glob("*.ipynb")))
    made["gallery/index.md"] = (
        "---\nhide: [toc]\n---\n\n# Gallery\n\n"
        "Each picture was made by its example when this manual was built, on a processor, in its small "
        "size. `python -m quadrants.examples NAME` makes them on your machine, shows a bar while it works, and writes "
        f"`NAME.png` and, where Pillow is installed, `NAME.gif`. Three are notebooks, too: {notebooks}.\n\n"
        '<div class="qd-gallery">\n' + "\n".join(cards) + "\n</div>\n"
    )
    return made
