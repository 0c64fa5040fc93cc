"""Gradients that Genesis computes on this package agree with differences of the losses within 1 %, on the CPU.

Each scene runs in double precision in a process of its own (gradient_scenes.py), with the package under test. Some
inputs have no right gradient in Genesis 1.4.5 itself, on quadrants 1.3.3 as here. The scenes leave these alone:

- The velocity of a tool that is set again at a later step: what flows to later substeps is not cut off, so each step
  gets the gradient of all later steps too. Here the velocity is set once, and held.
- A tool made from a mesh with a scale other than 1: its distance field has the wrong size, and is flat where the bodies
  are, so that normals are rounding errors.
- `loss.backward()` with bodies of the FEM solver, which raises. Here the reverse passes of the substeps are called, as
  `Scene.step` and `loss.backward()` would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import quadrants as qd

NEEDED = "1.4.5"
PROGRAM = Path(__file__).with_name("gradient_scenes.py")
TIMEOUT_SECONDS = 500
TOLERANCE = 0.01


def _installed() -> str | None:
    # Not by its import name: the folder of this file is a namespace package of that name for some import paths.
    try:
        return metadata.version("genesis-world")
    except metadata.PackageNotFoundError:
        return None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.cpu_only,
    pytest.mark.skipif(
        _installed() != NEEDED, reason=f"needs the package genesis-world=={NEEDED} (there is {_installed()})"
    ),
]


def slopes(scene: str, folder: Path) -> dict[str, dict]:
    """What the program prints for each input of the scene."""
    path = os.pathsep.join([str(Path(qd.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(PROGRAM), scene],
        env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    printed = json.loads(done.stdout.strip().splitlines()[-1])
    assert Path(printed["package"]).samefile(qd.__file__)
    return printed["slopes"]


def assert_equal_slopes(found: dict[str, dict], components: dict[str, int]) -> None:
    """Each input was compared along so many directions; a gradient that is zero or not a number fails too."""
    assert {name: len(each["gradient"]) for name, each in found.items()} == components
    assert all(any(each["difference"]) for each in found.values())
    wrong = {name: each for name, each in found.items() if not each["error"] <= TOLERANCE}
    assert not wrong, json.dumps(wrong, indent=1)


def test_a_tool_pushes_elastic_bodies(tmp_path):
    """25 substeps of the material point method: a ball with friction, spinning, against two materials at once."""
    assert_equal_slopes(
        slopes("push", tmp_path),
        {
            "tool_velocity": 3,
            "tool_spin": 3,
            "tool_position": 3,
            "tool_quaternion": 4,
            "velocity_corotation": 3,
            "velocity_neohooken": 3,
        },
    )


def test_forces_and_torques_on_a_free_body(tmp_path):
    """20 substeps of a tumbling box in two environments, with another force and torque at each step."""
    assert_equal_slopes(slopes("rigid", tmp_path), {"position": 6, "quaternion": 8, "velocity": 12, "forces": 3})


def test_elastic_forces_of_finite_elements(tmp_path):
    """20 substeps of two boxes of muscle on the floor, one linear, one neo-Hookean, with damping and gravity."""
    assert_equal_slopes(slopes("fem", tmp_path), {"position": 3, "velocity": 3, "actuation": 24})
