"""cloth and path_tracer: momentum, energy, symmetry, contact; furnace tests and sampling statistics."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.examples import cloth, path_tracer
from quadrants.examples.path_tracer import DIFFUSE, GLASS, MIRROR, Scene


def f64(array) -> np.ndarray:
    return array.to_numpy().astype(np.float64)


# cloth


def free_cloth(n=8, **options) -> cloth.Cloth:
    """In empty space, without gravity, air and ball, unless the options say otherwise."""
    c = cloth.Cloth(n, **{"gravity": 0.0, "drag": 0.0, "ball": 0.0, **options})
    c.lay_out(0.5, 0.0)
    return c


def shake(c: cloth.Cloth, size: float) -> None:
    rng = np.random.default_rng(1)
    c.v.from_numpy(rng.normal(0, size, (c.n, c.n, 3)).astype(np.float32))


def test_cloth_rests_when_nothing_acts():
    c = free_cloth()
    x = f64(c.x)
    c.step(50)
    assert np.abs(f64(c.x) - x).max() < 1e-5


def test_cloth_conserves_momentum():
    c = free_cloth()
    shake(c, 1.0)
    x, v = f64(c.x), f64(c.v)
    momentum, spin = v.sum(axis=(0, 1)), np.cross(x, v).sum(axis=(0, 1))
    c.step(200)
    x, v = f64(c.x), f64(c.v)
    assert np.abs(v.sum(axis=(0, 1)) - momentum).max() < 1e-2
    assert np.abs(np.cross(x, v).sum(axis=(0, 1)) - spin).max() < 1e-2


def test_cloth_without_damping_keeps_its_energy():
    c = free_cloth(damping=0.0)
    shake(c, 1.0)
    energy = c.energy()
    c.step(1000)
    assert c.energy() == pytest.approx(energy, rel=0.05)


def test_cloth_damping_only_takes_energy():
    c = free_cloth()
    shake(c, 1.0)
    energy = [c.energy()]
    for _ in range(5):
        c.step(50)
        energy.append(c.energy())
    assert (np.diff(energy) < 0).all()


def test_cloth_falls_freely():
    c = free_cloth(gravity=9.8)
    steps = 100
    c.step(steps)
    t = steps * c.dt
    assert np.allclose(f64(c.x)[..., 1], 0.5 - 0.5 * 9.8 * t * (t + c.dt), atol=1e-5)


def test_cloth_drapes_over_the_ball_symmetrically():
    c = cloth.Cloth(16)
    c.lay_out(0.27, 0.0)
    c.step(2000)
    x = f64(c.x)
    assert np.linalg.norm(x, axis=-1).min() > c.ball - 1e-4
    assert x[0, 0, 1] < 0.1, "the corners hang down"
    mirrored = x[::-1] * np.array([-1.0, 1.0, 1.0])
    assert np.abs(x - mirrored).max() < 2e-2


# path tracer


def picture(balls, samples=2, size=24, **options) -> np.ndarray:
    scene = Scene(size, balls, **options)
    scene.sample(samples)
    return scene.picture().astype(np.float64)


BALL = ((0.0, 0.0, 0.0), 0.5)


def test_path_tracer_white_furnace():
    """In a uniform environment of radiance 1 nothing that does not absorb can be seen."""
    balls = [(*BALL, (1.0, 1.0, 1.0), MIRROR), ((0.6, 0.6, -0.5), 0.3, (1.0, 1.0, 1.0), DIFFUSE)]
    assert np.allclose(picture(balls, walls=False, environment=1.0, depth=200), 1.0, atol=1e-5)
    glass = [(*BALL, (1.0, 1.0, 1.0), GLASS)]
    assert np.allclose(picture(glass, walls=False, environment=1.0, depth=200), 1.0, atol=1e-5)


def test_path_tracer_grey_ball_in_the_furnace_has_its_albedo():
    """A convex ball reflects every path once, back into the environment."""
    scene_picture = picture([(*BALL, (0.5, 0.25, 1.0), DIFFUSE)], walls=False, environment=1.0)
    centre, corner = scene_picture[12, 12], scene_picture[0, 0]
    assert np.allclose(centre, [0.5, 0.25, 1.0], atol=1e-5)
    assert np.allclose(corner, 1.0)


def test_path_tracer_glowing_room_is_a_geometric_series():
    """Walls of radiance 1 and albedo a: every bounce adds a^k, up to the depth of the paths."""
    scene = Scene(16, [], wall_albedo=0.5, light=0.0, glow=1.0, depth=6)
    scene.sample(1)
    blue = scene.picture()[..., 2]
    expected = sum(0.5**k for k in range(6))
    # The coloured side walls absorb more; white paths give the bound and most of the picture.
    assert blue.max() == pytest.approx(expected, rel=1e-5)
    assert blue.min() > 1.0 - 1e-5


def test_path_tracer_energy_is_bounded_and_light_arrives():
    image = picture(path_tracer.BALLS, samples=8)
    assert np.isfinite(image).all() and image.min() >= 0
    assert 0.05 < image.mean() < 6.0


def test_path_tracer_colours_bleed_from_their_walls():
    image = picture([], samples=64, size=16)
    left, right = image[:3].mean(axis=(0, 1)), image[-3:].mean(axis=(0, 1))
    assert left[0] > 1.5 * left[1] and right[1] > 1.5 * right[0]


def test_path_tracer_diffuse_directions_follow_the_cosine():
    count = 100_000
    directions = qd.Vector.ndarray(3, qd.f32, count)
    normal = np.array([0.48, 0.6, -0.64])

    @qd.kernel
    def draw(out: qd.types.ndarray(dtype=qd.math.vec3, ndim=1), n: qd.math.vec3):
        for i in range(out.shape[0]):
            out[i] = path_tracer.diffuse_direction(n)

    draw(directions, qd.Vector(normal))
    d = f64(directions)
    assert np.allclose(np.linalg.norm(d, axis=1), 1.0, atol=1e-5)
    cosine = d @ normal
    # Density 2 cos: mean 2/3, mean square 1/2, and on the whole the directions average to 2/3 of the normal.
    assert cosine.min() > -1e-3
    assert cosine.mean() == pytest.approx(2 / 3, abs=0.005)
    assert (cosine**2).mean() == pytest.approx(1 / 2, abs=0.005)
    assert np.allclose(d.mean(axis=0), normal * 2 / 3, atol=0.01)


def test_path_tracer_mirror_shows_the_world_behind():
    """A mirror in an empty room without walls sees the environment, dimmed by its albedo."""
    image = picture([(*BALL, (0.8, 0.8, 0.8), MIRROR)], walls=False, environment=1.0)
    assert np.allclose(image[12, 12], 0.8, atol=1e-5)
