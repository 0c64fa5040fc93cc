"""Where dumps go: files of the user's alone, through no link, and not without end."""

from __future__ import annotations

import os
import stat

import pytest

import quadrants as qd
from quadrants import _logging, dumps


@pytest.fixture
def warnings(monkeypatch):
    lines = []
    monkeypatch.setattr(_logging, "warn", lines.append)
    monkeypatch.setattr(dumps, "_told", set())
    return lines


def call(value: int) -> None:
    @qd.kernel
    def dumped() -> qd.i32:
        return value

    assert dumped() == value


def test_modes_and_a_folder_of_the_moment_of_init(init, monkeypatch, tmp_path, warnings):
    monkeypatch.setenv("QD_DUMP_IR", "1")
    monkeypatch.chdir(tmp_path)
    init(debug_dump_path="a/b", offline_cache=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    call(1)
    made = list((tmp_path / "a").rglob("*"))
    assert len(made) > 5 and os.listdir(tmp_path / "elsewhere") == [] and not warnings
    for path in made:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_a_process_writes_so_much_and_no_more(init, monkeypatch, tmp_path, warnings):
    monkeypatch.setenv("QD_DUMP_IR", "1")
    monkeypatch.setattr(dumps, "_left", 2000)
    init(debug_dump_path=str(tmp_path), offline_cache=False)
    for value in range(5):
        call(value)
    assert 0 < sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2000
    assert len(warnings) == 1 and "1024 MiB of dumps is the most" in warnings[0]


def test_links_are_replaced_and_not_followed(init, monkeypatch, tmp_path, warnings):
    monkeypatch.chdir(tmp_path)
    init(print_kernel_llvm_ir=True, offline_cache=False)
    call(1)
    (first,) = tmp_path.iterdir()
    number = int(first.stem.rpartition("_")[2])
    (tmp_path / "mine").write_text("mine")
    stem = first.stem.rpartition("_c")[0]
    near = range(max(0, number - 8), number + 9)  # numbers go on through all kernels of a process
    for c in near:
        for serial in near:
            path = tmp_path / f"{stem}_c{c}_{serial:04d}{first.suffix}"
            if path != first:
                path.symlink_to(tmp_path / "mine")
    links = len([path for path in tmp_path.iterdir() if path.is_symlink()])
    call(2)
    assert len([path for path in tmp_path.iterdir() if path.is_symlink()]) == links - 1
    assert (tmp_path / "mine").read_text() == "mine" and not warnings
    assert len([path for path in tmp_path.iterdir() if not path.is_symlink()]) == 3
