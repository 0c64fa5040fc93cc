"""A target of another package: the CPU, with a C that is spelled in another way."""

from quadrants.targets import Target

TARGET = Target(
    archs=("outside",), dialect="marked_c", language="MARKED_C", suffix="c", printing="outside_c.printing",
    backend="outside_c.backend", extensions=("data64",), host_memory=True, subgroup=0, shared_bytes=0,
)  # fmt: skip
