"""Differentiable scenes of Genesis, one a process: `python gradient_scenes.py NAME` prints numbers as one line of JSON."""

from __future__ import annotations

import json
import sys
import time

import genesis as gs
import torch

import quadrants as qd

STEP = 1e-6
MOST_COMPONENTS = 24
DIRECTIONS = 3


def compare(rollout, **leaves):
    leaves = {name: torch.tensor(leaf, dtype=gs.tc_float, requires_grad=True) if not isinstance(leaf, torch.Tensor) else leaf for name, leaf in leaves.items()}
    t0 = time.time()
    loss = rollout(**leaves)
    loss.backward()
    t1 = time.time()
    out = {"loss": loss.item(), "backward_s": t1 - t0}
    generator = torch.Generator().manual_seed(7)
    for name, leaf in leaves.items():
        n = leaf.numel()
        if n <= MOST_COMPONENTS:
            directions = torch.eye(n, dtype=leaf.dtype)
        else:
            directions = torch.randn(DIRECTIONS, n, dtype=leaf.dtype, generator=generator)
            directions /= directions.norm(dim=1, keepdim=True)
        gradient = directions @ leaf.grad.reshape(-1)
        differences = []
        with torch.no_grad():
            for direction in directions:
                there = [
                    rollout(**{**leaves, name: leaf + sign * STEP * direction.reshape(leaf.shape)}).item()
                    for sign in (1, -1)
                ]
                differences.append((there[0] - there[1]) / (2 * STEP))
        d = torch.tensor(differences, dtype=leaf.dtype)
        out[name] = {"gradient": gradient.tolist(), "difference": differences, "error": ((gradient - d).norm() / d.norm()).item(), "norm": leaf.grad.norm().item()}
    out["all_s"] = time.time() - t1
    return out


def push(model="corotation", substeps=5):
    scene = gs.Scene(
        show_viewer=False,
        sim_options=gs.options.SimOptions(dt=2e-4 * substeps, substeps=substeps, requires_grad=True),
        mpm_options=gs.options.MPMOptions(lower_bound=(0.2, 0.2, 0.2), upper_bound=(0.8, 0.8, 0.8), grid_density=24),
    )
    tool = scene.add_entity(gs.morphs.Mesh(file="meshes/sphere.obj", scale=1.0, pos=(0.503, -0.115, 0.507)), material=gs.materials.Tool(friction=0.5))
    body = scene.add_entity(gs.morphs.Box(size=(0.2,) * 3, pos=(0.5, 0.5, 0.5)), material=gs.materials.MPM.Elastic(E=1e5, model=model))
    scene.build()
    target = torch.tensor([0.5, 0.8, 0.4])
    g = torch.Generator().manual_seed(1)
    w = torch.randn(body.n_particles, 3, generator=g, dtype=gs.tc_float)
    def rollout(tool_velocity, spin, velocity):
        scene.reset()
        body.set_velocity(velocity)
        for v, a in zip(tool_velocity, spin):
            tool.set_velocity(v[None].contiguous(), a[None].contiguous())
            scene.step()
        state = body.get_state()
        return (((state.pos - target) ** 2).mean() + 1e-2 * (w * state.vel).mean())
    steps = 5
    v = torch.tensor([[0.1, 1.0, 0.05]] * steps, dtype=gs.tc_float) + 0.05 * torch.randn(steps, 3, generator=g, dtype=gs.tc_float)
    a = torch.tensor([[0.3, 0.2, 0.5]] * steps, dtype=gs.tc_float)
    vel = 0.1 * torch.randn(body.n_particles, 3, generator=g, dtype=gs.tc_float)
    print(body.n_particles, file=sys.stderr)
    return compare(rollout, tool_velocity=v.requires_grad_(), spin=a.requires_grad_(), velocity=vel.requires_grad_())


def push_neo():
    return push("neohooken")


def rigid():
    scene = gs.Scene(show_viewer=False, sim_options=gs.options.SimOptions(dt=0.01, substeps=2, requires_grad=True),
        rigid_options=gs.options.RigidOptions(enable_collision=False))
    body = scene.add_entity(gs.morphs.Box(size=(0.1, 0.2, 0.3), pos=(0, 0, 1)))
    scene.build()
    target = torch.tensor([1.0, 0, 0.5], dtype=gs.tc_float)
    tq = torch.tensor([0.5, 0.5, -0.5, 0.5], dtype=gs.tc_float)
    steps = 10
    def rollout(velocity, force, position=None, quaternion=None):
        scene.reset()
        if position is not None: body.set_pos(position)
        if quaternion is not None: body.set_quat(quaternion)
        body.set_dofs_velocity(velocity)
        for f in force:
            body.control_dofs_force(f)
            scene.step()
        state = body.get_state()
        return ((state.pos - target) ** 2).sum() + ((state.quat - tq) ** 2).sum()
    g = torch.Generator().manual_seed(1)
    v = torch.tensor([0.5, -0.3, 1.0, 4.0, 2.0, -3.0], dtype=gs.tc_float).requires_grad_()
    f = (20 * torch.randn(steps, 6, generator=g, dtype=gs.tc_float)).requires_grad_()
    p = torch.tensor([0.1, 0.2, 1.1], dtype=gs.tc_float).requires_grad_()
    q = torch.tensor([0.8, 0.0, 0.6, 0.0], dtype=gs.tc_float).requires_grad_()
    return compare(rollout, velocity=v, force=f, position=p, quaternion=q)


if __name__ == "__main__":
    gs.init(backend=gs.cpu, precision="64", seed=0, logging_level="error")
    out = globals()[sys.argv[1]]()
    out["quadrants"] = qd.__file__
    print(json.dumps(out))
