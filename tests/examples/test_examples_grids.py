"""fluid, wave, game_of_life, life_bits, saxpy_bits and mandelbrot: analytic solutions, invariants and symmetries."""

from __future__ import annotations

import numpy as np
import pytest

from quadrants.examples import fluid, game_of_life, life_bits, mandelbrot, saxpy_bits, wave


def f64(array) -> np.ndarray:
    return array.to_numpy().astype(np.float64)


# wave


def standing_wave(cells: int, courant: float = 0.5):
    """A pond with the mode sin(pi x) sin(2 pi y), its exact solution, and the time of one period."""
    pond = wave.Pond(cells, courant=courant)
    s = np.linspace(0, 1, cells + 1)
    shape = np.sin(np.pi * s)[:, None] * np.sin(2 * np.pi * s)[None, :]
    # sin(pi) is not quite 0 in floating point.
    shape[[0, -1]] = shape[:, [0, -1]] = 0.0
    omega = np.pi * np.sqrt(5.0)
    pond.start(shape * np.cos(-omega * pond.dt), shape)
    return pond, shape, omega


def test_wave_converges_with_second_order():
    errors = []
    for cells in (16, 32, 64):
        pond, shape, omega = standing_wave(cells)
        steps = round(0.5 / pond.dt)
        pond.step(steps)
        errors.append(np.abs(f64(pond.now) - shape * np.cos(omega * steps * pond.dt)).max())
    assert errors[-1] < 5e-3
    assert all(3.2 < a / b < 4.8 for a, b in zip(errors, errors[1:], strict=False)), errors


def test_wave_conserves_energy_and_the_border():
    pond, _, _ = standing_wave(32)
    wave.drop(pond.before, pond.now, 0.4, 0.3, 0.1, 0.5)
    energy = pond.energy()
    pond.step(500)
    assert pond.energy() == pytest.approx(energy, rel=1e-3)
    u = f64(pond.now)
    assert not (u[0].any() or u[-1].any() or u[:, 0].any() or u[:, -1].any())


def test_wave_damping_dissipates():
    pond, _, _ = standing_wave(32)
    pond.damping = 0.01
    energy = pond.energy()
    pond.step(300)
    assert pond.energy() < 0.2 * energy


def test_wave_rejects_an_unstable_step():
    with pytest.raises(ValueError, match="courant"):
        wave.Pond(16, courant=0.8)


# fluid


def divergence(smoke: fluid.Smoke) -> np.ndarray:
    u, v = f64(smoke.u), f64(smoke.v)
    return np.diff(u, axis=0) + np.diff(v, axis=1)


def stirred(n=24, **options) -> fluid.Smoke:
    smoke = fluid.Smoke(n, **options)
    rng = np.random.default_rng(6)
    u, v = np.zeros((n + 1, n), np.float32), np.zeros((n, n + 1), np.float32)
    u[1:-1] = rng.normal(size=(n - 1, n))
    v[:, 1:-1] = rng.normal(size=(n, n - 1))
    smoke.u.from_numpy(u)
    smoke.v.from_numpy(v)
    return smoke


def test_fluid_projection_removes_divergence_only():
    smoke = stirred(sweeps=150)
    before = divergence(smoke)
    u = f64(smoke.u)
    smoke.project()
    assert np.abs(divergence(smoke)).max() < 1e-4 * np.abs(before).max()
    # What is divergence free already is left alone.
    u = f64(smoke.u)
    smoke.p.fill(0)
    smoke.project()
    assert np.abs(f64(smoke.u) - u).max() < 1e-3


def test_fluid_projection_never_adds_energy():
    smoke = stirred(sweeps=150)
    before = (f64(smoke.u) ** 2).sum() + (f64(smoke.v) ** 2).sum()
    smoke.project()
    after = (f64(smoke.u) ** 2).sum() + (f64(smoke.v) ** 2).sum()
    assert after < before


@pytest.mark.parametrize("axis", [0, 1])
def test_fluid_carries_velocity_and_smoke_downstream(axis):
    n, speed = 32, 1.5
    smoke = fluid.Smoke(n, dt=2.0)
    along, across = ((smoke.u, smoke.v), (smoke.v, smoke.u))[axis]
    along.fill(speed)
    s = np.arange(n + 1)

    def bump(shape):
        x, y = (np.indices(shape) - 14.0) / 3.0
        return np.exp(-(x**2) - y**2).astype(np.float32)

    across.from_numpy(0.01 * bump(across.shape))
    smoke.smoke.from_numpy(bump((n, n)))
    smoke.advect()
    for moved in (across, smoke.smoke):
        after = f64(smoke.smoke_next if moved is smoke.smoke else (smoke.v_next, smoke.u_next)[axis])
        weight = after.sum(axis=1 - axis)
        assert (weight * s[: len(weight)]).sum() / weight.sum() == pytest.approx(14.0 + 2.0 * speed, abs=0.05)


def test_fluid_walls_are_tight():
    smoke = stirred()
    smoke.emit(12.0, 4.0, 6.0)
    for _ in range(10):
        smoke.step()
    u, v = f64(smoke.u), f64(smoke.v)
    assert not (u[0].any() or u[-1].any() or v[:, 0].any() or v[:, -1].any())


def test_fluid_uniform_smoke_stays_at_rest():
    # Uniform buoyancy in a closed box is balanced by pressure.
    smoke = fluid.Smoke(16, sweeps=200)
    smoke.smoke.fill(1.0)
    smoke.step()
    assert np.abs(f64(smoke.v)).max() < 1e-4
    assert np.allclose(f64(smoke.smoke), 1.0)


def test_fluid_smoke_stays_within_its_bounds_and_symmetric():
    smoke = fluid.Smoke(32, sweeps=150)
    for _ in range(15):
        smoke.emit(16.0, 4.0, 6.0)
        smoke.step()
    s = f64(smoke.smoke)
    assert s.min() >= 0 and s.max() <= 1 + 1e-6
    assert np.abs(s - s[::-1]).max() < 1e-3
    height = (s.sum(axis=0) * np.arange(32)).sum() / s.sum()
    assert height > 5.5, "smoke must rise from where it is emitted, around 3.5"


# game of life

GLIDER = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]])


def world(pattern, n=12, at=(4, 4)) -> np.ndarray:
    cells = np.zeros((n, n), int)
    cells[at[0] : at[0] + pattern.shape[0], at[1] : at[1] + pattern.shape[1]] = pattern
    return cells


def test_life_glider_moves_by_one_cell_in_four_generations():
    life = game_of_life.Life(world(GLIDER))
    life.step(4)
    assert np.array_equal(life.cells(), np.roll(world(GLIDER), (1, 1), (0, 1)))


def test_life_glider_comes_back_round_the_torus():
    start = world(GLIDER, n=8)
    life = game_of_life.Life(start)
    life.step(4 * 8)
    assert np.array_equal(life.cells(), start)


def test_life_still_lives_and_blinkers():
    block = world(np.ones((2, 2), int), at=(0, 0))
    life = game_of_life.Life(block)
    life.step(3)
    assert np.array_equal(life.cells(), block)
    blinker = world(np.ones((1, 3), int))
    life = game_of_life.Life(blinker)
    life.step()
    assert np.array_equal(life.cells(), world(np.ones((3, 1), int), at=(3, 5)))
    life.step()
    assert np.array_equal(life.cells(), blinker)


def test_life_matches_a_plain_implementation_on_a_rectangle():
    cells = (np.random.default_rng(8).random((17, 23)) < 0.4).astype(int)
    life = game_of_life.Life(cells)
    for _ in range(5):
        alive = sum(np.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - cells
        cells = ((alive == 3) | ((alive == 2) & (cells == 1))).astype(int)
        life.step()
        assert np.array_equal(life.cells(), cells)


def test_life_of_bits_is_the_game_of_life():
    cells = (np.random.default_rng(9).random((17, 96)) < 0.4).astype(int)
    bits, plain = life_bits.Life(cells), game_of_life.Life(cells)
    for _ in range(5):
        bits.step()
        plain.step()
        assert np.array_equal(bits.cells(), plain.cells())


# quantised saxpy


def test_each_step_of_a_quantised_saxpy_rounds_by_half_a_step():
    pairs = saxpy_bits.Saxpy(500)
    for turn in range(1, 9):
        pairs.step(0.1)
        assert abs(pairs.errors()).max() <= 0.5 * turn + 0.01  # and f32 rounds too
    assert abs(pairs.errors()).max() > 0.5


# mandelbrot


@pytest.mark.parametrize("c, inside", [
    ((0.0, 0.0), True), ((-1.0, 0.0), True), ((-0.1, 0.0), True), ((0.24, 0.0), True), ((-0.12, 0.74), True),
    ((0.3, 0.0), False), ((1.0, 0.0), False), ((-2.1, 0.0), False), ((0.0, 1.1), False), ((0.4, 0.4), False),
])  # fmt: skip
def test_mandelbrot_membership(c, inside):
    time = mandelbrot.escape_times(1, 1, centre=c, width=1e-6, limit=300)[0, 0]
    assert (time == 300) == inside


def test_mandelbrot_is_symmetric_about_the_real_axis():
    times = mandelbrot.escape_times(41, 60, limit=100)
    assert np.allclose(times, times[::-1], rtol=1e-4)
    assert (times == 100).any() and (times < 10).any()


def test_mandelbrot_area():
    # The area of the set is 1.5066; counting points that have not escaped overestimates it.
    times = mandelbrot.escape_times(300, 300, centre=(-0.5, 0.0), width=3.0, limit=400)
    assert (times == 400).mean() * 9.0 == pytest.approx(1.51, abs=0.04)


def test_mandelbrot_times_are_smooth():
    # Without the fractional part neighbours would differ by whole iterations.
    times = mandelbrot.escape_times(1, 400, centre=(1.0, 0.0), width=0.5, limit=200)[0]
    assert np.abs(np.diff(times)).max() < 0.2
