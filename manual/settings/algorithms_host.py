import quadrants as qd

qd.init(arch=qd.cpu)
n = 1000
EXAMPLE
