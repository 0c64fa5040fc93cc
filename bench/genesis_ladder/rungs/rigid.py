"""Rigid bodies: single shapes, stacks, batches, robots, constraints, solver options."""

from __future__ import annotations

import numpy as np
import torch

from .kit import OPT, M, backend, box, franka, go, gs, show, steps, tensor, world

KP = [4500, 4500, 3500, 3500, 2000, 2000, 2000, 100, 100]
KV = [450, 450, 350, 350, 200, 200, 200, 10, 10]


def again() -> None:
    """R1: `init`, `destroy`, `init`."""
    gs.destroy()
    gs.init(backend=backend(), logging_level="error")
    show(done=1)


def plane() -> None:
    scene = world()
    go(scene, 10)
    show(time=scene.get_time())


def sphere() -> None:
    scene = world()
    _one(scene, scene.add_entity(M.Sphere(radius=0.1, pos=(0, 0, 1))))


def tilted() -> None:
    scene = world()
    _one(scene, scene.add_entity(M.Box(size=(0.2, 0.2, 0.2), pos=(0, 0, 0.5), euler=(20, 10, 0))))


def _one(scene, entity) -> None:
    go(scene, 100)
    show(q100=entity.get_qpos())
    steps(scene, 100)
    show(q200=entity.get_qpos())


def stack() -> None:
    scene = world()
    boxes = [box(scene, (0.01 * i, 0, 0.1 + 0.21 * i)) for i in range(5)]
    go(scene, 200)
    show(pos=torch.stack([each.get_pos() for each in boxes]))


def tower(n: str) -> None:
    """Ten boxes on one another, in many environments."""
    scene = world()
    boxes = [box(scene, (0.01 * i, 0, 0.1 + 0.21 * i)) for i in range(10)]
    go(scene, 100, n_envs=int(n))
    show(pos=torch.stack([each.get_pos() for each in boxes])[:, 0])


def shapes() -> None:
    scene = world()
    add = scene.add_entity
    ball = add(M.Sphere(radius=0.1, pos=(0, 0, 0.3)))
    cube = box(scene, (0.05, 0, 0.6))
    cylinder = add(M.Cylinder(radius=0.1, height=0.2, pos=(0.5, 0, 0.4), euler=(80, 0, 0)))
    duck = add(M.Mesh(file="meshes/duck.obj", scale=0.1, pos=(1, 0, 0.4)))
    go(scene, 100)
    show(ball=ball.get_qpos(), cube=cube.get_qpos(), cylinder=cylinder.get_qpos(), duck=duck.get_qpos())


def batch(n: str) -> None:
    count = int(n)
    scene = world()
    cube = scene.add_entity(M.Box(size=(0.2, 0.2, 0.2), pos=(0, 0, 0.3), euler=(20, 10, 0)))
    velocity = torch.linspace(0, 1, count, device=gs.device)[:, None] * tensor([[1.0, 0, 0, 0, 0, 0]])
    go(scene, 50, lambda: count and cube.set_dofs_velocity(velocity), n_envs=count)
    q = cube.get_qpos().reshape(-1, 7)
    show(first=q[0], last=q[-1], mean=q.mean(0))


def arm(n: str = "0", cube: str = "") -> None:
    """The Franka arm under PD control; `cube` adds a box far from it."""
    count = int(n)
    scene = world()
    if cube:
        box(scene, (0.65, 0.4, 0.02), 0.04)
    robot = franka(scene)

    def after() -> None:
        robot.set_dofs_kp(KP)
        robot.set_dofs_kv(KV)
        target = tensor([0.5, 0.5, 0.2, -1.5, 0.1, 1.5, 0.3, 0.04, 0.04])
        robot.control_dofs_position(target.expand(count, 9) if count else target)

    go(scene, 200, after, n_envs=count)
    hand = robot.get_link("hand").get_pos()
    show(q=robot.get_qpos().reshape(-1, 9)[0], hand=hand.reshape(-1, 3)[0])


def grasp() -> None:
    scene = world()
    cube = box(scene, (0.65, 0, 0.02), 0.04)
    robot = franka(scene)
    go(scene, 1)
    hand, joints, fingers = robot.get_link("hand"), np.arange(7), np.arange(7, 9)
    robot.set_dofs_kp(KP)
    robot.set_dofs_kv(KV)
    moves = ((0.25, None, 150), (0.13, None, 150), (0.13, -1.0, 100), (0.30, -1.0, 150))
    for number, (z, force, n) in enumerate(moves):
        q = robot.inverse_kinematics(link=hand, pos=np.array([0.65, 0, z]), quat=np.array([0, 1, 0, 0]))
        show(**{f"ik{number}": q})
        robot.control_dofs_position(q[:7], joints)
        if force:
            robot.control_dofs_force(np.array([force, force]), fingers)
        else:
            robot.control_dofs_position(np.array([0.04, 0.04]), fingers)
        steps(scene, n)
    show(hand=hand.get_pos(), cube=cube.get_pos(), mass=robot.get_mass_mat()[0])


def dog(n: str = "0") -> None:
    count = int(n)
    scene = world(False, sim_options=OPT.SimOptions(dt=0.02, substeps=2))
    scene.add_entity(M.URDF(file="urdf/plane/plane.urdf", fixed=True))
    robot = scene.add_entity(M.URDF(file="urdf/go2/urdf/go2.urdf", pos=(0, 0, 0.42)))

    def after() -> None:
        names = [f"{leg}_{part}_joint" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf")]
        dofs = [robot.get_joint(name).dofs_idx_local[0] for name in names]
        robot.set_dofs_kp([20.0] * 12, dofs)
        robot.set_dofs_kv([0.5] * 12, dofs)
        target = tensor([0, 0.8, -1.5] * 2 + [0, 1.0, -1.5] * 2)
        robot.control_dofs_position(target.expand(count, 12) if count else target, dofs)

    go(scene, 100, after, n_envs=count)
    show(q=robot.get_qpos().reshape(-1, 19)[0])


def equality() -> None:
    scene = world()
    ant = scene.add_entity(M.MJCF(file="xml/ant.xml"))
    four = scene.add_entity(M.MJCF(file="xml/four_bar_linkage_weld.xml", pos=(3, 0, 0)))
    go(scene, 100)
    show(ant=ant.get_qpos(), four=four.get_qpos())


def options(kind: str) -> None:
    chosen = {
        "elliptic": dict(friction_cone=gs.friction_cone.elliptic) if kind == "elliptic" else {},
        "noslip": dict(noslip_iterations=5),
        "cg": dict(constraint_solver=gs.constraint_solver.CG),
        "hibernation": dict(use_hibernation=True),
        "gjk": dict(use_gjk_collision=True),
    }[kind]
    scene = world(rigid_options=OPT.RigidOptions(**chosen))
    boxes = [box(scene, (0.01 * i, 0, 0.1 + 0.21 * i)) for i in range(3)]
    cylinder = scene.add_entity(M.Cylinder(radius=0.1, height=0.2, pos=(0.6, 0, 0.25), euler=(80, 0, 0)))
    go(scene, 150)
    show(top=boxes[2].get_pos(), cylinder=cylinder.get_pos())


def checkpoint() -> None:
    """R25: a checkpoint, a reset, and a new session in the same process."""

    def make():
        scene = world()
        cube = scene.add_entity(M.Box(size=(0.2, 0.2, 0.2), pos=(0, 0, 0.4), euler=(20, 10, 0)))
        scene.build(n_envs=2)
        return scene, cube

    scene, cube = make()
    steps(scene, 20)
    scene.save_checkpoint("checkpoint.gstraj")
    steps(scene, 20)
    end = cube.get_qpos().clone()
    loaded = gs.Scene.load_checkpoint("checkpoint.gstraj")
    steps(loaded, 20)
    show(q=end[0], difference=(end - loaded.entities[1].get_qpos()).abs().max())
    scene.reset()
    show(reset=cube.get_qpos()[0])
    gs.destroy()
    gs.init(backend=backend(), logging_level="error")
    scene, cube = make()
    steps(scene, 40)
    show(again=(end - cube.get_qpos()).abs().max())


def drone() -> None:
    scene = world(sim_options=OPT.SimOptions())
    flyer = scene.add_entity(M.Drone(file="urdf/drones/cf2x.urdf", pos=(0, 0, 0.2)))
    scene.add_force_field(gs.force_fields.Constant(direction=(1, 0, 0), strength=0.5))
    scene.build()
    for _ in range(60):
        flyer.set_propellers_rpm([14968, 14768, 14768, 14768])
        scene.step()
    show(q=flyer.get_qpos())


def plan() -> None:
    scene = world()
    robot = franka(scene)
    go(scene, 1)
    goal = np.array([0.5, 0.5, 0.2, -1.5, 0.1, 1.5, 0.3, 0.04, 0.04])
    way = robot.plan_path(qpos_goal=goal, num_waypoints=50)
    show(n=len(way), last=way[-1])


def terrain() -> None:
    scene = world(False)
    scene.add_entity(
        M.Terrain(
            n_subterrains=(1, 1), subterrain_size=(4, 4), horizontal_scale=0.25, vertical_scale=0.005,
            subterrain_types=[["wave_terrain"]],
        )
    )  # fmt: skip
    ball = scene.add_entity(M.Sphere(radius=0.1, pos=(2, 2, 1)))
    cube = box(scene, (1, 1, 1))
    go(scene, 100)
    show(ball=ball.get_pos(), cube=cube.get_pos())
