"""A room with a ceiling light and three balls: a Monte Carlo path tracer that refines its picture."""

from __future__ import annotations

import math

import numpy as np

import quadrants as qd

from ._picture import to_bytes
from ._run import Run

vec3 = qd.math.vec3
DIFFUSE, MIRROR, GLASS = 0, 1, 2
FAR = 1e9
# Rays start this far off a surface, so that they do not hit it again.
NUDGE = 1e-4


@qd.func
def reflectance(cosine, ratio):
    """Schlick's approximation of the part of light that a surface between two media reflects."""
    r0 = ((1.0 - ratio) / (1.0 + ratio)) ** 2
    return r0 + (1.0 - r0) * (1.0 - cosine) ** 5


@qd.func
def diffuse_direction(normal):
    """A random direction around `normal` with density cosine / pi: a point of a sphere that sits on the surface."""
    height = 2.0 * qd.random() - 1.0
    angle = 2.0 * math.pi * qd.random()
    radius = qd.sqrt(qd.max(1.0 - height * height, 0.0))
    direction = normal + vec3(radius * qd.cos(angle), radius * qd.sin(angle), height)
    # Exactly opposite points cancel; the normal itself is then as good as any direction.
    return qd.math.normalize(direction) if direction.norm_sqr() > 1e-8 else normal


@qd.func
def glass_direction(direction, normal, outside):
    """Reflected or refracted at random; `normal` faces the ray, `outside` tells whether the ray comes from the air."""
    ratio = 1.0 / 1.5 if outside else 1.5
    cosine = -direction.dot(normal)
    bent = qd.math.refract(direction, normal, ratio)
    total = bent.norm_sqr() == 0.0
    chance = 1.0 if total else reflectance(cosine, ratio)
    return qd.math.reflect(direction, normal) if qd.random() < chance else bent


@qd.data_oriented
class Scene:
    """Balls in the cube [-1, 1]^3, whose walls may be left out, in an environment of constant radiance.

    balls: list of (centre, radius, albedo, kind). walls: whether the cube is there: red left, green right, else white.
    light: radiance of the square in the ceiling. glow: radiance of all walls. environment: radiance where rays hit
    nothing. depth: surfaces that a path may meet.
    """

    def __init__(self, size: int, balls, walls: bool = True, wall_albedo: float = 0.75, light: float = 6.0,
                 glow: float = 0.0, environment: float = 0.0, depth: int = 8):  # fmt: skip
        self.size = size
        self.walls = walls
        self.wall_albedo = wall_albedo
        self.light = light
        self.glow = glow
        self.environment = environment
        self.depth = depth
        self.samples = 0
        self.ball_count = len(balls)
        self.centre = qd.Vector.field(3, qd.f32, shape=max(1, len(balls)))
        self.radius = qd.field(qd.f32, shape=max(1, len(balls)))
        self.albedo = qd.Vector.field(3, qd.f32, shape=max(1, len(balls)))
        self.kind = qd.field(qd.i32, shape=max(1, len(balls)))
        self.total = qd.Vector.field(3, qd.f32, shape=(size, size))
        for k, (centre, radius, albedo, kind) in enumerate(balls):
            self.centre[k] = centre
            self.radius[k] = radius
            self.albedo[k] = albedo
            self.kind[k] = kind

    @qd.func
    def nearest_ball(self, origin, direction):
        """Distance and number of the first ball hit; FAR and -1 when there is none."""
        nearest = FAR
        which = -1
        for k in range(self.ball_count):
            towards = self.centre[k] - origin
            middle = towards.dot(direction)
            half2 = self.radius[k] ** 2 - (towards - middle * direction).norm_sqr()
            if half2 > 0.0:
                half = qd.sqrt(half2)
                # The near side, or the far one for a ray that starts inside.
                t = middle - half if middle - half > NUDGE else middle + half
                if NUDGE < t < nearest:
                    nearest = t
                    which = k
        return nearest, which

    @qd.func
    def nearest_wall(self, origin, direction):
        """Distance and inward normal of the wall hit from inside the cube."""
        nearest = FAR
        normal = vec3(0.0)
        for axis in qd.static(range(3)):
            if qd.abs(direction[axis]) > 1e-9:
                side = 1.0 if direction[axis] > 0.0 else -1.0
                t = (side - origin[axis]) / direction[axis]
                if t < nearest:
                    nearest = t
                    normal = vec3(0.0)
                    normal[axis] = -side
        return nearest, normal

    @qd.func
    def radiance(self, origin, direction):
        """Light that arrives along one random path."""
        result = vec3(0.0)
        weight = vec3(1.0)
        bounces = 0
        while bounces < self.depth:
            bounces += 1
            t, ball = self.nearest_ball(origin, direction)
            normal = vec3(0.0)
            albedo = vec3(0.0)
            kind = DIFFUSE
            emitted = self.environment
            if ball >= 0:
                emitted = 0.0
                normal = (origin + t * direction - self.centre[ball]) / self.radius[ball]
                albedo = self.albedo[ball]
                kind = self.kind[ball]
            if qd.static(self.walls):
                wall_t, wall_normal = self.nearest_wall(origin, direction)
                if wall_t < t:
                    t = wall_t
                    ball = self.ball_count
                    normal = wall_normal
                    kind = DIFFUSE
                    albedo = vec3(self.wall_albedo)
                    if normal.x > 0.5:
                        albedo = self.wall_albedo * vec3(1.0, 0.2, 0.15)
                    if normal.x < -0.5:
                        albedo = self.wall_albedo * vec3(0.2, 1.0, 0.25)
                    emitted = self.glow
                    place = origin + t * direction
                    if normal.y < -0.5 and qd.max(qd.abs(place.x), qd.abs(place.z)) < 0.5:
                        emitted += self.light
            result += emitted * weight
            if ball < 0:
                break
            weight *= albedo
            outside = direction.dot(normal) < 0.0
            facing = normal if outside else -normal
            place = origin + t * direction
            if kind == DIFFUSE:
                direction = diffuse_direction(facing)
            elif kind == MIRROR:
                direction = qd.math.reflect(direction, facing)
            else:
                direction = glass_direction(direction, facing, outside)
            # To the side of the surface on which the path goes on.
            step = NUDGE if direction.dot(facing) > 0.0 else -NUDGE
            origin = place + step * facing
        return result

    @qd.kernel
    def add_samples(self, count: qd.i32):
        for i, j in self.total:
            for _ in range(count):
                x = 2.0 * (i + qd.random()) / self.size - 1.0
                y = 2.0 * (j + qd.random()) / self.size - 1.0
                direction = qd.math.normalize(vec3(0.7 * x, 0.7 * y, -1.0))
                self.total[i, j] += self.radiance(vec3(0.0, 0.0, 0.99), direction)

    def sample(self, count: int) -> None:
        """Adds `count` paths per pixel to the picture."""
        self.add_samples(count)
        self.samples += count

    def picture(self) -> np.ndarray:
        """Mean radiance (size, size, 3); the first index goes right, the second up."""
        return self.total.to_numpy() / self.samples


BALLS = [
    ((-0.5, -0.65, -0.45), 0.35, (0.95, 0.95, 0.95), MIRROR),
    ((0.5, -0.68, -0.15), 0.32, (1.0, 1.0, 1.0), GLASS),
    ((0.1, -0.8, -0.65), 0.2, (0.25, 0.45, 0.9), DIFFUSE),
]


def main(run: Run) -> None:
    scene = Scene(640 if run.large else 256, BALLS)
    for _ in run.frames(40):
        with run.work(scene.size**2 * 4, "paths"):
            scene.sample(4)
        # The square root is close to the response of a screen.
        run.show(lambda: to_bytes(np.sqrt(np.swapaxes(scene.picture(), 0, 1)[::-1])))
