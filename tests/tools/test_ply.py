"""PLY files, read again by plyfile and by hand."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only
plyfile = pytest.importorskip("plyfile", reason="plyfile is not installed: pip install plyfile")

X, Y, Z = np.arange(4) / 8, np.arange(4) + 0.5, -np.arange(4)


def writer(faces=2, face_type="tri"):
    made = qd.tools.PLYWriter(4, faces, face_type)
    made.add_vertex_pos(X, Y, Z)
    return made


@pytest.mark.parametrize("text", [False, True])
def test_everything_comes_back(tmp_path, text):
    w = writer()
    w.add_faces(np.array([[0, 1, 2], [1, 2, 3]]))
    w.add_vertex_normal(X, Z, Y)
    w.add_vertex_vel(Y, X, Z)
    w.add_vertex_rgba(X, X / 2, X / 4, Y)
    w.add_vertex_id()
    w.add_vertex_piece(np.array([5, 5, 6, 7]))
    w.add_face_id()
    w.add_face_piece([3, -4])
    w.add_face_channel("area", "double", [1 / 3, 2 / 3])
    for name in ("char", "uchar", "short", "ushort", "int", "uint", "float", "double"):
        w.add_vertex_channel(f"a_{name}", name, np.arange(4) * 30)
    (w.export_ascii if text else w.export)(tmp_path / "a.ply")
    read = plyfile.PlyData.read(tmp_path / "a.ply")
    assert read.text is text and read.comments == ["created by PLYWriter"]
    assert text or read.byte_order == "<"
    v, f = read["vertex"], read["face"]
    for key, expected in dict(
        x=X, y=Y, z=Z, nx=X, ny=Z, nz=Y, vx=Y, vy=X, vz=Z, red=X, green=X / 2, blue=X / 4, Alpha=Y, id=np.arange(4),
        piece=[5, 5, 6, 7],
    ).items():  # fmt: skip
        np.testing.assert_array_equal(v[key], np.asarray(expected, np.float32))
    for name, code in dict(
        char="i1", uchar="u1", short="i2", ushort="u2", int="i4", uint="u4", float="f4", double="f8"
    ).items():
        assert v[f"a_{name}"].dtype == np.dtype(code)
        np.testing.assert_array_equal(v[f"a_{name}"], np.arange(4) * 30)
    np.testing.assert_array_equal(np.vstack(f["vertex_indices"]), [[0, 1, 2], [1, 2, 3]])
    np.testing.assert_array_equal(f["area"], [1 / 3, 2 / 3])
    np.testing.assert_array_equal([f["id"], f["piece"]], [[0, 1], [3, -4]])


def test_the_text_of_a_file(tmp_path):
    w = writer(1, "quad")
    w.add_faces([0, 1, 2, 3])
    w.export_ascii(str(tmp_path / "q.ply"))
    assert (tmp_path / "q.ply").read_text().split("\n") == [
        "ply", "format ascii 1.0", "comment created by PLYWriter", "element vertex 4", "property float x",
        "property float y", "property float z", "element face 1", "property list uchar int vertex_indices",
        "end_header", "0 0.5 0", "0.125 1.5 -1", "0.25 2.5 -2", "0.375 3.5 -3", "4 0 1 2 3", "",
    ]  # fmt: skip
    w.print_header(tmp_path / "h.ply", "binary_little_endian")
    header = (tmp_path / "h.ply").read_text()
    assert "format binary_little_endian 1.0" in header and header.endswith("end_header\n")


def test_files_of_a_series(tmp_path):
    w = qd.tools.PLYWriter(4, comment="mine")
    w.add_vertex_pos(X, Y, Z)
    w.export_frame(12, str(tmp_path / "a.ply"))
    w.export_frame_ascii(1234567, tmp_path / "b")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a_000012.ply", "b_1234567.ply"]
    read = plyfile.PlyData.read(tmp_path / "a_000012.ply")
    assert [e.name for e in read.elements] == ["vertex"] and read.comments == ["mine"]


def test_fields_and_ndarrays_are_data(arch, tmp_path):
    f, a = qd.field(qd.f32, 4), qd.ndarray(qd.f32, 4)
    f.from_numpy(X.astype(np.float32))
    a.from_numpy(Y.astype(np.float32))
    w = qd.tools.PLYWriter(4)
    w.add_vertex_pos(f, a, Z)
    w.export(tmp_path / "a.ply")
    read = plyfile.PlyData.read(tmp_path / "a.ply")["vertex"]
    np.testing.assert_array_equal([read["x"], read["y"]], [X, Y])


def test_what_does_not_fit_is_refused(tmp_path):
    w = writer()
    for run, text in (
        (lambda: qd.tools.PLYWriter(0), "num_vertices should be greater than 0"),
        (lambda: qd.tools.PLYWriter(1, -1), "num_faces"),
        (lambda: qd.tools.PLYWriter(4, 2, "penta"), "Only tri and quad faces are supported"),
        (lambda: w.add_vertex_normal(X[:3], X[:3], X[:3]), "dimension of the vertex channel"),
        (lambda: w.add_faces(np.zeros(5)), "dimension of the face vertices"),
        (lambda: w.add_face_channel("a", "int", [1, 2, 3]), "dimension of the face channel"),
        (lambda: w.export(tmp_path / "a.ply"), "face vertices channel is missing"),
        (lambda: qd.tools.PLYWriter(4).export(tmp_path / "a.ply"), "vertex pos channel is missing"),
    ):
        with pytest.raises(AssertionError, match=text):
            run()
    for key, kind, data, text in (
        ("a", "int5", X, "Unknown type 'int5'.*use one of char"),
        ("x", "float", X, "There is a channel 'x' already"),
        ("b", "uchar", [0, 1, 2, 256], "does not hold: 0 to 256"),
        ("c", "uint", [-1, 1, 2, 3], "does not hold: -1 to 3"),
        ("d", "int", [0, np.nan, 0, 0], "does not hold"),
        ("e", "int", [0, 0.5, 0, 0], "'e' has a number that int does not hold: 0.5"),
        ("f", "float", [0, 1e300, 0, 0], "'f' has a number that float does not hold: 1e\\+300"),
        ("g", "double", [0, 1j, 0, 0], "'g' of double takes real numbers, not complex128"),
        ("h", "int", ["a", "b", "c", "d"], "'h' of int takes real numbers"),
    ):
        with pytest.raises(ValueError, match=text):
            w.add_vertex_channel(key, kind, data)
    w.add_vertex_channel("i", "float", [np.inf, -np.inf, np.nan, 2**24 + 1])
    w.add_vertex_channel("j", "uint", np.array([0, 2**32 - 1, 2.0, 3.0]))
    for faces in ([0, 1, 2, 1, 2, 4], [0, 1, 2, -1, 2, 3]):
        with pytest.raises(ValueError, match="there are those from 0 to 3"):
            w.add_faces(faces)
    w.add_faces([0, 1, 2, 1, 2, 3])
    with pytest.raises(FileNotFoundError):
        w.export(tmp_path / "no folder" / "a.ply")
    assert not list(tmp_path.iterdir())
