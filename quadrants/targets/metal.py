"""Apple devices: the Metal shading language. Kernels cannot run there yet."""

from quadrants.targets import Target

TARGET = Target(archs=("metal",), dialect="msl", language="MSL", suffix="metal", subgroup=32, shared_bytes=32 << 10)
