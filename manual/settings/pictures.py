import numpy as np

import quadrants as qd

qd.init(arch=qd.cpu)
picture = np.zeros((64, 48, 3), np.uint8)
density = np.zeros((8, 8, 8), np.float32)
x, y, z = np.zeros((3, 4), np.float32)
qd.tools.imwrite(picture, "picture.png")


def step():
    picture[:] += 1


EXAMPLE
