"""mpm88, mpm3d, sph and nbody: conservation laws, free fall, analytic orbits."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.examples import mpm3d, mpm88, nbody, sph


def f64(array) -> np.ndarray:
    return array.to_numpy().astype(np.float64)


# mpm88


def droplet(**options) -> mpm88.Water:
    """A square of water in the middle of the box that moves and spins, far from all walls."""
    water = mpm88.Water(particles=600, cells=48, **options)
    water.fill_block(0.4, 0.4, 0.2, 0.2)
    r = f64(water.x) - 0.5
    water.v.from_numpy(np.stack([0.5 - 3 * r[:, 1], -0.2 + 3 * r[:, 0]], axis=1).astype(np.float32))
    return water


def test_mpm88_transfers_conserve_mass_and_momentum():
    water = droplet(gravity=0.0)
    water.clear_grid()
    water.particles_to_grid()
    assert np.isclose(f64(water.grid_m).sum(), water.count * water.mass, rtol=1e-5)
    momentum = water.mass * f64(water.v).sum(axis=0)
    assert np.allclose(f64(water.grid_v).sum(axis=(0, 1)), momentum, rtol=1e-4, atol=1e-7)


def angular_momentum(water: mpm88.Water) -> float:
    """Of the particles, with the part that their affine velocity fields carry."""
    x, v, C = f64(water.x), f64(water.v), f64(water.C)
    orbital = x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]
    spin = 0.25 * water.dx**2 * (C[:, 1, 0] - C[:, 0, 1])
    return water.mass * (orbital + spin).sum()


def test_mpm88_conserves_momentum_and_angular_momentum():
    water = droplet(gravity=0.0)
    water.step()
    p, L = f64(water.v).sum(axis=0), angular_momentum(water)
    water.step(40)
    assert np.allclose(f64(water.v).sum(axis=0), p, rtol=1e-3)
    assert np.isclose(angular_momentum(water), L, rtol=1e-3)


def test_mpm88_falls_freely():
    water = droplet(gravity=9.8)
    start = f64(water.x).mean(axis=0)
    v0 = f64(water.v).mean(axis=0)
    steps = 100
    water.step(steps)
    t = steps * water.dt
    expected = start + v0 * t + np.array([0.0, -0.5 * 9.8 * t * (t + water.dt)])
    assert np.allclose(f64(water.x).mean(axis=0), expected, atol=2e-5)


def test_mpm88_stays_in_the_box_and_nearly_incompressible():
    water = mpm88.Water(particles=1000, cells=48)
    water.fill_block(0.1, 0.1, 0.3, 0.3)
    water.step(1500)
    x, J = f64(water.x), f64(water.J)
    assert np.isfinite(x).all() and x.min() > 0.02 and x.max() < 0.98
    assert 0.8 < J.mean() < 1.2
    assert x[:, 1].mean() < 0.25


# mpm3d


def floating_cube(**options) -> mpm3d.Jelly:
    x = mpm3d.cube((0.4, 0.4, 0.4), 6, 0.5 / 16)
    return mpm3d.Jelly(x, np.zeros_like(x), cells=16, **options)


def corotated_energy(F, mu, lam):
    stretch = np.linalg.svd(F, compute_uv=False)
    stretch[-1] *= np.sign(np.linalg.det(F))
    return mu * ((stretch - 1) ** 2).sum() + 0.5 * lam * (np.linalg.det(F) - 1) ** 2


def test_mpm3d_stress_is_the_derivative_of_the_energy():
    @qd.kernel
    def stress(F: mpm3d.mat3, mu: qd.f32, lam: qd.f32) -> mpm3d.mat3:
        return mpm3d.kirchhoff_stress(F, mu, lam)

    rng = np.random.default_rng(4)
    step = 1e-5
    for _ in range(5):
        F = np.eye(3) + 0.2 * rng.standard_normal((3, 3))
        P = np.zeros((3, 3))
        for i, j in np.ndindex(3, 3):
            d = np.zeros((3, 3))
            d[i, j] = step
            P[i, j] = (corotated_energy(F + d, 2.0, 3.0) - corotated_energy(F - d, 2.0, 3.0)) / (2 * step)
        assert np.allclose(stress(qd.Matrix(F), 2.0, 3.0).to_numpy(), P @ F.T, rtol=1e-3, atol=1e-4)


def test_mpm3d_rest_state_is_a_fixed_point():
    jelly = floating_cube(gravity=0.0)
    x = f64(jelly.particles.x)
    jelly.step(20)
    assert np.abs(f64(jelly.particles.x) - x).max() < 1e-5


def test_mpm3d_rigid_rotation_has_no_stress():
    jelly = floating_cube(gravity=0.0)
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], np.float32)
    jelly.particles.F.from_numpy(np.tile(turn, (jelly.count, 1, 1)))
    jelly.step(5)
    assert np.abs(f64(jelly.particles.v)).max() < 1e-4


def test_mpm3d_conserves_momentum_while_it_oscillates():
    jelly = floating_cube(gravity=0.0)
    stretch = np.diag([1.1, 0.95, 1.0]).astype(np.float32)
    jelly.particles.F.from_numpy(np.tile(stretch, (jelly.count, 1, 1)))
    jelly.particles.v.from_numpy(np.tile(np.array([0.3, -0.1, 0.2], np.float32), (jelly.count, 1)))
    jelly.step(50)
    v = f64(jelly.particles.v)
    assert np.allclose(v.mean(axis=0), [0.3, -0.1, 0.2], atol=1e-4)
    assert np.abs(v - v.mean(axis=0)).max() > 0.05, "a stretched cube must move"
    assert np.isclose(f64(jelly.grid.m).sum(), jelly.count * jelly.material.mass, rtol=1e-5)


def test_mpm3d_cube_lands_and_keeps_its_volume():
    x = mpm3d.cube((0.35, 0.22, 0.35), 6, 0.5 / 16)
    jelly = mpm3d.Jelly(x, np.zeros_like(x), cells=16)
    jelly.step(1500)
    final = f64(jelly.particles.x)
    assert np.isfinite(final).all() and final[:, 1].min() > 0.1
    assert np.linalg.det(f64(jelly.particles.F)).mean() == pytest.approx(1.0, abs=0.1)
    assert final[:, 1].mean() < x[:, 1].mean()


# sph


def pool(seed=0, **options) -> sph.Water:
    rng = np.random.default_rng(seed)
    spacing = 0.04
    x = sph.block((0.3, 0.3), 10, 10, spacing) + rng.uniform(-0.01, 0.01, (100, 2))
    return sph.Water(x, rng.normal(0, 0.5, (100, 2)), spacing, **options)


def spline(r, h):
    q = r / h
    value = np.where(q < 1, 1 - 1.5 * q**2 + 0.75 * q**3, np.where(q < 2, 0.25 * (2 - q) ** 3, 0))
    return 10 / (7 * np.pi * h**2) * value


def test_sph_slope_is_the_derivative_of_the_kernel():
    @qd.kernel
    def slopes(r: qd.types.ndarray(dtype=qd.f32, ndim=1), out: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in range(r.shape[0]):
            out[i] = sph.spline_slope(r[i], 0.5)

    r, out = np.linspace(0, 1.2, 50, dtype=np.float32), np.zeros(50, np.float32)
    slopes(r, out)
    expected = (spline(r.astype(float) + 1e-6, 0.5) - spline(np.abs(r.astype(float) - 1e-6), 0.5)) / 2e-6
    assert np.allclose(out[1:], expected[1:], atol=1e-3)


def test_sph_density_matches_the_sum_over_all_pairs():
    water = pool()
    water.find_neighbours()
    x = f64(water.x)
    r = np.linalg.norm(x[:, None] - x[None], axis=-1)
    assert np.allclose(f64(water.density), water.mass * spline(r, water.h).sum(axis=1), rtol=1e-4)


def test_sph_sort_keeps_every_particle_and_groups_cells():
    water = pool()
    before = sorted(map(tuple, np.concatenate([f64(water.x), f64(water.v)], axis=1)))
    water.find_neighbours()
    after = sorted(map(tuple, np.concatenate([f64(water.x), f64(water.v)], axis=1)))
    assert before == after
    start = water.start.to_numpy()
    cell = np.clip(np.floor(water.x.to_numpy() / np.float32(2 * water.h)).astype(int), 0, water.side - 1)
    flat = cell[:, 0] * water.side + cell[:, 1]
    assert start[0] == 0 and start[-1] == water.count
    assert all(set(flat[start[c] : start[c + 1]]) <= {c} for c in range(water.side**2))


def test_sph_conserves_momentum_away_from_walls():
    water = pool(gravity=0.0)
    p = f64(water.v).sum(axis=0)
    water.step(30)
    assert np.abs(f64(water.v).sum(axis=0) - p).max() < 1e-3
    assert np.linalg.norm(f64(water.v), axis=1).max() < 10


def test_sph_viscosity_dissipates():
    # Without pressure (far apart in density) only friction acts: the kinetic energy can only fall.
    water = pool(gravity=0.0, viscosity=1.0)
    water.mass *= 0.5
    energy = [(f64(water.v) ** 2).sum()]
    for _ in range(5):
        water.step(2)
        energy.append((f64(water.v) ** 2).sum())
    assert (np.diff(energy) <= 1e-6).all() and energy[-1] < 0.99 * energy[0]


def test_sph_pool_settles_inside_the_box():
    spacing = 0.05
    water = sph.Water(sph.block((0.07, 0.07), 18, 6, spacing), np.zeros((108, 2)), spacing, viscosity=0.5)
    water.step(3000)
    x = f64(water.x)
    assert np.isfinite(x).all() and x.min() >= 0 and x.max() <= 1
    assert np.linalg.norm(f64(water.v), axis=1).mean() < 0.3
    # A pool of this volume stands about 0.27 high.
    assert 0.08 < x[:, 1].mean() < 0.25


# nbody


def circular_pair(softening=0.0) -> nbody.Bodies:
    """Two unit masses a distance 2 apart; each goes round the centre with speed 1/2 in the time 4 pi."""
    x = np.array([[1.0, 0, 0], [-1.0, 0, 0]])
    v = np.array([[0, 0.5, 0], [0, -0.5, 0]])
    return nbody.Bodies(x, v, np.ones(2), max(softening, 1e-6))


def test_nbody_circular_orbit_closes_with_second_order():
    errors = []
    for steps in (50, 100):
        bodies = circular_pair()
        bodies.step(4 * np.pi / steps, steps)
        errors.append(np.linalg.norm(f64(bodies.x)[0] - [1, 0, 0]))
    assert errors[1] < 0.05
    assert 3.3 < errors[0] / errors[1] < 4.7


def test_nbody_force_matches_the_sum_over_all_pairs():
    bodies = nbody.galaxies(60)
    x, m = f64(bodies.x), f64(bodies.mass)
    d = x[None] - x[:, None]
    a = (m[None, :, None] * d / ((d**2).sum(-1) + bodies.softening**2)[..., None] ** 1.5).sum(axis=1)
    assert np.allclose(f64(bodies.a), a, rtol=1e-3, atol=1e-4)


def test_nbody_conserves_energy_and_momentum():
    bodies = nbody.galaxies(128)
    energy, momentum = bodies.energy(), bodies.momentum()
    bodies.step(0.004, 300)
    assert abs(bodies.energy() / energy - 1) < 1e-3
    assert np.abs(bodies.momentum() - momentum).max() < 1e-4


def test_nbody_is_reversible():
    bodies = nbody.galaxies(32)
    x = f64(bodies.x)
    bodies.step(0.01, 40)
    bodies.v.from_numpy(-bodies.v.to_numpy())
    bodies.step(0.01, 40)
    assert np.abs(f64(bodies.x) - x).max() < 1e-3
