"""What does not ask for OpenCL does not load it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.cpu_only,
    pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which libraries are loaded"),
]

PROGRAM = """
import sys
import quadrants as qd

qd.init(arch={arch})

@qd.kernel
def one() -> qd.i32:
    return 1

assert one() == 1
with open("/proc/self/maps") as maps:
    text = maps.read().lower()
loaded = [name for name in ("opencl", "pocl", "vulkan", "glslang", "spirv") if f"lib{{name}}" in text]
print(loaded, "pyopencl" in sys.modules)
"""


@pytest.mark.parametrize("arch", ["qd.cpu", "[qd.cpu]"])
def test_cpu_programs_load_no_device_library(tmp_path, arch):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(arch=arch))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] False"
