"""Particles, cloth, soft bodies, smoke, and their coupling with rigid bodies and tools."""

from __future__ import annotations

import numpy as np
import torch

import quadrants as qd

from .kit import MAT, OPT, M, box, cloud, go, gs, show, world

LOW, HIGH = (-0.5, -0.5, 0), (0.5, 0.5, 1)


def mpm(material: str) -> None:
    scene = world(
        sim_options=OPT.SimOptions(dt=4e-3, substeps=10),
        mpm_options=OPT.MPMOptions(lower_bound=LOW, upper_bound=HIGH, grid_density=32),
    )
    body = box(scene, (0, 0, 0.3), material=getattr(MAT.MPM, material)())
    go(scene, 50)
    cloud(body.get_particles_pos())


def sph(solver: str) -> None:
    options = OPT.SPHOptions(lower_bound=LOW, upper_bound=HIGH, particle_size=0.02, pressure_solver=solver)
    scene = world(sim_options=OPT.SimOptions(dt=4e-3, substeps=10), sph_options=options)
    body = box(scene, (0, 0, 0.3), 0.3, material=MAT.SPH.Liquid(sampler="regular"))
    go(scene, 25)
    cloud(body.get_particles_pos())


def pbd(kind: str) -> None:
    scene = world(sim_options=OPT.SimOptions(dt=4e-3, substeps=10))
    material = getattr(MAT.PBD, kind)
    if kind == "Cloth":
        body = scene.add_entity(M.Mesh(file="meshes/cloth.obj", pos=(0, 0, 0.5)), material=material())
        go(scene, 25, lambda: body.fix_particles(body.find_closest_particle((-1, -1, 0.5))))
    else:
        body = box(scene, (0, 0, 0.2), 0.1, material=material(sampler="regular") if kind == "Liquid" else material())
        go(scene, 25)
    cloud(body.get_particles_pos())


def fem(kind: str) -> None:
    implicit, sap = kind != "explicit", kind == "sap"
    scene = world(
        not sap,
        sim_options=OPT.SimOptions(dt=1 / 60 if implicit else 1e-3, substeps=2 if implicit else 10),
        fem_options=OPT.FEMOptions(use_implicit_solver=implicit, damping=0.0 if implicit else 45.0),
        coupler_options=OPT.SAPCouplerOptions() if sap else OPT.LegacyCouplerOptions(),
    )
    elastic = MAT.FEM.Elastic
    material = elastic(E=1e5, nu=0.4, model="linear_corotated") if implicit else elastic(E=1e4, nu=0.3)
    body = scene.add_entity(M.Sphere(radius=0.1, pos=(0, 0, 0.2)), material=material)
    go(scene, 30 if implicit else 200)
    cloud(body.get_state().pos)


def tool() -> None:
    scene = world(
        False, sim_options=OPT.SimOptions(dt=2e-3, substeps=10),
        mpm_options=OPT.MPMOptions(lower_bound=(0, 0, -0.1), upper_bound=(1, 1, 1), grid_density=32),
    )  # fmt: skip
    ball = M.Mesh(file="meshes/sphere.obj", scale=0.05, pos=(0.5, 0.5, 0.65))
    pusher = scene.add_entity(ball, material=MAT.Tool())
    body = box(scene, (0.5, 0.5, 0.2), material=MAT.MPM.Elastic())
    scene.build()
    for _ in range(20):
        pusher.set_velocity(vel=torch.tensor([[0, 0, -1.0]]))
        scene.step()
    show(mean=body.get_particles_pos().mean(-2), tool=pusher.get_state().pos)


def couple(cpic: str = "") -> None:
    scene = world(
        sim_options=OPT.SimOptions(dt=4e-3, substeps=10),
        mpm_options=OPT.MPMOptions(lower_bound=LOW, upper_bound=HIGH, grid_density=32, enable_CPIC=bool(cpic)),
    )
    liquid = box(scene, (0, 0, 0.25), material=MAT.MPM.Liquid())
    rigid = MAT.Rigid(rho=200, needs_coup=True)
    ball = scene.add_entity(M.Sphere(radius=0.08, pos=(0.02, 0, 0.5)), material=rigid)
    go(scene, 50)
    show(ball=ball.get_pos(), mean=liquid.get_particles_pos().mean(-2))


@qd.data_oriented
class Jet:
    @qd.func
    def get_factor(self, i, j, k, dx, t):
        r = qd.Vector([i, j, k], dt=gs.qd_float) * dx - qd.Vector([0.5, 0.5, 0.2], dt=gs.qd_float)
        return qd.exp(-r.norm_sqr() / 0.005)

    @qd.func
    def get_tan_dir(self, t):
        return qd.Vector([0.0, 0.0, 1.0], dt=gs.qd_float)


def smoke() -> None:
    scene = world(False, sf_options=OPT.SFOptions(res=32, solver_iters=50, decay=0.025))
    solver = scene.sim.sf_solver
    solver.set_jets([Jet()])
    go(scene, 5)
    density, speed = solver.grid.q.to_numpy(), solver.grid.v.to_numpy()
    show(shape=density.shape, density=density.sum(), speed=np.abs(speed).sum())
