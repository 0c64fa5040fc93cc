"""Writers of files that other programs read: meshes, grids, pictures, films. Loaded when first used."""

import importlib as _importlib
from typing import TYPE_CHECKING

from quadrants import absent as _absent

_WHERE = {
    "PLYWriter": "np2ply",
    "write_vtk": "vtk",
    "imread": "image",
    "imwrite": "image",
    "VideoWriter": "video",
}
_MODULES = ("diagnose", "image", "np2ply", "vtk", "video")

if TYPE_CHECKING:  # what _WHERE tells programs
    from quadrants.tools import diagnose, image, np2ply, video, vtk
    from quadrants.tools.image import imread, imwrite
    from quadrants.tools.np2ply import PLYWriter
    from quadrants.tools.video import VideoWriter
    from quadrants.tools.vtk import write_vtk

__all__ = ["PLYWriter", "VideoWriter", "diagnose", "image", "imread", "imwrite", "np2ply", "video", "vtk", "write_vtk"]


def __dir__() -> list:
    return sorted({*globals(), *__all__})


_no_such_name = _absent.names_of("tools", dict.fromkeys(__all__))


def _load(name: str):
    if name in _MODULES:
        return _importlib.import_module(f"quadrants.tools.{name}")
    if name not in _WHERE:
        return _no_such_name(name)
    value = getattr(_importlib.import_module(f"quadrants.tools.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # else checkers would take any misspelt name
    __getattr__ = _load
