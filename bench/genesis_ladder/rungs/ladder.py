"""The ladder: every rung with the function that runs it and how far two compilers may be apart on it."""

from __future__ import annotations

from typing import NamedTuple


class Rung(NamedTuple):
    """`tolerance` is absolute. It is 1e-4 unless the motion multiplies rounding, which the reason then says."""

    module: str
    function: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}  # noqa: RUF012
    tolerance: float = 1e-4
    reason: str = ""
    large: bool = False  # for GPUs; not part of the ladder on a CPU


ROCKING = "bodies still rock on an edge, which doubles rounding errors"
TUMBLING = "grains collide"
CHAOTIC_FORCE = "sums over contacts of forces in the thousands"

RUNGS = {
    "R1": Rung("rigid", "again"),
    "R2": Rung("rigid", "plane"),
    "R3": Rung("rigid", "sphere"),
    "R4": Rung("rigid", "tilted"),
    "R5": Rung("rigid", "stack"),
    "R6": Rung("rigid", "shapes", tolerance=1e-2, reason=ROCKING),
    "R7-0": Rung("rigid", "batch", ("0",)),
    "R7-1": Rung("rigid", "batch", ("1",)),
    "R7-64": Rung("rigid", "batch", ("64",)),
    "R7-4096": Rung("rigid", "batch", ("4096",)),
    "R8": Rung("rigid", "arm"),
    "R8-64": Rung("rigid", "arm", ("64",)),
    "R8-box": Rung("rigid", "arm", ("0", "box")),
    "R8-4096": Rung("rigid", "arm", ("4096", "box")),
    "R8-30000": Rung("rigid", "arm", ("30000",), large=True),
    "R5-4096": Rung("rigid", "tower", ("4096",), tolerance=1e-2, reason=ROCKING, large=True),
    "R9": Rung("rigid", "grasp", tolerance=5e-4, reason="contacts of the fingers come and go"),
    "R10": Rung("rigid", "dog"),
    "R10-64": Rung("rigid", "dog", ("64",)),
    "R11": Rung("rigid", "equality"),
    "R12-elastic": Rung("matter", "mpm", ("Elastic",)),
    "R12-liquid": Rung("matter", "mpm", ("Liquid",), tolerance=1e-3, reason=TUMBLING),
    "R12-sand": Rung("matter", "mpm", ("Sand",), tolerance=2e-3, reason=TUMBLING),
    "R12-snow": Rung("matter", "mpm", ("Snow",), tolerance=1e-3, reason=TUMBLING),
    "R12-plastic": Rung("matter", "mpm", ("ElastoPlastic",), tolerance=1e-3, reason=TUMBLING),
    "R13-wc": Rung("matter", "sph", ("WCSPH",)),
    "R13-df": Rung("matter", "sph", ("DFSPH",), tolerance=1e-3, reason=TUMBLING),
    "R14-cloth": Rung("matter", "pbd", ("Cloth",), tolerance=5e-4, reason="the order of constraints"),
    "R14-elastic": Rung("matter", "pbd", ("Elastic",)),
    "R14-liquid": Rung("matter", "pbd", ("Liquid",)),
    "R15-implicit": Rung("matter", "fem", ("implicit",)),
    "R15-explicit": Rung("matter", "fem", ("explicit",)),
    "R15-sap": Rung("matter", "fem", ("sap",), {"P": "64"}),
    "R16": Rung("gradients", "rigid"),
    "R17-throw": Rung("gradients", "throw"),
    "R17-push": Rung("gradients", "push", tolerance=1e-3, reason="the tool meets grid cells"),
    "R18": Rung("senses", "sensors", tolerance=2e-3, reason="sums of hundreds of distances"),
    "R19": Rung("rigid", "drone"),
    "R20": Rung("matter", "tool"),
    "R21": Rung("matter", "couple"),
    "R21-cpic": Rung("matter", "couple", ("cpic",)),
    "R22": Rung("matter", "smoke", tolerance=2e-2, reason="sums of 32,768 cells"),
    "R23": Rung("rigid", "plan"),
    "R24-elliptic": Rung("rigid", "options", ("elliptic",), tolerance=1e-3, reason=ROCKING),
    "R24-cg": Rung("rigid", "options", ("cg",), tolerance=1e-3, reason=ROCKING),
    "R24-noslip": Rung("rigid", "options", ("noslip",), tolerance=1e-3, reason=ROCKING),
    "R24-hibernation": Rung("rigid", "options", ("hibernation",), tolerance=1e-3, reason=ROCKING),
    "R24-gjk": Rung("rigid", "options", ("gjk",), tolerance=1e-3, reason=ROCKING),
    "R25": Rung("rigid", "checkpoint"),
    "R26": Rung("gradients", "contact"),
    "R27": Rung("senses", "touch", tolerance=1e-3, reason=CHAOTIC_FORCE),
    "R28": Rung("rigid", "terrain", tolerance=1e-3, reason=ROCKING),
    "R29-fields": Rung("rigid", "arm", env={"PERF": "1"}),
    "R29-stack": Rung("rigid", "stack", env={"GS_ENABLE_NDARRAY": "0"}),
    "R29-copies": Rung("rigid", "stack", env={"GS_ENABLE_ZEROCOPY": "0"}),
    "R29-threads": Rung("rigid", "batch", ("64",), {"QD_NUM_THREADS": "2", "GS_PARA_LEVEL": "2"}),
    "R29-debug": Rung("rigid", "batch", ("0",), {"DEBUG": "1"}),
}
