"""Differentiable scenes: the loss and the gradient of the initial velocity, twice, since a reset must give the same."""

from __future__ import annotations

import torch

from .kit import MAT, OPT, M, box, show, steps, world


def rigid() -> None:
    scene = world(
        False,
        sim_options=OPT.SimOptions(dt=0.01, requires_grad=True),
        rigid_options=OPT.RigidOptions(enable_collision=False),
    )
    cube = box(scene, (0, 0, 1))
    scene.build(n_envs=2)
    velocity = torch.tensor([[0.5, 0, 0, 0, 0, 1.0], [0.1, 0.2, 0, 0, 0, 0]], requires_grad=True)
    target = torch.tensor([1.0, 0, 0.5])
    _twice(scene, 20, velocity, cube.set_dofs_velocity, False, lambda: cube.get_state().pos, target)


def throw() -> None:
    scene = _matter()
    body = box(scene, (0.5, 0.5, 0.4), material=MAT.MPM.Elastic())
    scene.build()
    velocity = torch.tensor([0.0, 1.0, 0.0], requires_grad=True)
    target = torch.tensor([0.5, 0.8, 0.4])
    _twice(scene, 10, velocity, body.set_velocity, False, lambda: body.get_state().pos.mean(-2), target)


def push() -> None:
    scene = _matter()
    ball = M.Mesh(file="meshes/sphere.obj", scale=0.075, pos=(0.5, 0.3, 0.4))
    tool = scene.add_entity(ball, material=MAT.Tool(friction=8.0))
    body = box(scene, (0.5, 0.5, 0.4), material=MAT.MPM.Elastic())
    scene.build()
    velocity = torch.tensor([[0.1, 1.0, 0.05]], requires_grad=True)
    target = torch.tensor([0.5, 0.8, 0.4])
    _twice(scene, 10, velocity, tool.set_velocity, True, lambda: body.get_state().pos.mean(-2), target)


def _matter():
    options = OPT.MPMOptions(lower_bound=(0, 0, -0.1), upper_bound=(1, 1, 1), grid_density=32)
    return world(False, sim_options=OPT.SimOptions(dt=2e-3, substeps=10, requires_grad=True), mpm_options=options)


def _twice(scene, n: int, velocity, set_velocity, always: bool, position, target) -> None:
    for round_ in range(2):
        scene.reset()
        for i in range(n):
            if i == 0 or always:
                set_velocity(velocity)
            scene.step()
        loss = ((position() - target) ** 2).sum()
        loss.backward()
        show(**{f"loss{round_}": loss, f"grad{round_}": velocity.grad})
        velocity.grad = None


def contact() -> None:
    scene = world(sim_options=OPT.SimOptions(dt=0.01, requires_grad=True))
    cube = box(scene, (0, 0, 0.1))
    scene.build()
    velocity = torch.tensor([1.0, 0, 0, 0, 0, 0], requires_grad=True)
    cube.set_dofs_velocity(velocity)
    steps(scene, 10)
    pos = cube.get_state().pos
    loss = ((pos - torch.tensor([0.5, 0, 0.1])) ** 2).sum()
    loss.backward()
    show(loss=loss, pos=pos, grad=velocity.grad)
