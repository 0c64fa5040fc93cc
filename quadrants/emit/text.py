"""Emitted expressions, and the only ways to make one out of others.

A `Text` knows how tightly its outermost operator binds. The constructors here place operands, with parentheses where
they need them; nothing else puts an expression into a text of its own. A `Text` is no `str` and refuses to be
formatted as one: what a statement or an argument list holds as a whole is its `bare` text.

    infix("*", MUL, infix("+", ADD, name("a"), name("b")), name("c")).bare      "(a + b) * c"
    address(element(name("x"), name("i"))).bare                                 "&x[i]"
"""

from __future__ import annotations

# Precedences of C, higher binds tighter.
PRIMARY, UNARY, MUL, ADD, SHIFT, RELATION, EQUALITY, BAND, BXOR, BOR, AND, OR, TERNARY = range(16, 3, -1)


class Text:
    """One expression. pointer: of a place that a pointer leads to, that pointer. space: of a place, or of a pointer the
    place it leads to: the qualifier of the memory it is in, which precedes a type; "" for what needs none.
    """

    __slots__ = ("bare", "precedence", "pointer", "space")

    def __init__(self, bare: str, precedence: int = PRIMARY, pointer: Text | None = None, space: str = "") -> None:
        self.bare = bare
        self.precedence = precedence
        self.pointer = pointer
        self.space = space

    def at(self, precedence: int) -> str:
        """As an operand of what binds so tightly."""
        return self.bare if self.precedence >= precedence else f"({self.bare})"

    def __format__(self, spec: str) -> str:
        raise TypeError("operands reach a text through the constructors of quadrants.emit.text")

    __str__ = __format__  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Text({self.bare!r}, {self.precedence})"


def name(identifier: str, space: str = "") -> Text:
    """A variable, a number without sign, or anything else that is one token."""
    return Text(identifier, space=space)


def infix(symbol: str, precedence: int, a: Text, b: Text, need: int = 0) -> Text:
    """`a symbol b`. need: of both operands, where a reader, or a compiler that warns, wants more than the grammar."""
    left, right = (need, need) if need else (precedence, precedence + 1)
    return Text(f"{a.at(left)} {symbol} {b.at(right)}", precedence)


def prefix(symbol: str, a: Text) -> Text:
    """`-a`, `!a`, `~a`; two signs in a row would be another operator."""
    operand = a.at(UNARY)
    return Text(f"-({operand})" if symbol == operand[0] == "-" else symbol + operand, UNARY)


def select(condition: Text, a: Text, b: Text) -> Text:
    return Text(f"{condition.at(TERNARY + 1)} ? {a.at(TERNARY + 1)} : {b.at(TERNARY)}", TERNARY)


def cast(type_name: str, a: Text) -> Text:
    """`(T)a`."""
    return Text(f"({type_name}){a.at(UNARY)}", UNARY)


def pointer(type_name: str, space: str, a: Text) -> Text:
    """`(T *)a`, which leads to memory of that kind."""
    return Text(f"({space}{type_name} *){a.at(UNARY)}", UNARY, space=space)


def call(function: str, *arguments: Text) -> Text:
    return Text(f"{function}({', '.join([a.at(TERNARY) for a in arguments])})")


def size_of(type_name: str) -> Text:
    """The bytes of a type."""
    return Text(f"sizeof({type_name})")


def parenthesised(a: Text) -> Text:
    return Text(f"({a.bare})")


def element(array: Text, index: Text) -> Text:
    """`array[index]`."""
    return Text(f"{array.at(PRIMARY)}[{index.bare}]", space=array.space)


def member(a: Text, identifier: str) -> Text:
    """`a.identifier`."""
    return Text(f"{a.at(PRIMARY)}.{identifier}", space=a.space)


def through(pointer: Text, identifier: str) -> Text:
    """`pointer->identifier`."""
    return Text(f"{pointer.at(PRIMARY)}->{identifier}")


def component(a: Text, index: Text) -> Text:
    """A number of a tensor."""
    return element(member(a, "v"), index)


def pointed(pointer: Text) -> Text:
    """The place that a pointer leads to."""
    return Text(f"(*{pointer.at(UNARY)})", PRIMARY, pointer, pointer.space)


def address(place: Text) -> Text:
    """A pointer to a place."""
    return place.pointer or Text(f"&{place.at(PRIMARY)}", UNARY, space=place.space)


def volatile(type_name: str, place: Text) -> Text:
    """A load that the compiler keeps where it is."""
    return Text(f"(*(const volatile {place.space}{type_name} *){address(place).at(UNARY)})")


def as_type(type_name: str, place: Text) -> Text:
    """A place as one of another type that begins there."""
    return pointed(pointer(type_name, place.space, address(place)))


def assign(place: Text, value: Text, symbol: str = "") -> str:
    """`place = value`, `place += value`."""
    return f"{place.bare} {symbol}= {value.bare}"


def unless(condition: Text, call: Text) -> str:
    """`if (!(condition)) call;`"""
    return f"if (!({condition.bare})) {call.bare};"


def string(value: str) -> Text:
    """A literal with the bytes of a string; what C reads in other ways is escaped."""
    out = []
    for ch in value:
        if ch in '"\\':
            out.append("\\" + ch)
        elif ch == "\n":
            out.append("\\n")
        elif ch == "\t":
            out.append("\\t")
        elif ch == "?":
            out.append("\\?")
        elif 32 <= ord(ch) < 127:
            out.append(ch)
        else:
            out.extend(f"\\{byte:03o}" for byte in ch.encode())
    return Text('"' + "".join(out) + '"')
