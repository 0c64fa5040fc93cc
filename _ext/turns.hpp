// Turns of kernels on the host. Kernels of several Python threads run one after the other, in the order of their
// launches: what a kernel adds to a cell that one iteration has to itself is no atomic operation. What Python does in
// several steps to memory of kernels has a turn, too, and from the first of these on launches on devices have.
#pragma once

#include <atomic>
#include <cstdint>

namespace qd {

struct Turns {
    uint64_t next = 0;                 // guarded by the GIL
    std::atomic<uint64_t> serving{0};  // changed with the GIL only
    // Guarded by the GIL. A thread that holds a turn may run Python code, which finds that it has it.
    uint64_t holder = 0;
    uint64_t depth = 0;
    bool python_takes = false;
};

extern Turns turns;

void wait_for_turn(uint64_t turn);  // without the GIL
void wake_next_turn();

// With the GIL, all three. Every turn that is taken must come to its end.
inline uint64_t take_turn() { return turns.next++; }

inline bool is_turn(uint64_t turn) { return turns.serving.load(std::memory_order_acquire) == turn; }

inline void end_turn() {
    uint64_t following = turns.serving.load(std::memory_order_relaxed) + 1;
    if (following == turns.next) {
        turns.serving.store(following, std::memory_order_release);
    } else {
        wake_next_turn();
    }
}

}  // namespace qd
