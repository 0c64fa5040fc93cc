"""Homogeneous transforms and rotations. Kernel scope only; results have dtype `default_fp`, angles are in radians.

`translate` and `scale` act on column vectors (`M @ v`). `rot_by_axis`, `rot_yaw_pitch_roll` and `rotation3d` follow the
row-vector convention (`v @ M`), that is, they are the transposes of the usual textbook matrices.
"""

from __future__ import annotations

import quadrants as qd
from quadrants.lang.math_primitives import mat2, mat4, vec2


@qd.func
def translate(dx, dy, dz):
    """4x4 translation by `(dx, dy, dz)`, which is the last column.

    M = qd.math.translate(1.0, 0.0, 0.0)
    """
    return mat4(
        [
            [1.0, 0.0, 0.0, dx],
            [0.0, 1.0, 0.0, dy],
            [0.0, 0.0, 1.0, dz],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@qd.func
def scale(sx, sy, sz):
    """4x4 scaling by `(sx, sy, sz)`.

    M = qd.math.scale(2.0, 2.0, 1.0)
    """
    return mat4(
        [
            [sx, 0.0, 0.0, 0.0],
            [0.0, sy, 0.0, 0.0],
            [0.0, 0.0, sz, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@qd.func
def rotation2d(ang):
    """2x2 counter-clockwise rotation by `ang` of column vectors.

    M = qd.math.rotation2d(0.5)
    """
    c = qd.cos(ang)
    s = qd.sin(ang)
    return mat2([[c, -s], [s, c]])


@qd.func
def rot_by_axis(axis, ang):
    """4x4 rotation by `ang` about the 3-vector `axis` (any length but 0), row-vector convention.

    M = qd.math.rot_by_axis(axis, 0.5)
    """
    u = axis / axis.norm()
    c = qd.cos(ang)
    s = qd.sin(ang)
    k = 1.0 - c
    x = u[0]
    y = u[1]
    z = u[2]
    return mat4(
        [
            [c + k * x * x, k * x * y + s * z, k * x * z - s * y, 0.0],
            [k * y * x - s * z, c + k * y * y, k * y * z + s * x, 0.0],
            [k * z * x + s * y, k * z * y - s * x, c + k * z * z, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@qd.func
def rot_yaw_pitch_roll(yaw, pitch, roll):
    """4x4 rotation: `roll` about z, then `pitch` about x, then `yaw` about y, row-vector convention.

    M = qd.math.rot_yaw_pitch_roll(yaw, pitch, roll)
    """
    ch = qd.cos(yaw)
    sh = qd.sin(yaw)
    cp = qd.cos(pitch)
    sp = qd.sin(pitch)
    cb = qd.cos(roll)
    sb = qd.sin(roll)
    return mat4(
        [
            [ch * cb + sh * sp * sb, sb * cp, -sh * cb + ch * sp * sb, 0.0],
            [-ch * sb + sh * sp * cb, cb * cp, sb * sh + ch * sp * cb, 0.0],
            [sh * cp, -sp, ch * cp, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@qd.func
def rotation3d(ang_x, ang_y, ang_z):
    """4x4 rotation `rot_yaw_pitch_roll(ang_z, ang_x, ang_y)`.

    M = qd.math.rotation3d(0.1, 0.2, 0.3)
    """
    return rot_yaw_pitch_roll(ang_z, ang_x, ang_y)


@qd.func
def vdir(ang):
    """Unit 2-vector `(cos(ang), sin(ang))`.

    d = qd.math.vdir(0.5)
    """
    return vec2(qd.cos(ang), qd.sin(ang))
