# Turns of kernels whose work is done on the host; see turns.hpp.

cdef extern from "turns.hpp" namespace "qd" nogil:
    uint64_t take_turn()
    bint is_turn(uint64_t turn)
    void end_turn()
    void wait_for_turn(uint64_t turn)


cdef inline bint must_wait(uint64_t turn) noexcept:
    # Of a process that ends, threads in the middle of a kernel never come back.
    return not is_turn(turn) and not <bint> sys.is_finalizing()
