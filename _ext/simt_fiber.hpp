// Stacks to run threads of a kernel on, and the switch between them.
#pragma once

#include <cstddef>
#include <string>

namespace qd::simt {

// A stack with a place to go on from. Reused for one thread of a kernel after another.
struct Fiber {
    void *resume = nullptr;  // stack pointer while it does not run
    char *low = nullptr;     // lowest usable byte
    char *high = nullptr;
};

// Usable bytes of each stack: what CUDA lets a thread have of local memory.
constexpr size_t stack_bytes = 512 << 10;

// False, with a message, when memory is out.
bool make_stack(Fiber &fiber, std::string &trouble);

// The next switch to the fiber calls `body`, which must never return.
void prepare(Fiber &fiber, void (*body)());

}  // namespace qd::simt

// Stores where this stack stands in `*from` and goes on where the other one stood. Registers that a callee must keep are
// all that a switch keeps; the modes of the floating point unit are the same on all of them.
extern "C" void qd_simt_switch(void **from, void *to);
