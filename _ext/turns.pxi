# Turns of kernels whose work is done on the host; see turns.hpp.

cdef extern from "turns.hpp" namespace "qd" nogil:
    uint64_t take_turn()
    bint is_turn(uint64_t turn)
    void end_turn()
    void wait_for_turn(uint64_t turn)
    cdef cppclass Turns:
        uint64_t holder
        uint64_t depth
        bint python_takes
    Turns turns


cdef inline bint must_wait(uint64_t turn) noexcept:
    # Of a process that ends, threads in the middle of a kernel never come back.
    return not is_turn(turn) and not <bint> sys.is_finalizing()


cdef inline bint has_turn() noexcept:
    # Whether what runs is inside of a turn that this thread holds.
    return turns.depth != 0 and turns.holder == <uint64_t> PyThread_get_thread_ident()


cdef int hold_turn() except -1:
    cdef uint64_t turn
    if not has_turn():
        turn = take_turn()
        if must_wait(turn):
            with nogil:
                wait_for_turn(turn)
        turns.holder = <uint64_t> PyThread_get_thread_ident()
    turns.depth += 1
    return 0


cdef void release_turn() noexcept:
    turns.depth -= 1
    if turns.depth == 0:
        end_turn()


cdef class HostTurn:
    """`with HostTurn():` no kernel and no other thread in such a block runs meanwhile. Blocks may be nested."""

    def __enter__(self):
        turns.python_takes = True
        hold_turn()
        return self

    def __exit__(self, *error):
        release_turn()
