import quadrants as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.f32)  # without a place
EXAMPLE
