import quadrants as qd

qd.init(arch=qd.cpu)
EXAMPLE
