"""Sensors without a renderer."""

from __future__ import annotations

from .kit import M, S, box, go, show, world


def sensors() -> None:
    scene = world()
    cube = box(scene, (0, 0, 0.3)).idx
    add = scene.add_sensor
    imu, contact = add(S.IMU(entity_idx=cube)), add(S.Contact(entity_idx=cube))
    force = add(S.ContactForce(entity_idx=cube))
    rays = S.SphericalPattern(fov=(360, 60), n_points=(32, 8))
    grid = S.DepthCameraPattern(res=(32, 24), fov_horizontal=90)
    lidar = add(S.Raycaster(entity_idx=cube, pos_offset=(0, 0, 0.2), pattern=rays))
    depth = add(S.DepthCamera(entity_idx=cube, pos_offset=(0.3, 0, 0), pattern=grid))
    go(scene, 100)
    moved, distances = imu.read(), lidar.read().distances
    show(acceleration=moved.lin_acc, turn=moved.ang_vel, contact=contact.read(), force=force.read())
    show(row=distances[0], sum=distances.sum(), depth=depth.read_image().mean())


def touch() -> None:
    scene = world()
    cube = box(scene, (0, 0, 0.11)).idx
    ball = scene.add_entity(M.Sphere(radius=0.05, pos=(0, 0, 0.26)))
    probes = [(x, y, 0.1) for x in (-0.02, 0, 0.02) for y in (-0.02, 0, 0.02)]
    links, properties = (ball.base_link_idx,), {-1: S.options.TemperatureProperties()}
    add = scene.add_sensor
    taxel = add(S.KinematicTaxel(entity_idx=cube, probe_local_pos=probes, probe_radius=0.02))
    probe = add(S.SurfaceDistanceProbe(entity_idx=cube, probe_local_pos=probes, track_link_idx=links))
    heat = add(S.TemperatureGrid(entity_idx=cube, grid_size=(2, 2, 2), properties_dict=properties))
    go(scene, 50)
    show(taxel=taxel.read()[0], distance=probe.read(), temperature=heat.read())
