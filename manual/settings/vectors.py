import quadrants as qd

qd.init(arch=qd.cpu)


@qd.kernel
def example(yaw: qd.f32, pitch: qd.f32, roll: qd.f32):
    x, y, v = qd.Vector([1.0, 0.5, 0.25]), qd.Vector([0.0, 1.0, 0.0]), qd.Vector([3.0, 4.0, 0.0])
    d, n, axis = qd.Vector([0.6, -0.8, 0.0]), qd.Vector([0.0, 1.0, 0.0]), qd.Vector([0.0, 0.0, 1.0])
    EXAMPLE


example(0.1, 0.2, 0.3)
