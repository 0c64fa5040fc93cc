import quadrants as qd

qd.init(arch=qd.cpu)
n = 1000
x, keys, values = qd.field(qd.i32, n), qd.field(qd.f32, n), qd.field(qd.i32, n)
EXAMPLE
