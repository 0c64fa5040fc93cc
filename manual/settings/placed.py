import quadrants as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.f32, shape=8)
EXAMPLE
