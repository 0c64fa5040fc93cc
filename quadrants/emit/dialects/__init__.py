"""One record a dialect: what differs between the C-family languages, as data."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, replace

from quadrants import targets
from quadrants.emit.prelude_spelling import Spelling
from quadrants.ir.abilities import Abilities
from quadrants.ir.lacks import Lacks
from quadrants.ir.types import PRIMITIVES


@dataclass(frozen=True, repr=False)
class Dialect:
    """How a dialect writes what the others write differently.

    spelling: how its prelude spells types and functions. template: the skeleton, relative to the template folder.
    loop_condition: the template of the task that says on the device whether a loop around tasks runs again, "" where
    the host does. copies_flags: there, passes of a loop that are launched at once look at a copy of its flag, which the
    device makes before each of them. templates: a folder that is looked into before the built-in one, "" for none.
    comment: prefix of a line comment.
    literals: spelling of special constants by (dtype name, 'inf' | 'nan').
    suffixes: suffix of number literals by dtype name.
    lane: how a task names its per-thread record in expressions; frame, args, result: prefixes of the members of the
    kernel's frame, of its argument block, and of its results (a number follows).
    chunks: a task is a function that does a chunk of the iterations, called by threads of a pool, which stacks belong
    to; else its text is what one thread does. launches: the host starts every task with a number of threads; else one
    entry function runs them all.
    restrict_written: `restrict` also where the array is written. whole_updates: additions to all components
    of a small vector are one.
    assume_aligned: what is known of the alignment of an array is worth saying.
    launch_in_frame: the argument block is read-only and by value, so that results and the failure record live in the
    frame, and seed and ordinal of the launch come as arguments.
    block_bytes: largest argument block that is passed by value; a larger one is in the device's memory.
    quotients: see `Abilities`; False where gcc may be the compiler.
    helped_negatives: see `Abilities`; compilers do not wrap the negative of the least number of some types, either.
    flushes: real types whose subnormal numbers are 0 in a launch, so constants too.
    types: primitive types that the skeleton itself mentions. block_dim: threads of a block unless the user says, or 0.
    vector_lanes: fewer threads a block has only where they know of one another, as loops wait for other lanes.
    most_units: compilers that a long text is shared among, at most (see `emit.units`). linked: the code of one calls
    functions of another.
    vector_units: of a multiprocessor, where the language counts what shall be resident in subgroups of one; else 0.
    shared_static: bytes that declarations of shared arrays may take.
    batches: a thread that does several iterations has their loads in flight together, and gains by it.
    processor: the device is one: a thread does iterations that are neighbours, one after the other.
    early_returns: see `Abilities`; `gpu.leaves_before_barriers` of its templates says the same.
    unroll: what precedes a loop to be unrolled, by "full" and "never".
    print_values: how many values one call of printf takes, 0 for any number.
    start: helper that every task calls first (a family and a name of the prelude), so that it may start early.
    release: the same of what lets the task behind start.
    chosen_members: an aggregate may have `c ? a : b` among its members where a and b are tensors.
    goto, pointers, recursion, references, long_loops, known_bits, known_reals, idle_loops, lacks: see `Abilities`;
    `without` gives a record what its device lacks.
    space_device, space_shared: qualifiers of memory that all threads see, and those of a block, with a blank behind; ""
    where types do not tell. address: primitive type of an address in the argument block, "" where it is a pointer.
    model: "pointer", or "reference" where memory is reached through blocks (see `emit.references`). endless: the
    condition of a loop that only a break ends. known_zeros: drivers compute with constant zeros as with others.
    typed_bits: drivers take the bits of a real number for an integer wherever one is asked for.
    wide: the signed integer of 64 bits, as printf is handed one.
    namespace: around functions and tasks, "" for none.
    restrict: qualifier of pointers that do not alias. function: qualifiers of emitted functions.
    """

    name: str
    template: str
    spelling: Spelling
    frame: str
    args: str
    result: str
    lane: str
    restrict: str
    function: str
    comment: str = "//"
    literals: dict[tuple[str, str], str] = field(default_factory=dict)
    suffixes: dict[str, str] = field(default_factory=dict)
    booleans: tuple[str, str] = ("false", "true")
    types: tuple[str, ...] = ("i32", "i64")
    chunks: bool = True
    launches: bool = False
    restrict_written: bool = True
    whole_updates: bool = False
    assume_aligned: bool = False
    launch_in_frame: bool = False
    block_bytes: int = 0
    helped_negatives: tuple[str, ...] = ()
    quotients: bool = True
    flushes: tuple[str, ...] = ("f32",)
    block_dim: int = 0
    vector_lanes: int = 1
    vector_units: int = 0
    release: tuple[str, ...] = ()
    most_units: int = 1
    linked: bool = False
    unroll: dict[str, str] = field(default_factory=dict)
    shared_static: int = 48 * 1024
    print_values: int = 0
    start: tuple[str, ...] = ()
    namespace: str = ""
    templates: str = ""
    loop_condition: str = ""
    copies_flags: bool = False
    chosen_members: bool = True
    goto: bool = True
    pointers: bool = True
    recursion: bool = True
    references: bool = True
    long_loops: bool = True
    space_device: str = ""
    space_shared: str = ""
    address: str = ""
    wide: str = "long long"
    model: str = "pointer"
    endless: str = "1"
    known_zeros: bool = True
    known_bits: bool = True
    known_reals: bool = True
    idle_loops: bool = True
    typed_bits: bool = True
    batches: bool = True
    processor: bool = False
    early_returns: bool = True
    lacks: Lacks = Lacks()

    @property
    def signed_wraps(self) -> bool:
        """As its prelude has it."""
        return self.spelling.signed_wraps

    @property
    def abilities(self) -> Abilities:
        """What passes know of the language."""
        target = targets.of_dialect(self.name)
        return Abilities(
            arch=self.lacks.device or f"arch {target.archs[0] if target is not None else self.name}",
            device=self.launches,
            wide_addresses=self.signed_wraps and self.model == "pointer",
            goto=self.goto,
            pointers=self.pointers,
            thread_exit=bool(self.spelling.leave),
            early_returns=self.early_returns,
            recursion=self.recursion,
            half_arithmetic=self.spelling.half_arithmetic,
            references=self.references,
            long_loops=self.long_loops,
            word_sums=self.spelling.float_atomics if self.model == "reference" else None,
            helped_negatives=self.helped_negatives,
            quotients=self.quotients,
            known_bits=self.known_bits,
            known_reals=self.known_reals,
            idle_loops=self.idle_loops,
            lacks=self.lacks,
        )

    def without(self, lacks: Lacks) -> Dialect:
        """The dialect for a device that lacks something, besides what all lack."""
        return replace(self, lacks=self.lacks.joined(lacks), spelling=self.spelling.without(frozenset(lacks.types)))


# What the languages of the C family share.
SUFFIXES = {"f32": "f", "u32": "u", "i64": "ll", "u64": "ull"}
TYPES = {
    "f32": "float", "f64": "double", "u1": "bool",
    **{name: f"{'u' * (t.kind == 'u')}int{t.bits}_t" for name, t in PRIMITIVES.items() if t.kind in "iu"},
}  # fmt: skip


def names() -> list[str]:
    """The dialects that can be printed."""
    return [target.dialect for target in targets.known() if target.printing]


def get(name: str) -> Dialect:
    """The record of a dialect by name."""
    target = targets.of_dialect(name)
    if target is None or not target.printing:
        raise ValueError(f"unknown dialect '{name}'; there are {', '.join(names())}")
    record: Dialect = importlib.import_module(target.printing).DIALECT
    return record
