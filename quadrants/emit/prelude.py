"""Prelude: the helper functions and types that the text of one kernel needs, and no others.

The printer asks while it prints and splices the rendered text in front of the kernel:

    p = Prelude(dialects.get("c").spelling)
    p.type(tensor_type((3,), f32))                      "qd_vec3_f32"
    p.literal(tensor_type((3,), f32), ["x", "y", "z"])  "(qd_vec3_f32){{x, y, z}}"
    p.need("int", "floordiv", i32)                      "qd_floordiv_i32", to be called as qd_floordiv_i32(a, b)
    p.need("float", "sin", f32)                         "sinf"
    text = p.render(env)

`need(family, *params)` returns the name to call. Families and parameters (dtypes are IR types, results in brackets):

    int     op, dtype         floordiv floormod rawdiv rawmod min max shl shr bit_shr (a, b) [dtype]; abs (a) [dtype];
                              popcnt clz ffs (a) [i32]
    int     "powi", base, exponent dtype     (base, exponent) [base dtype]; any base, also real ("scalar" finds it too)
    float   op, dtype         floordiv floormod rawdiv rawmod min max atan2 pow (a, b) [dtype];
                              abs floor ceil round sign sqrt rsqrt sin cos tan asin acos tanh exp log (x) [dtype];
                              isnan isinf (x) [u1]; frexp (x, int32_t *exponent) [dtype];
                              frexp_mantissa (x) [dtype]; frexp_exponent (x) [i32]
    float   "half_power", dtype, halves      (x) [dtype]: x to the power halves / 2, for f32 and f64
    scalar  op, dtype         the family int or float, whichever the dtype belongs to
    cast    "bit_cast", from, to             (x) [to]; equal widths
    map     name, spelling, result type, *operand types      one function that applies `spelling`, a format string over
                              {a} {b} {c} {d} such as "({a} + {b})", to every element. Operands are tensors of the
                              result's shape or scalars. The value is converted to the result's dtype as by assignment.
                              Where a dialect has operators, + - * / is returned instead of a name: to be called so.
    linalg  op, type, ...     see quadrants.emit.prelude_rules.LINALG
    atomic  op, type[, space] add sub mul min max and or xor exchange (T *p, T x) [old value]; cas (T *p, expected,
                              desired) [old value]; a tensor type works element by element (not cas). space: qualifier
                              of the memory that is pointed to, "" for none
    atomic  "add_whole", type  (T *p, T x): adds a vector of 2 or 4 f32 to one in memory, aligned to its size; devices
    plain   op, type          the same functions without atomicity, for serial tasks and locals
    lane                      name of the per-worker struct; also declares the runtime structs it points to
    subgroup, block, warp, grid, clock       threads together and the machine: see quadrants.emit.prelude_simt
    random  "begin"           (seed, launch, task, iteration) [qd_rng]
    random  "draw", dtype     (qd_rng *) f16 f32 f64 in [0, 1); i32 u32 i64 u64 over all bit patterns
    random  "normal", dtype   (qd_rng *) f32 f64: standard normal
    check   "fail", kinds     kinds: a string of "i", "u" (for u64) and "f", one for each value. (lane, site,
                              values...): records the first failure and leaves the current work; never returns
    check   op, dtype, *types add sub mul shl, and for types with sign floordiv raw_div (lane, where, a, b) [dtype]:
                              prints "... overflow detected in <where>"; types: result and operands, where that is
                              done for the elements of tensors
    print                     (lane, format, ...)
    print   "together"        what precedes a block of several prints that are one line; where one takes too few values

Rendering is cheap because each template file is a set of macros, one a function, compiled once per environment. The
macros of a family are looked up in `<dialect>/prelude/<family>.j2`, `builtin/<dialect>/prelude/<family>.j2`, the same
of the dialects that this one builds on (hip on cuda), `_base/prelude/<family>.j2` and
`builtin/_base/prelude/<family>.j2`, so a file, a user's too, holds only what it changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, proxy

from quadrants.emit.prelude_rules import FAMILIES, RULES
from quadrants.emit.prelude_spelling import Spelling
from quadrants.ir.types import DType, TensorType, ValueType

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.environment import TemplateModule

# Macro libraries by environment, then dialect and family; an environment that dies takes its compiled macros along.
_LIBRARIES: WeakKeyDictionary[Environment, dict[tuple[int, str], _Library]] = WeakKeyDictionary()

Key = tuple[Any, ...]  # a family, or what else tells what a name stands for, and its parameters


# Depth within the family, name, macro, its arguments, and the name that it is told.
_Request = tuple[int, str, str, tuple[Any, ...], str]


class _Level:
    """A request whose needs are being met, and its depth among the helpers of its family as far as it is known."""

    __slots__ = ("family", "depth")

    def __init__(self, family: str) -> None:
        self.family = family
        self.depth = 0


class Prelude:
    """Collects what one kernel needs from the prelude of a dialect and renders it.

    simd: let the C compiler replace calls of sinf, expf and the like inside vectorised loops by the vector
    versions of glibc's libmvec (x86-64, gcc), which glibc's `-lm` brings along. Give the version of glibc, as in
    (2, 31), to use only what that version has; True uses everything (2.35).
    """

    def __init__(self, spelling: Spelling, *, simd: bool | tuple[int, int] = False, apart: bool = False) -> None:
        self.spelling = spelling
        self.apart = apart
        self.simd: tuple[int, int] = (99, 0) if simd is True else simd or (0, 0)
        self._names: dict[Key, str] = {}  # (family, *params) -> name
        self._owners: dict[str, Key] = {}  # name -> (family, *params)
        self._requests: dict[str, dict[str, _Request]] = {}  # by family and name
        self._levels: dict[str, tuple[str, int]] = {}  # name -> (family, depth)
        self._added: dict[str, tuple[str, str]] = {}  # name -> (family, macro)
        self._open: list[_Level] = []  # each request whose needs are being met

    def uses(self, family: str) -> bool:
        """Whether anything of that family was asked for."""
        return family in self._requests

    def need(self, family: str, *params: Any) -> str:
        """The name of a helper, which is thereby put into the rendered text together with what it needs itself.

        Raises ValueError when the family has no such helper for these types.
        """
        key = (family, *params)
        name = self._names.get(key)
        if name is None:
            rule = RULES.get(family)
            if rule is None:
                raise ValueError(f"the prelude has no family '{family}'; it has {', '.join(RULES)}")
            name = self._names[key] = rule(self, *params)
        if self._open:
            self._deepen(name)
        return name

    def _deepen(self, name: str) -> None:
        """Note that the innermost open request of the same family must come after `name`."""
        family, depth = self._levels.get(name, (None, 0))
        for level in reversed(self._open):
            if level.family == family:
                level.depth = max(level.depth, depth + 1)
                return

    def type(self, t: ValueType) -> str:
        """The spelling of an IR type, which is declared in the rendered text when the dialect lacks it."""
        if isinstance(t, DType):
            return self.need("types", t)
        return self.need("tensor" if isinstance(t, TensorType) else "struct", t)

    def literal(self, t: ValueType, values: Sequence[str]) -> str:
        """Text of a tensor or struct value from the texts of its elements (row major) or members."""
        name, body = self.type(t), ", ".join([*values, *self.spelling.padding(t)])
        return self.spelling.value(name, self.spelling.elements(t, body) if isinstance(t, TensorType) else body)

    def stored(self, t: ValueType) -> str:
        """The spelling of a type in memory and in aggregates."""
        return self.spelling.in_memory.get(t) or self.type(t) if isinstance(t, DType) else self.type(t)

    def member(self, name: str) -> str:
        """How a struct member (or any other identifier of the user) is spelled: its own name unless that is taken."""
        return self.spelling.identifier(name)

    def function(self, name: str) -> str:
        """How an emitted function is called: by its own name unless the dialect has one of that name."""
        return self.spelling.function(name)

    def add(
        self, family: str, name: str, macro: str, *arguments: Any, needs: Sequence[Any] = (), shown: str = ""
    ) -> str:
        """For rules: request `macro(name, *arguments)` of `family` after everything in `needs`; returns name.

        needs: types, or tuples (family, *params), that must be declared before. shown: what the macro is told instead
        of the name; names are unique, operators are not.
        """
        level = _Level(family)
        self._open.append(level)
        for what in needs:
            if isinstance(what, tuple):
                self.need(*what)
            else:
                self.type(what)
        self._open.pop()
        self._levels[name] = (family, level.depth)
        owner = self._added.setdefault(name, (family, macro))
        assert owner == (family, macro), f"{name} is the name of two helpers: {owner} and {(family, macro)}"
        self._requests.setdefault(family, {}).setdefault(name, (level.depth, name, macro, arguments, shown or name))
        return name

    def unique(self, name: str, key: Key) -> str:
        """`name`, or `name_2` and so on when another request has taken it already."""
        chosen, n = name, 1
        while self._owners.setdefault(chosen, key) != key:
            n += 1
            chosen = f"{name}_{n}"
        return chosen

    def render(self, env: Environment) -> str:
        """The text of everything that was asked for, families in order of dependence; "" when nothing was.

        env: a jinja2 Environment with trim_blocks and lstrip_blocks whose loader finds the template folders.
        """
        sections = []
        for family in FAMILIES:
            requests = self._requests.get(family)
            if not requests:
                continue
            library = _library(env, self.spelling, family)
            ordered = sorted(requests.values(), key=lambda r: r[:2])
            whole = library.find("family")
            if whole is not None:
                sections.append(whole([(name, *arguments) for _, _, _, arguments, name in ordered]).strip("\n"))
            else:
                texts = [library[macro](name, *arguments).strip("\n") for _, _, macro, arguments, name in ordered]
                sections.append("\n\n".join(texts))
        text = "\n\n".join(sections) + "\n" if sections else ""
        # Where nothing stands in front of a function's type, a blank is left.
        return text if self.spelling.inline else re.sub(r"^ (?=\S)", "", text, flags=re.MULTILINE)


class _Library:
    """The macros of one family in one dialect, most specific file first; files are loaded when first looked into."""

    __slots__ = ("env", "spelling", "family", "paths", "files", "modules", "macros")

    def __init__(self, env: Environment, spelling: Spelling, family: str) -> None:
        self.env = proxy(env)
        self.spelling = spelling
        self.family = family
        folders = (spelling.dialect, *spelling.parents, "_base")
        self.paths = [f"{root}{folder}/prelude/{family}.j2" for folder in folders for root in ("", "builtin/")]
        self.files: set[str] = set()
        self.modules: list[TemplateModule] = []
        self.macros: dict[str, Any] = {}

    def find(self, macro: str) -> Any | None:
        """The macro of that name, or None."""
        if macro not in self.macros:
            self.macros[macro] = next((m for m in (getattr(x, macro, None) for x in self._modules()) if m), None)
        return self.macros[macro]

    def _modules(self) -> Iterator[TemplateModule]:
        yield from self.modules
        while self.paths:
            path, module = self.paths[0], None
            file = _file_of(self.env, path)
            if file is not None and file not in self.files:
                module = self.env.get_template(path).make_module(self.spelling.context)
                # In this order: Ctrl-C in between leaves a file that is loaded again, and none that is missing.
                self.modules.append(module)
                self.files.add(file)
            self.paths.pop(0)
            if module is not None:
                yield module

    def __getitem__(self, macro: str) -> Any:
        found = self.find(macro)
        if found is None:
            raise KeyError(f"no prelude template defines the macro '{macro}' of the family '{self.family}'")
        return found


def _file_of(env: Environment, path: str) -> str | None:
    """The file behind a template path (two paths may lead to one), or None when there is none."""
    from jinja2 import TemplateNotFound

    assert env.loader is not None
    try:
        return env.loader.get_source(env, path)[1] or path
    except TemplateNotFound:
        return None


def _library(env: Environment, spelling: Spelling, family: str) -> _Library:
    libraries = _LIBRARIES.setdefault(env, {})
    key = (id(spelling), family)  # which the library keeps, so that no other has its number
    library = libraries.get(key)
    if library is None:
        library = libraries[key] = _Library(env, spelling, family)
    return library
