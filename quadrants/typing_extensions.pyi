"""What type checkers are told of names that are more than Python's types can say. Nothing here exists at run time.

Kernels are annotated with values, such as `qd.types.ndarray(dtype=qd.f32, ndim=1)`, which checkers refuse in
annotations, and written in a language in which a name may change its type. Both are fine below a decorator called
`no_type_check` of a stub called `typing_extensions`: pyright knows these two names, wherever they are, and reports
nothing about the function. Hence the name of this file and of each decorator. mypy needs its plugin `quadrants.mypy`.
"""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeAlias

from typing_extensions import Self, TypeVar

from quadrants.kernel import Kernel as _CompiledKernel
from quadrants.lang.matrix import Matrix, Vector
from quadrants.lang.struct import Struct

# Dtypes are objects; in annotations they stand for the Python numbers that are passed.
f16: TypeAlias = float
f32: TypeAlias = float
f64: TypeAlias = float
float16: TypeAlias = float
float32: TypeAlias = float
float64: TypeAlias = float
i8: TypeAlias = int
i16: TypeAlias = int
i32: TypeAlias = int
i64: TypeAlias = int
int8: TypeAlias = int
int16: TypeAlias = int
int32: TypeAlias = int
int64: TypeAlias = int
u1: TypeAlias = int
u8: TypeAlias = int
u16: TypeAlias = int
u32: TypeAlias = int
u64: TypeAlias = int
uint1: TypeAlias = int
uint8: TypeAlias = int
uint16: TypeAlias = int
uint32: TypeAlias = int
uint64: TypeAlias = int

# The base Any: what the language computes with a vector has the type that the place it goes to has.
class _VectorOf(Vector, Any):
    def __new__(cls, *parts: Any) -> Self: ...
    def __init__(self, *parts: Any) -> None:
        """A vector of these parts, as in `qd.math.vec3(0.0, xy)`; one number fills all elements."""
    @classmethod
    def field(cls, shape: Any = None, **options: Any) -> Any:
        """A field of such vectors; options are those of `qd.field`."""
    @classmethod
    def ndarray(cls, shape: Any, needs_grad: bool = False) -> Any:
        """An ndarray of such vectors."""

class _MatrixOf(Matrix, Any):
    def __new__(cls, *parts: Any) -> Self: ...
    def __init__(self, *parts: Any) -> None:
        """A matrix of these rows, as in `qd.math.mat2([1.0, 0.0], [0.0, 1.0])`; one number fills all elements."""
    @classmethod
    def field(cls, shape: Any = None, **options: Any) -> Any:
        """A field of such matrices; options are those of `qd.field`."""
    @classmethod
    def ndarray(cls, shape: Any, needs_grad: bool = False) -> Any:
        """An ndarray of such matrices."""

class _StructOf(Struct, Any):
    def __new__(cls, *parts: Any, **members: Any) -> Self: ...
    def __init__(self, *parts: Any, **members: Any) -> None:
        """A struct of these members, in order or by name; those left out are zero."""
    @classmethod
    def field(cls, shape: Any = None, **options: Any) -> Any:
        """A field of such structs; options are those of `qd.field`."""

# What these make is both called and written in annotations: for pyright only names of classes that are made by `type`
# are both. As before, a private parameter's default says what is returned.
_TypeT = TypeVar("_TypeT", default=Any)
_MadeVector = type("_MadeVector", (_VectorOf,), {})
_MadeMatrix = type("_MadeMatrix", (_MatrixOf,), {})
_MadeStruct = type("_MadeStruct", (_StructOf,), {})

def vector(n: int | None = None, dtype: Any = None, *, unpacked: bool = False, _made: _TypeT = _MadeVector) -> _TypeT:
    """Type of vectors with `n` elements of `dtype` (a primitive type, or int, float, bool).

        vec3 = qd.types.vector(3, qd.f32)
        x = vec3.field(shape=100)

    Without `dtype` it only serves to annotate `@qd.func` parameters: the shape is checked, any dtype is accepted.
    """

def matrix(n: int | None = None, m: int | None = None, dtype: Any = None, *, _made: _TypeT = _MadeMatrix) -> _TypeT:
    """Type of `n` x `m` matrices with elements of `dtype` (a primitive type, or int, float, bool).

        mat3 = qd.types.matrix(3, 3, qd.f32)
        x = mat3.field(shape=100)

    Without `dtype` it only serves to annotate `@qd.func` parameters: the shape is checked, any dtype is accepted.
    """

def struct(*, _made: _TypeT = _MadeStruct, **members: Any) -> _TypeT:
    """Struct type with the given members: primitive types, vector and matrix types, struct types.

    Particle = qd.types.struct(pos=qd.math.vec3, mass=qd.f32)
    particles = Particle.field(shape=100)
    """

def dataclass(cls: type, _made: _TypeT = _MadeStruct) -> _TypeT:
    """Make a struct type of a class: annotations become members, functions become methods.

        @qd.dataclass
        class Particle:
            pos: qd.math.vec3
            mass: qd.f32

        particles = Particle.field(shape=100)

    A `@qd.func` method gets `self` by reference in kernels; plain methods run in Python scope.
    """

class vec2(_VectorOf):
    """Vectors of two `default_fp`: `v = qd.math.vec2(1.0, 2.0)`."""

class vec3(_VectorOf):
    """Vectors of three `default_fp`: `v = qd.math.vec3(1.0, 2.0, 3.0)`."""

class vec4(_VectorOf):
    """Vectors of four `default_fp`: `v = qd.math.vec4(1.0, 2.0, 3.0, 4.0)`."""

class ivec2(_VectorOf):
    """Vectors of two `default_ip`: `v = qd.math.ivec2(1, 2)`."""

class ivec3(_VectorOf):
    """Vectors of three `default_ip`: `v = qd.math.ivec3(1, 2, 3)`."""

class ivec4(_VectorOf):
    """Vectors of four `default_ip`: `v = qd.math.ivec4(1, 2, 3, 4)`."""

class uvec2(_VectorOf):
    """Vectors of two unsigned integers: `v = qd.math.uvec2(1, 2)`."""

class uvec3(_VectorOf):
    """Vectors of three unsigned integers: `v = qd.math.uvec3(1, 2, 3)`."""

class uvec4(_VectorOf):
    """Vectors of four unsigned integers: `v = qd.math.uvec4(1, 2, 3, 4)`."""

class mat2(_MatrixOf):
    """Matrices of 2 x 2 `default_fp`: `m = qd.math.mat2([1.0, 0.0], [0.0, 1.0])`."""

class mat3(_MatrixOf):
    """Matrices of 3 x 3 `default_fp`: `m = qd.math.mat3(0.0)`."""

class mat4(_MatrixOf):
    """Matrices of 4 x 4 `default_fp`: `m = qd.math.mat4(0.0)`."""

class NDArray(Any, Protocol):
    """Annotation of an array parameter: `qd.types.ndarray(dtype=qd.f32, ndim=1)` or `qd.types.NDArray[qd.f32, 1]`.

    Takes ndarrays, NumPy arrays, torch tensors and whatever else exchanges memory by DLPack. In a dataclass write it
    with brackets, which type checkers take anywhere.

    Args:
        dtype: element type (primitive, int, float, vector or matrix type); None accepts any.
        ndim: number of array axes without element axes; None accepts any.
        element_dim: 0, 1 or 2: elements are scalars, vectors or matrices of any extents.
        element_shape: () , (n,) or (n, m): extents of the elements.
        needs_grad: True demands an array with gradient; None and False accept both.
        boundary: "unsafe", or "clamp" to limit every index to the valid range.
    """

    def __class_getitem__(cls, item: Any) -> Any: ...
    def __init__(
        self,
        dtype: Any = None,
        ndim: int | None = None,
        element_dim: int | None = None,
        element_shape: tuple[int, ...] | None = None,
        field_dim: int | None = None,
        needs_grad: bool | None = None,
        boundary: str = "unsafe",
    ) -> None: ...

ndarray = NDArray

class Kernel(_CompiledKernel):
    """A compiled-on-demand function: called like the function, from Python."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel. `qd_stream`: the stream to launch on."""
    def __get__(self, instance: Any, owner: Any = ...) -> Kernel: ...
    @property
    def grad(self) -> Kernel:
        """The derivative in reverse mode, called with the arguments of the kernel."""

# A decorator that is called with options first gives another decorator. One signature has to say both, as pyright looks
# for a function of the name: without a function, what is returned has the type that the default value tells.
_MadeT = TypeVar("_MadeT", default=Kernel)
_FnT = TypeVar("_FnT", bound=Callable[..., Any])

class _OnceGiven(Generic[_MadeT]):
    def __init__(self, decorator: _MadeT) -> None: ...

class _WithOptions:
    @staticmethod
    def no_type_check(fn: Callable[..., Any]) -> Kernel: ...

class _FuncWithOptions:
    @staticmethod
    def no_type_check(fn: _FnT) -> _FnT: ...

_KERNEL = _OnceGiven(_WithOptions.no_type_check)

class _KernelDecorator:
    @staticmethod
    def no_type_check(
        _fn: Callable[..., Any] | _OnceGiven[_MadeT] = _KERNEL,
        *,
        pure: bool | None = None,
        fastcache: bool = False,
        graph: bool = False,
        checkpoints: bool = False,
        template: Any = None,
    ) -> _MadeT:
        """Compile a Python function for the arch chosen by `qd.init`; called like a function, from Python only.

            @qd.kernel
            def double(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
                for i in a:
                    a[i] *= 2.0

        Every parameter needs an annotation: a dtype, `qd.types.ndarray(...)`, `qd.template()`, `qd.Tensor`, a vector,
        matrix or struct type, or a dataclass. Top-level `for` loops run in parallel.

        Args:
            fastcache: a promise that all data comes through parameters; lets later processes skip tracing.
            pure: deprecated synonym of `fastcache`.
            graph: launch all tasks as one; needed for `qd.graph`.
            checkpoints: with `graph`, allow `qd.checkpoint`; a launch then returns a `qd.GraphStatus`.
            template: folder searched first for the templates of this kernel.
        """

class _FuncDecorator:
    @staticmethod
    def no_type_check(
        fn: _FnT = _FuncWithOptions.no_type_check,
        *,
        is_real_function: bool = False,
        requires_top_level: bool = False,
    ) -> _FnT:
        """Make a function callable from kernels and other funcs.

            @qd.func
            def square(x):
                return x * x

        Args:
            is_real_function: a true call with early returns and recursion; every parameter must be annotated.
            requires_top_level: calling it inside a run-time `for`, `if` or `while` is an error.
        """

class _PyfuncDecorator:
    @staticmethod
    def no_type_check(fn: _FnT) -> _FnT:
        """As `qd.func` in kernels, and the plain function in Python scope.

        @qd.pyfunc
        def square(x):
            return x * x
        """

class _RealFuncDecorator:
    @staticmethod
    def no_type_check(fn: _FnT) -> _FnT:
        """`qd.func(is_real_function=True)`: a true call, with early returns and recursion.

        @qd.real_func
        def fib(n: qd.i32) -> qd.i32:
            if n < 2:
                return n
            return fib(n - 1) + fib(n - 2)
        """

kernel = _KernelDecorator.no_type_check
func = _FuncDecorator.no_type_check
pyfunc = _PyfuncDecorator.no_type_check
real_func = _RealFuncDecorator.no_type_check
