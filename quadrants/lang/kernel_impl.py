"""The decorators, under the module name that programs import them from."""

from quadrants.lang._public import names_of

_PUBLIC = (
    "QuadrantsCompilationError QuadrantsRuntimeError QuadrantsSyntaxError data_oriented func kernel pure pyfunc "
    "real_func"
).split()

__getattr__ = names_of(__name__, _PUBLIC)
