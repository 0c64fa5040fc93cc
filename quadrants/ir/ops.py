"""THE table of scalar operations: operands and result, what it costs, and who computes it.

Tensors apply an operation element by element. docs/development/add_an_operation.md says what else a new one needs.

Rules of the result
    same     the operand's type                    prom     promotion of the operands
    dfp      the type; integers become default_fp  left     the left operand's type
    u1       boolean                               i32      32-bit integer
    div      promotion after integers became default_fp
    atan2    f64 if any operand is f64, else f32
Operands
    any, real, int (includes u1)
Symbol
    as error messages name it
Cost
    in units of one arithmetic operation, about a third of a nanosecond
Library
    libm if the mathematical library of C has a function of this name, and the version of glibc since which libmvec has
    one for vectors; - where a template or an operator of the language computes it
"""

from __future__ import annotations

from typing import NamedTuple


class Op(NamedTuple):
    name: str
    arity: int
    operands: str
    result: str
    symbol: str
    cost: int
    library: bool
    vectors: tuple[int, int] | None


_ROWS = """
neg        1 any  same  -          1   -
bit_not    1 int  same  bit_not    1   -
logic_not  1 int  u1    logic_not  1   -
abs        1 any  same  abs        1   libm
sin        1 real same  sin       30   libm/2.22
cos        1 real same  cos       30   libm/2.22
tan        1 real same  tan       30   libm/2.35
asin       1 real same  asin      30   libm/2.35
acos       1 real same  acos      30   libm/2.35
tanh       1 real same  tanh      30   libm/2.35
rsqrt      1 real same  rsqrt      8   -
floor      1 real same  floor      1   libm
ceil       1 real same  ceil       1   libm
round      1 real same  round      1   -
sqrt       1 any  dfp   sqrt       8   libm
exp        1 any  dfp   exp       30   libm/2.22
log        1 any  dfp   log       30   libm/2.22
isnan      1 any  u1    isnan      1   -
isinf      1 any  u1    isinf      1   -
popcnt     1 int  i32   popcnt     1   -
clz        1 int  i32   clz        1   -
ffs        1 int  i32   ffs        1   -
add        2 any  prom  +          1   -
sub        2 any  prom  -          1   -
mul        2 any  prom  *          1   -
truediv    2 any  div   /          8   -
floordiv   2 any  prom  /          8   -
mod        2 any  prom  %          8   -
raw_div    2 any  prom  raw_div    8   -
raw_mod    2 any  prom  raw_mod    8   -
pow        2 any  prom  pow       30   libm/2.22
powi       2 any  left  pow        1   -
max        2 any  prom  max        1   -
min        2 any  prom  min        1   -
atan2      2 any  atan2 atan2     30   libm/2.35
bit_and    2 int  prom  &          1   -
bit_or     2 int  prom  |          1   -
bit_xor    2 int  prom  ^          1   -
shl        2 int  left  <<         1   -
shr        2 int  left  >>         1   -
bit_shr    2 int  left  bit_shr    1   -
lt         2 any  u1    <          1   -
le         2 any  u1    <=         1   -
gt         2 any  u1    >          1   -
ge         2 any  u1    >=         1   -
eq         2 any  u1    ==         1   -
ne         2 any  u1    !=         1   -
logic_and  2 int  u1    &&         1   -
logic_or   2 int  u1    ||         1   -
"""


def _op(row: str) -> Op:
    name, arity, operands, result, symbol, cost, library = row.split()
    libm, _, version = library.partition("/")
    major, _, minor = version.partition(".")
    vectors = (int(major), int(minor)) if version else None
    return Op(name, int(arity), operands, result, symbol, int(cost), libm == "libm", vectors)


OPS = {op.name: op for op in map(_op, filter(None, _ROWS.split("\n")))}
DEAR = frozenset(op.name for op in OPS.values() if op.cost >= 30)
# Functions of one number that users call by their names.
ELEMENTARY = tuple(op.name for op in OPS.values() if op.arity == 1 and op.symbol == op.name and op.operands != "int")

COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
ATOMICS = ("add", "sub", "mul", "min", "max", "and", "or", "xor", "exchange", "cas")
