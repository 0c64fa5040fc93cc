#include "counts.hpp"

#include <algorithm>

#include "scalar.hpp"

namespace qd {
namespace {

// Two's complement at any size, as kernels compute.
int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return wrapped(-static_cast<uint64_t>(a));
    int64_t q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t mod(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t combine(Step op, int64_t a, int64_t b) {
    uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    switch (op) {
        case Step::add: return wrapped(x + y);
        case Step::sub: return wrapped(x - y);
        case Step::mul: return wrapped(x * y);
        case Step::min: return std::min(a, b);
        case Step::max: return std::max(a, b);
        case Step::bit_and: return a & b;
        case Step::bit_or: return a | b;
        case Step::bit_xor: return a ^ b;
        case Step::mod: return mod(a, b);
        default: return floor_div(a, b);
    }
}

int64_t number(Step kind, const char *at) {
    switch (kind) {
        case Step::i8: return load<int8_t>(at);
        case Step::u8: return load<uint8_t>(at);
        case Step::i16: return load<int16_t>(at);
        case Step::u16: return load<uint16_t>(at);
        case Step::i32: return load<int32_t>(at);
        case Step::u32: return load<uint32_t>(at);
        default: return load<int64_t>(at);
    }
}

}  // namespace

int64_t evaluate(const std::vector<CountStep> &program, const char *block) {
    int64_t stack[deepest_count];
    int at = 0;
    for (const CountStep &step : program) {
        if (step.op == Step::constant) {
            stack[at++] = step.value;
        } else if (step.op < Step::wrap) {
            stack[at++] = number(step.op, block + step.value);
        } else if (step.op == Step::wrap) {
            stack[at - 1] = static_cast<int32_t>(static_cast<uint64_t>(stack[at - 1]));
        } else {
            --at;
            stack[at - 1] = combine(step.op, stack[at - 1], stack[at]);
        }
    }
    return std::max<int64_t>(stack[0], 0);
}

}  // namespace qd
