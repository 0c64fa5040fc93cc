"""The picture of saved benchmark runs."""

from __future__ import annotations

import json

import history
import pytest

pytestmark = pytest.mark.cpu_only


def saved(folder, when: str, median: float) -> None:
    run = {"datetime": when, "commit_info": {"id": "0123456789"}}
    run["benchmarks"] = [{"name": "test_steady[saxpy]", "stats": {"median": median}}]
    (folder / f"{when}.json").write_text(json.dumps(run))


def test_runs_come_in_the_order_of_time(tmp_path):
    saved(tmp_path, "2026-02-01T00:00:00", 2.0)
    saved(tmp_path, "2026-01-01T00:00:00", 1.0)
    assert [median for _, median in history.read(tmp_path)["test_steady[saxpy]"]] == [1.0, 2.0]


def test_a_picture_is_drawn(tmp_path, monkeypatch, capsys):
    saved(tmp_path, "2026-01-01T00:00:00", 1.0)
    monkeypatch.setattr("sys.argv", ["history.py", str(tmp_path), str(tmp_path / "made" / "p.png")])
    history.main()
    assert (tmp_path / "made" / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "1 measurements, 1 runs" in capsys.readouterr().out


def test_nothing_saved_says_what_saves(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["history.py", str(tmp_path), str(tmp_path / "p.png")])
    with pytest.raises(SystemExit, match="make bench"):
        history.main()
