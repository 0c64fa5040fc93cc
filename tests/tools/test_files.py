"""Grids, pictures and films, read again by other packages; what is said where a package is missing."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only


def numbers_of_vtk(path):
    """(extents, name, numbers) of a file of pyevtk with one array of point data, all raw behind the text."""
    raw = path.read_bytes()
    text, _, data = raw.partition(b'encoding="raw">\n_')
    extent = [int(n) for n in re.search(rb'WholeExtent="([^"]*)"', text)[1].split()]
    kind, offset, name = None, None, None
    point_data = text[text.index(b"<PointData") : text.index(b"</PointData")]
    name = re.search(rb'DataArray Name="([^"]*)"', point_data)[1].decode()
    kind = {b"Float32": "f4", b"Float64": "f8", b"Int32": "i4"}[re.search(rb'type="([^"]*)"', point_data)[1]]
    offset = int(re.search(rb'offset="(\d+)"', point_data)[1])
    size = int(np.frombuffer(data, "<u8", 1, offset)[0])
    return extent, name, np.frombuffer(data, f"<{kind}", size // int(kind[1]), offset + 8)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [qd.f32, qd.f64, qd.i32])
def test_a_grid(arch, tmp_path, shape, dtype):
    pytest.importorskip("pyevtk", reason="pyevtk is not installed: pip install pyevtk")
    f = qd.field(dtype, shape)
    numbers = np.arange(np.prod(shape)).reshape(shape)
    f.from_numpy(numbers.astype({qd.f32: np.float32, qd.f64: np.float64, qd.i32: np.int32}[dtype]))
    qd.tools.write_vtk(f, str(tmp_path / "density"))
    assert [p.name for p in tmp_path.iterdir()] == ["density.vtr"]
    extent, name, read = numbers_of_vtk(tmp_path / "density.vtr")
    assert extent == [n for e in (*shape, 1)[:3] for n in (0, e - 1)] and name == "density"
    np.testing.assert_array_equal(read, numbers.ravel(order="F"))  # x fastest


def test_what_is_no_grid(arch, tmp_path):
    for wrong in (qd.field(qd.f32, 4), qd.Vector.field(3, qd.f32, (2, 2)), qd.field(qd.f32, (2, 2, 2, 2))):
        with pytest.raises(ValueError, match="must be a 2D or 3D scalar field"):
            qd.tools.write_vtk(wrong, tmp_path / "a")


def test_a_grid_of_u1_and_names_that_xml_has_a_meaning_for(arch, tmp_path):
    pytest.importorskip("pyevtk", reason="pyevtk is not installed: pip install pyevtk")
    f = qd.field(qd.u1, (3, 2))
    f.fill(1)
    name = "a & b <c>"
    qd.tools.write_vtk(f, tmp_path / name)
    text, _, data = (tmp_path / f"{name}.vtr").read_bytes().partition(b'encoding="raw">\n_')
    root = ElementTree.fromstring(text + b'encoding="raw"></AppendedData></VTKFile>')
    (array,) = root.iter("PointData")
    assert array[0].get("Name") == name and array[0].get("type") == "UInt8"
    at = int(array[0].get("offset"))
    assert data[at : at + 14] == np.uint64(6).tobytes() + b"\x01" * 6
    with pytest.raises(ValueError, match="writes real numbers, not complex128"):
        qd.tools.write_vtk(np.ones((2, 2)) * 1j, tmp_path / "a")


def test_a_picture_of_16_bits_has_its_levels(tmp_path):
    pil = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install pillow")
    levels = np.array([[0, 1, 128, 129], [257, 40000, 65407, 65535]], np.uint16)
    pil.fromarray(levels).save(tmp_path / "a.png")
    expected = np.rint(levels / 257).astype(np.uint8)[::-1].T
    np.testing.assert_array_equal(qd.tools.imread(tmp_path / "a.png", 1), expected)
    np.testing.assert_array_equal(qd.tools.imread(tmp_path / "a.png"), np.repeat(expected[:, :, None], 3, 2))


@pytest.mark.parametrize(("dtype", "text"), [(np.float32, "of reals"), (np.int32, "of integers of 32 bits")])
def test_a_picture_of_other_numbers_is_refused(tmp_path, dtype, text):
    pil = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install pillow")
    pil.fromarray(np.full((2, 2), 300, dtype)).save(tmp_path / "a.tiff")
    with pytest.raises(ValueError, match=f"a.tiff is an image {text}"):
        qd.tools.imread(tmp_path / "a.tiff")


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_picture_comes_back(arch, tmp_path, channels):
    pytest.importorskip("PIL", reason="pillow is not installed: pip install pillow")
    rng = np.random.default_rng(0)
    shape = (5, 7) if channels == 1 else (5, 7, channels)
    image = rng.integers(0, 256, shape).astype(np.uint8)
    qd.tools.imwrite(image, tmp_path / "a.png")
    np.testing.assert_array_equal(qd.tools.imread(tmp_path / "a.png", channels), image)
    qd.tools.imwrite(image / np.float64(255), str(tmp_path / "b.png"))
    np.testing.assert_array_equal(qd.tools.imread(str(tmp_path / "b.png"), channels), image)


def test_a_picture_is_as_kernels_have_it(arch, tmp_path):
    pil = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install pillow")
    picture = qd.Vector.field(3, qd.f32, (4, 2))

    @qd.kernel
    def paint():
        picture[0, 1] = [1, 0, 0]  # top left
        picture[3, 0] = [0, 1, 2]  # bottom right, cut to 1

    paint()
    qd.tools.imwrite(picture, tmp_path / "a.png")
    with pil.open(tmp_path / "a.png") as file:
        assert file.size == (4, 2)
        assert file.getpixel((0, 0)) == (255, 0, 0) and file.getpixel((3, 1)) == (0, 255, 255)


def test_numbers_out_of_range_are_cut(arch):
    image = np.array([[np.nan, -1, np.inf, 0.5]])
    np.testing.assert_array_equal(qd.tools.image.pixels(image)[::-1, 0], [0, 0, 255, 128])
    np.testing.assert_array_equal(qd.tools.image.pixels(np.array([[True, False]]))[::-1, 0], [255, 0])


def test_what_is_no_picture(tmp_path):
    for wrong, text in (
        (np.zeros(3), "has the shape"),
        (np.zeros((2, 2, 2)), "has the shape"),
        (np.zeros((0, 2)), "has the shape"),
        (np.zeros((2, 2), np.int32), "is of reals from 0 to 1 or of u8, not of int32"),
    ):
        with pytest.raises(ValueError, match=text):
            qd.tools.imwrite(wrong, tmp_path / "a.png")
    with pytest.raises(ValueError, match="channels"):
        qd.tools.imread(tmp_path / "a.png", 2)


@pytest.mark.parametrize("name", ["film.mp4", "film.gif"])
def test_a_film_has_its_frames(tmp_path, name):
    imageio = pytest.importorskip("imageio.v2", reason="imageio is not installed: pip install imageio")
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed: pip install imageio-ffmpeg")
    with qd.tools.VideoWriter(tmp_path / name, framerate=10) as film:
        for k in range(6):
            frame = np.zeros((48, 32, 3))
            frame[8 * k : 8 * k + 8, 16:] = 1  # a bright square at the top, that goes to the right
            film.write_frame(frame)
        with pytest.raises(ValueError, match="A frame of 20 x 32 pixels in a film of 48 x 32"):
            film.write_frame(np.zeros((20, 32)))
    with imageio.get_reader(tmp_path / name) as reader:
        frames = [np.asarray(frame)[..., :3].astype(float) for frame in reader]
    assert len(frames) == 6
    for k, frame in enumerate(frames):
        assert frame.shape[:2] == (32, 48)
        columns = frame[:12].mean(axis=(0, 2))
        assert np.argmax(columns.reshape(6, 8).mean(1)) == k and frame[20:].mean() < 20


@pytest.mark.parametrize(("framerate", "duration"), [(24, 40), (20, 50), (60, 20), (100, 10), (0.5, 2000)])
def test_the_duration_of_frames_of_an_animation(tmp_path, framerate, duration):
    pytest.importorskip("imageio.v2", reason="imageio is not installed: pip install imageio")
    pil = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install pillow")
    with qd.tools.VideoWriter(tmp_path / "a.gif", framerate) as film:
        for k in range(3):
            film.write_frame(np.full((8, 8), k / 2))
    with pil.open(tmp_path / "a.gif") as file:
        for k in range(3):
            file.seek(k)
            assert file.info["duration"] == duration


def test_films_that_cannot_be(tmp_path):
    pytest.importorskip("imageio.v2", reason="imageio is not installed: pip install imageio")
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed: pip install imageio-ffmpeg")
    for name, framerate, text in (
        ("a.foo", 24, "one of the suffixes .gif, .mp4"),
        ("a", 24, "one of the suffixes"),
        ("a.mp4", 0, "framerate of a .mp4 file is"),
        ("a.mp4", float("nan"), "framerate of a .mp4 file is"),
        ("a.gif", -1, "framerate of a .gif file is"),
        ("a.gif", 101, "0.002 to 100 frames a second: 101"),
    ):
        with pytest.raises(ValueError, match=text):
            qd.tools.VideoWriter(tmp_path / name, framerate)
    for name in ("a.gif", "a.mp4", "a.mov", "a.mkv", "a.avi"):
        film = qd.tools.VideoWriter(tmp_path / name)
        film.write_frame(np.zeros((16, 16)))
        film.close()
        assert (tmp_path / name).stat().st_size > 0
        with pytest.raises(ValueError, match=f"{name} is closed"):
            film.write_frame(np.zeros((16, 16)))
        film.close()


@pytest.mark.parametrize(
    ("module", "name", "error", "run"),
    [
        ("plyfile", "plyfile", ImportError, lambda: qd.tools.PLYWriter(1)),
        ("pyevtk.hl", "pyevtk", RuntimeError, lambda: qd.tools.write_vtk(np.zeros((2, 2)), "a")),
        ("PIL.Image", "pillow", ImportError, lambda: qd.tools.imwrite(np.zeros((2, 2)), "a.png")),
        ("PIL.Image", "pillow", ImportError, lambda: qd.tools.imread("a.png")),
        ("imageio.v2", "imageio", ImportError, lambda: qd.tools.VideoWriter("a.gif")),
        ("imageio_ffmpeg", "imageio-ffmpeg", ImportError, lambda: qd.tools.VideoWriter("a.mp4")),
    ],
)
def test_a_missing_package_is_named(monkeypatch, tmp_path, module, name, error, run):
    monkeypatch.chdir(tmp_path)

    monkeypatch.setitem(sys.modules, module, None)  # importing it is an ImportError
    with pytest.raises(error, match=f"qd.tools.* needs {name} .*: pip install {name}"):
        run()


def test_diagnose_is_a_module(capsys):
    assert qd.tools.diagnose.main.__module__ == "quadrants.cli.doctor"
