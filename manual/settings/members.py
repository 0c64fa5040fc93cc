import quadrants as qd

qd.init(arch=qd.cpu)


@qd.dataclass
class Particle:
    pos: qd.math.vec3
    mass: qd.f32


EXAMPLE
