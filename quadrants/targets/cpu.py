"""The processor that Python runs on: C, compiled by the compiler of the machine."""

from quadrants.targets.record import Target

TARGET = Target(
    archs=("x64", "arm64"), dialect="c", language="C", suffix="c", printing="quadrants.emit.dialects.c",
    backend="quadrants.runtime.cpu",
    extensions=("sparse", "quant", "quant_basic", "data64", "adstack", "assertion"),
    host_memory=True, subgroup=0,
    shared_bytes=0,
)  # fmt: skip
