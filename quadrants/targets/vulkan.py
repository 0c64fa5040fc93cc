"""Devices with Vulkan: GLSL. Kernels cannot run there yet."""

from quadrants.targets import Target

TARGET = Target(archs=("vulkan",), dialect="glsl", language="GLSL", suffix="comp", shared_bytes=32 << 10)
