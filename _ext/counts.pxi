# Numbers that the arguments of a launch decide: postfix programs over the argument block.

cdef extern from "<vector>" namespace "std" nogil:
    cdef cppclass vector[T]:
        void push_back(T &)
        void clear()
        void resize(size_t)
        T &operator[](size_t)
        T &back()
        size_t size()

cdef extern from "counts.hpp" namespace "qd" nogil:
    cdef enum class Step(int32_t):
        constant
        i8
        u8
        i16
        u16
        i32
        u32
        i64
        u64
        wrap
        add
        sub
        mul
        min
        max
        bit_and
        bit_or
        bit_xor
        floor_div
        mod

    cdef struct CountStep:
        Step op
        int64_t value

    enum:
        deepest_count

# Instructions of a count: what it is, how many bytes of the block it reads, what it does to the height of the stack.
cdef dict _steps = {
    "const": (<int> Step.constant, 0, 1),
    "i8": (<int> Step.i8, 1, 1), "u8": (<int> Step.u8, 1, 1), "u1": (<int> Step.u8, 1, 1),
    "i16": (<int> Step.i16, 2, 1), "u16": (<int> Step.u16, 2, 1), "i32": (<int> Step.i32, 4, 1),
    "u32": (<int> Step.u32, 4, 1), "i64": (<int> Step.i64, 8, 1), "u64": (<int> Step.u64, 8, 1),
    "wrap": (<int> Step.wrap, 0, 0),
    "add": (<int> Step.add, 0, -1), "sub": (<int> Step.sub, 0, -1), "mul": (<int> Step.mul, 0, -1),
    "min": (<int> Step.min, 0, -1), "max": (<int> Step.max, 0, -1), "and": (<int> Step.bit_and, 0, -1),
    "or": (<int> Step.bit_or, 0, -1), "xor": (<int> Step.bit_xor, 0, -1),
    "floordiv": (<int> Step.floor_div, 0, -1), "mod": (<int> Step.mod, 0, -1),
}


cdef int add_count_steps(vector[CountStep] *program, steps, str whose, Py_ssize_t block_bytes) except -1:
    cdef CountStep step
    cdef int depth = 0
    for op, *value in steps:
        kind, size, change = _steps[op]
        step.op = <Step> <int> kind
        step.value = value[0] if value else 0
        depth += change
        if depth < 1 or depth >= deepest_count:
            raise ValueError(f"the count {whose}, {steps}, is no postfix program")
        if size and not 0 <= step.value <= block_bytes - <int64_t> size:
            raise ValueError(f"the count {whose}: offset {step.value} is outside the argument block")
        program.push_back(step)
    if depth != 1:
        raise ValueError(f"the count {whose}, {steps}, is no postfix program")
    return 0
