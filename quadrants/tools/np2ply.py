"""Files in the PLY format: vertices and faces with numbers of any name, written by plyfile."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from quadrants.tools import _library as library

__all__ = ["PLYWriter"]

_TYPES = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32,
    "float": np.float32, "double": np.float64,
}  # fmt: skip
_CORNERS = {"tri": 3, "quad": 4}


class PLYWriter:
    """Collects what a PLY file says of vertices and faces, channel by channel, and writes it.

    Args:
        num_vertices: how many vertices there are, 1 at least.
        num_faces: how many faces.
        face_type: "tri" or "quad".
        comment: a line of the header.

    Data are arrays of NumPy, fields or ndarrays, with as many numbers as there are vertices or faces.

    Raises AssertionError for wrong counts and sizes, and ImportError where there is no plyfile.

        writer = qd.tools.PLYWriter(num_vertices=4, num_faces=2)
        writer.add_vertex_pos(x, y, z)
        writer.add_faces([0, 1, 2, 1, 2, 3])
        writer.export("mesh.ply")
    """

    def __init__(
        self, num_vertices: int, num_faces: int = 0, face_type: str = "tri", comment: str = "created by PLYWriter"
    ):
        library.package("plyfile", "plyfile", "qd.tools.PLYWriter")
        assert num_vertices > 0, "num_vertices should be greater than 0"
        assert num_faces >= 0, "num_faces shouldn't be less than 0"
        assert face_type in _CORNERS, "Only tri and quad faces are supported for now"
        self.num_vertices, self.num_faces = num_vertices, num_faces
        self.face_type, self.comment = face_type, comment
        self._vertices: dict[str, np.ndarray] = {}
        self._faces: dict[str, np.ndarray] = {}

    def add_vertex_channel(self, key: str, data_type: str, data: Any) -> None:
        """A number for each vertex. data_type: char, uchar, short, ushort, int, uint, float or double.

        ValueError for other types, numbers that the type does not hold (0.5 in an int, 1e300 in a float, any complex
        number), and a second channel of that name. Floats are rounded.
        """
        data = library.array_of(data)
        assert data.size == self.num_vertices, "The dimension of the vertex channel is not correct"
        _add(self._vertices, key, data_type, data)

    def add_vertex_pos(self, x: Any, y: Any, z: Any) -> None:
        """Positions, channels x, y and z of float. Every file needs them."""
        self._add_floats(x=x, y=y, z=z)

    def add_vertex_normal(self, nx: Any, ny: Any, nz: Any) -> None:
        """Normals, channels nx, ny and nz of float."""
        self._add_floats(nx=nx, ny=ny, nz=nz)

    def add_vertex_vel(self, vx: Any, vy: Any, vz: Any) -> None:
        """Velocities, channels vx, vy and vz of float."""
        self._add_floats(vx=vx, vy=vy, vz=vz)

    def add_vertex_color(self, r: Any, g: Any, b: Any) -> None:
        """Colours, channels red, green and blue of float."""
        self._add_floats(red=r, green=g, blue=b)

    def add_vertex_alpha(self, alpha: Any) -> None:
        """Opacity, channel Alpha of float."""
        self._add_floats(Alpha=alpha)

    def add_vertex_rgba(self, r: Any, g: Any, b: Any, a: Any) -> None:
        """Colours and opacity, channels red, green, blue and Alpha of float."""
        self._add_floats(red=r, green=g, blue=b, Alpha=a)

    def add_vertex_id(self) -> None:
        """Numbers from 0, channel id of int."""
        self.add_vertex_channel("id", "int", np.arange(self.num_vertices))

    def add_vertex_piece(self, piece: Any) -> None:
        """What part each vertex belongs to, channel piece of int."""
        self.add_vertex_channel("piece", "int", piece)

    def add_faces(self, indices: Any) -> None:
        """The vertices of each face: 3 or 4 numbers a face, in any shape. ValueError where there is no such vertex."""
        indices = library.array_of(indices)
        corners = _CORNERS[self.face_type]
        assert indices.size == corners * self.num_faces, "The dimension of the face vertices is not correct"
        if indices.size and not 0 <= indices.min() <= indices.max() < self.num_vertices:
            raise ValueError(
                f"Faces have vertices {indices.min()} to {indices.max()}, and there are those from 0 to "
                f"{self.num_vertices - 1}"
            )
        _add(self._faces, "vertex_indices", "int", indices, corners)

    def add_face_channel(self, key: str, data_type: str, data: Any) -> None:
        """A number for each face, as `add_vertex_channel`."""
        data = library.array_of(data)
        assert data.size == self.num_faces, "The dimension of the face channel is not correct"
        _add(self._faces, key, data_type, data)

    def add_face_id(self) -> None:
        """Numbers from 0, channel id of int."""
        self.add_face_channel("id", "int", np.arange(self.num_faces))

    def add_face_piece(self, piece: Any) -> None:
        """What part each face belongs to, channel piece of int."""
        self.add_face_channel("piece", "int", piece)

    def _add_floats(self, **channels: Any) -> None:
        for key, data in channels.items():
            self.add_vertex_channel(key, "float", data)

    def sanity_check(self) -> None:
        """AssertionError unless there are positions, and vertices of the faces where there are faces."""
        assert {"x", "y", "z"} <= self._vertices.keys(), "The vertex pos channel is missing"
        assert not self.num_faces or "vertex_indices" in self._faces, "The face vertices channel is missing"

    def export(self, path: Any) -> None:
        """Write a binary file, little-endian."""
        self._file(text=False).write(os.fspath(path))

    def export_ascii(self, path: Any) -> None:
        """Write a text file."""
        self._file(text=True).write(os.fspath(path))

    def export_frame(self, series_num: int, path: Any) -> None:
        """Write the binary file number `series_num` of a series: a.ply is a_000012.ply for 12."""
        self.export(_of_series(series_num, path))

    def export_frame_ascii(self, series_num: int, path: Any) -> None:
        """Write the text file number `series_num` of a series."""
        self.export_ascii(_of_series(series_num, path))

    def print_header(self, path: Any, _format: str) -> None:
        """Write the header alone. _format: "ascii" or "binary_little_endian"."""
        header = self._file(text=_format == "ascii").header
        with open(path, "w", encoding="ascii", newline="\n") as file:
            file.write(f"{header}\n")

    def _file(self, text: bool) -> Any:
        self.sanity_check()
        ply = library.package("plyfile", "plyfile", "qd.tools.PLYWriter")
        elements = [_element(ply, "vertex", self._vertices)]
        if self.num_faces:
            elements.append(_element(ply, "face", self._faces))
        return ply.PlyData(elements, text=text, byte_order="=" if text else "<", comments=[self.comment])


def _add(channels: dict[str, np.ndarray], key: str, data_type: str, data: np.ndarray, corners: int = 1) -> None:
    if data_type not in _TYPES:
        raise ValueError(f"Unknown type {data_type!r} of channel {key!r}; use one of {', '.join(_TYPES)}")
    if key in channels:
        raise ValueError(f"There is a channel {key!r} already")
    data = _held(data, key, data_type)
    channels[key] = data.reshape(-1, corners) if corners > 1 else data.reshape(-1)


def _held(data: np.ndarray, key: str, data_type: str) -> np.ndarray:
    """The numbers as the type holds them. ValueError that names one that it does not."""
    dtype = np.dtype(_TYPES[data_type])
    if data.dtype.kind not in "biuf":
        raise ValueError(f"Channel {key!r} of {data_type} takes real numbers, not {data.dtype}")
    with np.errstate(all="ignore"):
        held = data.astype(dtype)
    if dtype.kind in "iu" and data.size:
        limits = np.iinfo(dtype)
        if not limits.min <= data.min() <= data.max() <= limits.max:
            raise ValueError(
                f"Channel {key!r} has numbers that {data_type} does not hold: {data.min()} to {data.max()}"
            )
        wrong = held != data
    else:
        wrong = np.isfinite(data) & ~np.isfinite(held)
    if wrong.any():
        raise ValueError(f"Channel {key!r} has a number that {data_type} does not hold: {data[wrong].flat[0]}")
    return held


def _element(ply: Any, name: str, channels: dict[str, np.ndarray]) -> Any:
    fields = [(key, data.dtype, data.shape[1:]) for key, data in channels.items()]
    table = np.empty(len(next(iter(channels.values()))), fields)
    for key, data in channels.items():
        table[key] = data
    return ply.PlyElement.describe(table, name, len_types={"vertex_indices": "u1"})


def _of_series(number: int, path: Any) -> str:
    stem = os.fspath(path).removesuffix(".ply")
    return f"{stem}_{number:06d}.ply"
