"""Why a program has no result that could be compared."""

from __future__ import annotations


class Undefined(Exception):
    """The language leaves open what this gives: a race, an index out of range, a division by zero."""


class Refused(Undefined):
    """A check of debug mode ends the launch: no result, but an error."""


class Unmodelled(Exception):
    """The model does not know this part of the language, or the program is none."""
