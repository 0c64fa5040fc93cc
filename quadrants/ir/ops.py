"""THE list of scalar operations: name, arity, which operands are legal, the type of the result.

Tensors apply an operation element by element, so a row is all that a new operation needs here; its text is in
`emit/spelling.py`.

Rules of the result
    same     the operand's type                    prom     promotion of the operands
    dfp      the type; integers become default_fp  left     the left operand's type
    u1       boolean                               i32      32-bit integer
    div      promotion after integers became default_fp
    atan2    f64 if any operand is f64, else f32
Operands
    any, real, int (includes u1)
"""

from __future__ import annotations

from typing import NamedTuple


class Op(NamedTuple):
    name: str
    arity: int
    operands: str
    result: str
    symbol: str


_ROWS = """
neg        1 any  same  -
bit_not    1 int  same  bit_not
logic_not  1 int  u1    logic_not
abs        1 any  same  abs
sin        1 real same  sin
cos        1 real same  cos
tan        1 real same  tan
asin       1 real same  asin
acos       1 real same  acos
tanh       1 real same  tanh
rsqrt      1 real same  rsqrt
floor      1 real same  floor
ceil       1 real same  ceil
round      1 real same  round
sqrt       1 any  dfp   sqrt
exp        1 any  dfp   exp
log        1 any  dfp   log
isnan      1 any  u1    isnan
isinf      1 any  u1    isinf
popcnt     1 int  i32   popcnt
clz        1 int  i32   clz
ffs        1 int  i32   ffs
add        2 any  prom  +
sub        2 any  prom  -
mul        2 any  prom  *
truediv    2 any  div   /
floordiv   2 any  prom  /
mod        2 any  prom  %
raw_div    2 any  prom  raw_div
raw_mod    2 any  prom  raw_mod
pow        2 any  prom  pow
powi       2 any  left  pow
max        2 any  prom  max
min        2 any  prom  min
atan2      2 any  atan2 atan2
bit_and    2 int  prom  &
bit_or     2 int  prom  |
bit_xor    2 int  prom  ^
shl        2 int  left  <<
shr        2 int  left  >>
bit_shr    2 int  left  bit_shr
lt         2 any  u1    <
le         2 any  u1    <=
gt         2 any  u1    >
ge         2 any  u1    >=
eq         2 any  u1    ==
ne         2 any  u1    !=
logic_and  2 int  u1    &&
logic_or   2 int  u1    ||
"""

OPS = {}
for _row in _ROWS.split("\n"):
    if _row:
        _name, _arity, _operands, _result, _symbol = _row.split()
        OPS[_name] = Op(_name, int(_arity), _operands, _result, _symbol)

COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
ATOMICS = ("add", "sub", "mul", "min", "max", "and", "or", "xor", "exchange", "cas")
