"""Structs: types by `qd.types.struct` and `@qd.dataclass`, fields of them, methods."""

import quadrants as qd

qd.init(arch=qd.cpu)

vec2 = qd.types.vector(2, qd.f32)
Body = qd.types.struct(pos=vec2, mass=qd.f32)


@qd.dataclass
class Sphere:
    center: qd.math.vec3
    corner: vec2
    radius: qd.f32
    count: qd.i32

    @qd.func
    def area(self):
        return 4.0 * qd.math.pi * self.radius**2


@qd.dataclass
class Scene:
    ball: Sphere
    body: Body


spheres = Sphere.field(shape=4)
bodies = Body.field(shape=(4,))
scenes = Scene.field(shape=2)
areas = qd.field(qd.f32, shape=4)


@qd.kernel
def measure(scale: qd.f32, one: Sphere, body: Body) -> qd.f32:
    for i in spheres:
        spheres[i].radius = scale * (i + 1) + one.radius
        areas[i] = spheres[i].area()
        bodies[i] = Body(pos=[i, 0.5], mass=body.mass)
    return areas[0]


ball = Sphere(center=qd.math.vec3(0.0), radius=0.5, count=2)
area: float = measure(1.0, ball, Body(mass=3.0))
assert area > 0
spheres[1].center = [1.0, 2.0, 3.0]
print(
    ball.radius, spheres[1].center[2], bodies[2].mass, spheres.radius.to_numpy(), bodies.get_member_field("pos").shape
)
local = qd.Struct(a=1, b=qd.Vector([1.0, 2.0]))
print(local.a, local.keys, local.to_dict())
