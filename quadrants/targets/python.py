"""No compiler at all: kernels run as the Python functions that they are."""

from quadrants.targets.record import Target

TARGET = Target(archs=("python",), host_memory=True)
