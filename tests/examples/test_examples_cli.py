"""The command line of the examples, the pictures, and the progress bar."""

from __future__ import annotations

import io
import struct
import sys
import zlib

import numpy as np
import pytest

import quadrants as qd
from quadrants.examples import _catalogue, _picture, _progress
from quadrants.examples.__main__ import main

NAMES = _catalogue.names()


def read_png(path) -> np.ndarray:
    """Decodes what `write_png` writes: 8-bit RGB without filters; checks every checksum."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body, size = 8, b"", None
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + content)
        if kind == b"IHDR":
            size = struct.unpack(">II", content[:8])
            assert content[8:] == bytes([8, 2, 0, 0, 0])
        if kind == b"IDAT":
            body += content
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(size[1], 1 + 3 * size[0])
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(size[1], size[0], 3)


@pytest.mark.cpu_only
def test_the_list_names_every_example(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    expected = {
        "cloth",
        "controller",
        "dam",
        "fluid",
        "game_of_life",
        "life_bits",
        "mandelbrot",
        "mpm3d",
        "mpm88",
        "mpm_diff",
        "nbody",
        "path_tracer",
        "saxpy_bits",
        "sph",
        "throw",
        "warmth",
        "wave",
    }
    assert expected <= set(NAMES)
    for name in NAMES:
        assert f"  {name} " in text
        assert len(_catalogue.describe(name)) > 20


@pytest.mark.parametrize("name", NAMES)
def test_every_example_runs_and_writes_a_picture(arch_name, name, tmp_path, capfd):
    arguments = [name, "--frames", "2", "--arch", arch_name, "--out", str(tmp_path / "pictures")]
    assert main(arguments) == 0
    out, err = capfd.readouterr()
    assert f"Starting on arch={getattr(qd, arch_name).name}\n" in err
    assert f"{name}: " in out and "/s (2 frames)" in out
    image = read_png(tmp_path / "pictures" / f"{name}.png")
    assert min(image.shape[:2]) >= 200
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 1, "the picture is empty"
    gif = tmp_path / "pictures" / f"{name}.gif"
    assert gif.exists() == _picture.can_write_gif()
    assert ("pip install pillow" in out) == (not _picture.can_write_gif())


def test_no_picture(arch_name, tmp_path):
    assert main(["game_of_life", "--arch", arch_name, "--frames", "1", "--out", str(tmp_path), "--no-picture"]) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.cpu_only
@pytest.mark.parametrize("argv, text", [
    (["no_such_example"], "there is no example 'no_such_example'"),
    (["wave", "--frames", "0"], "--frames must be at least 1"),
    (["wave", "--arch", "abacus"], "invalid choice"),
])  # fmt: skip
def test_wrong_arguments(argv, text, capsys):
    with pytest.raises(SystemExit) as info:
        main(argv)
    assert info.value.code == 2
    assert text in capsys.readouterr().err


@pytest.mark.cpu_only
def test_png_round_trip(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    _picture.write_png(tmp_path / "a.png", image)
    assert np.array_equal(read_png(tmp_path / "a.png"), image)
    with pytest.raises(ValueError, match="uint8 of shape"):
        _picture.write_png(tmp_path / "b.png", image.astype(np.float32))


@pytest.mark.cpu_only
def test_picture_helpers():
    grid = np.zeros((3, 2))
    grid[2, 0] = 1  # right, bottom
    assert np.argwhere(_picture.upright(grid)).tolist() == [[1, 2]]
    assert _picture.to_bytes(np.array([-1.0, 0.5, 2.0, np.nan])).tolist() == [0, 128, 255, 0]
    dots = _picture.scatter(np.array([[0.0, 0.0], [0.99, 0.99]]), (255, 0, 0), size=10, radius=0)
    red = np.argwhere((dots == (255, 0, 0)).all(axis=-1)).tolist()
    assert red == [[0, 9], [9, 0]]
    shades = _picture.colormap(np.linspace(0, 1, 50)).astype(float).sum(axis=-1)
    assert (np.diff(shades) > 0).all(), "darker values must look darker"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.cpu_only
def test_progress_bar_only_on_a_terminal():
    file, terminal = io.StringIO(), Terminal()
    assert list(_progress.bar(range(3), "x", file)) == [0, 1, 2]
    assert file.getvalue() == ""
    assert list(_progress.bar(range(3), "x", terminal)) == [0, 1, 2]
    assert "3/3" in terminal.getvalue() and terminal.getvalue().endswith("\n")
    assert _progress.line("x", 15, 30, 3.0).count("#") == 15


@pytest.mark.cpu_only
def test_the_list_needs_no_runtime():
    """Listing must work where no device or compiler does, so it may not import the examples."""
    for name in NAMES:
        sys.modules.pop(f"quadrants.examples.{name}", None)
    main([])
    assert not any(f"quadrants.examples.{name}" in sys.modules for name in NAMES)
