"""The saved runs of `make bench` as a picture: the median of each measurement over time, relative to the first run.

python bench/history.py FOLDER PICTURE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

COLUMNS = 4


def read(folder: Path) -> dict[str, list[tuple[str, float]]]:
    """(when, median seconds) of each measurement, oldest first."""
    runs = sorted((json.loads(path.read_text()) for path in folder.rglob("*.json")), key=lambda run: run["datetime"])
    history: dict[str, list[tuple[str, float]]] = {}
    for run in runs:
        label = f"{run['datetime'][:16]} {run['commit_info'].get('id', '')[:7]}"
        for measured in run["benchmarks"]:
            history.setdefault(measured["name"], []).append((label, measured["stats"]["median"]))
    return history


def draw(history: dict[str, list[tuple[str, float]]], picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = -(-len(history) // COLUMNS)
    figure, places = pyplot.subplots(rows, COLUMNS, figsize=(4 * COLUMNS, 2 * rows), squeeze=False)
    for place in places.flat[len(history) :]:
        place.axis("off")
    for place, (name, points) in zip(places.flat, sorted(history.items()), strict=False):
        place.plot([median / points[0][1] for _, median in points], marker=".")
        place.set_title(name.removeprefix("test_"), fontsize=8)
        place.set_xlabel(f"{points[0][0]} .. {points[-1][0]}", fontsize=6)
        place.set_ylim(bottom=0)
    figure.tight_layout()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)


def main() -> None:
    folder, picture = map(Path, sys.argv[1:3])
    history = read(folder)
    if not history:
        sys.exit(f"no run is saved in {folder}: `make bench` saves one")
    draw(history, picture)
    print(f"{picture}: {len(history)} measurements, {max(map(len, history.values()))} runs")


if __name__ == "__main__":
    main()
