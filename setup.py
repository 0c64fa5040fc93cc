"""Builds the launch core and maps the top-level folders `templates` and `_ext` into the package.

What else there is to say of the package is in pyproject.toml.
"""

import importlib.util
import os
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

WINDOWS = sys.platform == "win32"
# QD_BUILD_CORE=0: an editable installation leaves the extensions to `make build`, which would compile them again.
BUILD_CORE = os.environ.get("QD_BUILD_CORE") != "0"
# For the memory checkers: what follows -fsanitize=, as in docs/development/testing.md.
SANITIZE = os.environ.get("QD_SANITIZE")
DEBUG_FLAGS = ["-g", "-O1", "-fno-omit-frame-pointer", f"-fsanitize={SANITIZE}"] if SANITIZE else ["-g0"]
UNIX_FLAGS = ["-std=c++17", "-fvisibility=hidden", "-pthread", *DEBUG_FLAGS]
LINK_FLAGS = [f"-fsanitize={SANITIZE}"] if SANITIZE else []


_VULKAN = ("copies", "devices", "events", "instance", "moves", "pipelines")


def extensions():
    from Cython.Build import cythonize

    folder = Path("_ext")
    headers = ["_ext/qd_device.h", "_ext/device_pool.hpp"]
    core = Extension(
        "quadrants._ext.core",
        sources=[
            "_ext/core.pyx",
            "_ext/launch.cpp",
            "_ext/turns.cpp",
            "_ext/pool.cpp",
            "_ext/driver.cpp",
            "_ext/hosted.cpp",
            "_ext/device_launch.cpp",
            "_ext/launch_graph.cpp",
            "_ext/counts.cpp",
            "_ext/adstack_heaps.cpp",
            "_ext/adstack_host.cpp",
            "_ext/adstack_launch.cpp",
            "_ext/print_ring.cpp",
        ],
        include_dirs=["_ext"],
        depends=sorted(str(path) for path in folder.iterdir() if path.suffix in {".h", ".hpp", ".pxd", ".pxi"}),
        language="c++",
        extra_compile_args=["/std:c++17"] if WINDOWS else UNIX_FLAGS,
        extra_link_args=[] if WINDOWS else ["-pthread", "-ldl", *LINK_FLAGS],
    )
    opencl = Extension(
        "quadrants._ext.opencl",
        sources=["_ext/opencl.pyx", "_ext/driver_opencl.cpp"],
        include_dirs=["_ext"],
        depends=[*headers, *sorted(str(path) for path in folder.glob("*opencl*.hpp"))],
        language="c++",
        extra_compile_args=["/std:c++17"] if WINDOWS else UNIX_FLAGS,
        extra_link_args=[] if WINDOWS else ["-pthread", "-ldl", *LINK_FLAGS],
    )
    vulkan = Extension(
        "quadrants._ext.vulkan",
        sources=["_ext/vulkan.pyx", "_ext/driver_vulkan.cpp", *(f"_ext/vulkan_{part}.cpp" for part in _VULKAN)],
        include_dirs=["_ext"],
        depends=[*headers, *sorted(str(path) for path in folder.glob("*vulkan*.hpp"))],
        language="c++",
        extra_compile_args=["/std:c++17"] if WINDOWS else UNIX_FLAGS,
        extra_link_args=[] if WINDOWS else ["-pthread", "-ldl", *LINK_FLAGS],
    )
    return cythonize([core, opencl, vulkan] if WINDOWS else [core, opencl, vulkan, _metal(folder), _simt(folder)])


def _metal(folder):
    """Metal's driver. It links to nothing of Apple's, so that other systems compile and test it too."""
    parts = ("driver_metal", "driver_metal_copies", "driver_metal_events", "driver_metal_launch", "metal_messages")
    return Extension(
        "quadrants._ext.metal",
        sources=["_ext/metal.pyx", *(f"_ext/{part}.cpp" for part in (*parts, "metal_stream"))],
        include_dirs=["_ext"],
        depends=["_ext/qd_device.h", "_ext/device_pool.hpp", *sorted(str(path) for path in folder.glob("*metal*.hpp"))],
        language="c++",
        extra_compile_args=UNIX_FLAGS,
        extra_link_args=["-pthread", "-ldl", *LINK_FLAGS],
    )


def _simt(folder):
    """The SIMT emulator. Its switch between stacks is written for the calling conventions of Linux and macOS."""
    return Extension(
        "quadrants._ext.simt",
        sources=["_ext/simt.pyx", *(f"_ext/simt{part}.cpp" for part in ("_engine", "_fiber", "_report", "_warp"))],
        include_dirs=["_ext"],
        depends=sorted(str(path) for path in folder.glob("simt*.h*")),
        language="c++",
        extra_compile_args=[*UNIX_FLAGS, "-fno-omit-frame-pointer"],
        extra_link_args=["-pthread", *LINK_FLAGS],
    )


class Build(build_ext):
    """Compiles extensions side by side, and the templates too, so that no process has to parse them."""

    def initialize_options(self):
        super().initialize_options()
        self.parallel = True

    def run(self):
        super().run()
        folder = os.path.dirname(self.get_ext_fullpath("quadrants.templates.any"))
        spec = importlib.util.spec_from_file_location("template_bytecode", "quadrants/emit/bytecode.py")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except ModuleNotFoundError as error:
            print(f"Templates are not compiled, so each process will parse them: {error}; `pip install jinja2`")
            return
        module.write_compiled("templates", os.path.join(folder, module.COMPILED))


setup(
    packages=[*find_packages(include=["quadrants", "quadrants.*"]), "quadrants.templates", "quadrants._ext"],
    package_dir={"quadrants.templates": "templates", "quadrants._ext": "_ext"},
    package_data={"quadrants": ["py.typed", "**/*.pyi"], "quadrants.templates": ["**/*.j2"], "quadrants._ext": ["*.h"]},
    include_package_data=False,
    ext_modules=extensions() if BUILD_CORE else [],
    cmdclass={"build_ext": Build},
    zip_safe=False,
)
