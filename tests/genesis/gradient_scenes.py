"""Differentiable scenes of Genesis in double precision, and the slopes of their losses by two ways.

    python gradient_scenes.py push|rigid|fem

prints one line of JSON: the file of the package that ran, and for each input of the scene what `compare` found.
"""

from __future__ import annotations

import json
import sys

import genesis as gs
import torch

import quadrants as qd

EPSILON = 1e-6
# Inputs with more components than these are tried along a few directions only.
MOST_COMPONENTS = 30
DIRECTIONS = 3


def tensor(values):
    return torch.tensor(values, dtype=gs.tc_float)


def noise(*shape: int, seed: int = 0):
    return torch.randn(*shape, dtype=gs.tc_float, generator=torch.Generator().manual_seed(seed))


def directions_of(value):
    """Unit vectors, one a row, in the space of the tensor."""
    n = value.numel()
    if n <= MOST_COMPONENTS:
        return torch.eye(n, dtype=value.dtype)
    rows = noise(DIRECTIONS, n, seed=7)
    return rows / rows.norm(dim=1, keepdim=True)


def compare(loss_of, inputs: dict, gradients: dict) -> dict:
    """Slopes of the loss along directions of each input: from the gradient, and from central differences.

    `loss_of(**inputs)` is a float. `error` is the norm of what the slopes are apart over the norm of the gradient.
    Where only some directions are tried, it is over the norm of the slopes along them, which is smaller.
    """
    found = {}
    for name, value in inputs.items():
        rows = directions_of(value)
        slopes = rows @ gradients[name].reshape(-1)
        differences = []
        for row in rows:
            moved = EPSILON * row.reshape(value.shape)
            ahead, behind = (loss_of(**{**inputs, name: value + sign * moved}) for sign in (1, -1))
            differences.append((ahead - behind) / (2 * EPSILON))
        apart = (slopes - tensor(differences)).norm() / slopes.norm()
        found[name] = {"gradient": slopes.tolist(), "difference": differences, "error": apart.item()}
    return found


def through_torch(rollout, inputs: dict) -> dict:
    """`compare` with the gradients that `rollout(**inputs).backward()` leaves in the inputs."""
    leaves = {name: value.clone().requires_grad_() for name, value in inputs.items()}
    rollout(**leaves).backward()

    def loss_of(**values) -> float:
        with torch.no_grad():
            return rollout(**values).item()

    return compare(loss_of, inputs, {name: leaf.grad for name, leaf in leaves.items()})


def push() -> dict:
    scene = gs.Scene(
        show_viewer=False,
        sim_options=gs.options.SimOptions(dt=1e-3, substeps=5, requires_grad=True),
        mpm_options=gs.options.MPMOptions(lower_bound=(0.2,) * 3, upper_bound=(0.8,) * 3, grid_density=24),
    )
    # With a scale other than 1 the tool's distance field has the wrong size: Genesis multiplies where it should divide.
    ball = gs.morphs.Mesh(file="meshes/sphere.obj", scale=1.0, pos=(0.503, -0.115, 0.507))
    tool = scene.add_entity(ball, material=gs.materials.Tool(friction=0.5))
    bodies = [
        scene.add_entity(
            gs.morphs.Box(size=(0.09, 0.12, 0.12), pos=(x, 0.455, 0.5)),
            material=gs.materials.MPM.Elastic(E=1e5, model=model),
        )
        for x, model in ((0.45, "corotation"), (0.55, "neohooken"))
    ]
    scene.build()
    target = tensor([0.5, 0.8, 0.4])

    def rollout(tool_velocity, tool_spin, tool_position, tool_quaternion, **velocities):
        scene.reset()
        for body, velocity in zip(bodies, velocities.values()):
            body.set_velocity(velocity)
        tool.set_position(tool_position)
        tool.set_quaternion(tool_quaternion)
        tool.set_velocity(tool_velocity, tool_spin)
        for _ in range(5):
            scene.step()
        states = [body.get_state() for body in bodies]
        return sum(((s.pos - target) ** 2).mean() + ((s.vel - target) ** 2).mean() for s in states)

    return through_torch(
        rollout,
        {
            "tool_velocity": tensor([[0.1, 1.0, 0.05]]),
            "tool_spin": tensor([[0.3, 0.2, 0.5]]),
            "tool_position": tensor([[0.503, -0.115, 0.507]]),
            "tool_quaternion": tensor([[0.9, 0.1, -0.3, 0.2]]),
            "velocity_corotation": 0.1 * noise(bodies[0].n_particles, 3, seed=1),
            "velocity_neohooken": 0.1 * noise(bodies[1].n_particles, 3, seed=2),
        },
    )


def rigid() -> dict:
    scene = gs.Scene(
        show_viewer=False,
        sim_options=gs.options.SimOptions(dt=0.01, substeps=2, requires_grad=True),
        rigid_options=gs.options.RigidOptions(enable_collision=False),
    )
    body = scene.add_entity(gs.morphs.Box(size=(0.1, 0.2, 0.3), pos=(0, 0, 1)))
    scene.build(n_envs=2)
    target, turned = tensor([1.0, 0, 0.5]), tensor([0.5, 0.5, -0.5, 0.5])

    def rollout(position, quaternion, velocity, forces):
        scene.reset()
        body.set_pos(position)
        body.set_quat(quaternion)
        body.set_dofs_velocity(velocity)
        for force in forces:
            body.control_dofs_force(force)
            scene.step()
        state = body.get_state()
        return ((state.pos - target) ** 2).sum() + ((state.quat - turned) ** 2).sum()

    return through_torch(
        rollout,
        {
            "position": tensor([[0.1, 0.2, 1.1], [0.0, -0.1, 0.9]]),
            "quaternion": tensor([[0.8, 0.0, 0.6, 0.0], [0.5, 0.5, 0.1, -0.7]]),
            "velocity": tensor([[0.5, -0.3, 1.0, 4.0, 2.0, -3.0], [0.1, 0.2, 0.0, -2.0, 5.0, 1.0]]),
            "forces": 5 * noise(10, 2, 6),
        },
    )


def fem() -> dict:
    """The substeps and their reverse passes are called one by one: nothing above them works for this solver.

    In Genesis 1.4.5 `loss.backward()` ends in a KeyError, since the solver loads checkpoints of its entities that it
    never saved, and would end in an AttributeError after that (`max_steps_local`).
    """
    substeps = 20
    scene = gs.Scene(
        show_viewer=False,
        sim_options=gs.options.SimOptions(dt=1e-2, substeps=substeps, requires_grad=True),
        fem_options=gs.options.FEMOptions(use_implicit_solver=False, damping=5.0),
    )
    for x, model in ((0.0, "linear"), (0.5, "stable_neohookean")):
        scene.add_entity(
            gs.morphs.Box(size=(0.1, 0.15, 0.2), pos=(x, 0, 0.095)),
            material=gs.materials.FEM.Muscle(E=1e4, nu=0.3, model=model),
        )
    scene.build()
    sim, solver = scene.sim, scene.sim.fem_solver
    n = solver.n_vertices
    target, weights = tensor([0.1, 0.2, 0.3]), noise(n, 3)

    def rollout(position, velocity, actuation):
        """The loss and the state that it was taken of, with all frames of the roll-out in memory."""
        scene.reset()
        solver._kernel_set_elements_pos(0, 0, n, position[None].contiguous())
        solver._kernel_set_elements_vel(0, 0, n, velocity[None].contiguous())
        solver.elements_el.actu.from_numpy(actuation.expand(substeps + 1, -1)[..., None].contiguous().numpy())
        for f in range(substeps):
            sim.substep(f)
        state = solver.get_state(substeps)
        loss = ((state.pos - target) ** 2).mean() + (weights * state.vel).mean() + (state.vel**2).mean()
        return loss, state

    # The floor is at 0 and the bottoms of the boxes are below it, so some of the vertices are in contact.
    inputs = {
        "position": solver.get_state(0).pos[0].detach() * tensor([1.02, 0.98, 1.05]),
        "velocity": 0.3 * noise(n, 3, seed=1),
        "actuation": 0.1 * noise(solver.n_elements, seed=2).abs(),
    }
    loss, state = rollout(**inputs)
    loss.backward()
    solver._kernel_add_grad_from_pos(substeps, state.pos.grad)
    solver._kernel_add_grad_from_vel(substeps, state.vel.grad)
    for f in reversed(range(substeps)):
        sim.sub_step_grad(f)
    gradients = {
        "position": torch.from_numpy(solver.elements_v.grad.pos.to_numpy()[0, :, 0]),
        "velocity": torch.from_numpy(solver.elements_v.grad.vel.to_numpy()[0, :, 0]),
        "actuation": torch.from_numpy(solver.elements_el.grad.actu.to_numpy()[..., 0].sum(0)),
    }
    return compare(lambda **values: rollout(**values)[0].item(), inputs, gradients)


if __name__ == "__main__":
    gs.init(backend=gs.cpu, precision="64", seed=0, logging_level="error")
    slopes = {"push": push, "rigid": rigid, "fem": fem}[sys.argv[1]]()
    print(json.dumps({"package": qd.__file__, "slopes": slopes}))
