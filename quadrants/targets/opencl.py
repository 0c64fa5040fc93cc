"""Devices with OpenCL: OpenCL C. Kernels cannot run there yet."""

from quadrants.targets import Target

TARGET = Target(archs=("opencl",), dialect="opencl", language="OPENCL", suffix="cl", shared_bytes=32 << 10)
