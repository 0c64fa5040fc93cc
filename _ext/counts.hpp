// Numbers that the arguments of a launch decide: the iterations of a task, the depth of a stack.
#pragma once

#include <cstdint>
#include <vector>

namespace qd {

// One step of the arithmetic of a number: a postfix program over the packed argument block.
enum class Step : int32_t {
    constant, i8, u8, i16, u16, i32, u32, i64, u64,
    wrap, add, sub, mul, min, max, bit_and, bit_or, bit_xor, floor_div, mod
};

struct CountStep {
    Step op;
    int64_t value;  // of a constant; the byte offset in the block of a number
};

constexpr int deepest_count = 64;  // numbers that a program may have on its stack

// What a program gives for the packed arguments; 0 at least.
int64_t evaluate(const std::vector<CountStep> &program, const char *block);

}  // namespace qd
