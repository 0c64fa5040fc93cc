// Rounding a double to IEEE half precision in one step (through float it would round twice).
#pragma once

#include <cstdint>
#include <cstring>

namespace qd {

inline uint16_t half_from_double(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = static_cast<uint16_t>((bits >> 48) & 0x8000);
    const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
    uint64_t mantissa = bits & 0xfffffffffffffull;
    if (exponent == 1024) return static_cast<uint16_t>(sign | 0x7c00 | (mantissa ? 0x200 | (mantissa >> 42) : 0));
    if (exponent > 15) return sign | 0x7c00;
    if (exponent < -25) return sign;
    mantissa |= 1ull << 52;
    // Normal halves keep 10 of 52 fraction bits, subnormal ones one fewer for every power of two below 2^-14.
    const int drop = exponent >= -14 ? 42 : 42 + (-14 - exponent);
    uint64_t kept = mantissa >> drop;
    const uint64_t rest = mantissa & ((1ull << drop) - 1);
    const uint64_t tie = 1ull << (drop - 1);
    if (rest > tie || (rest == tie && (kept & 1))) ++kept;
    // The implicit bit of `kept` adds one to the exponent field, and a carry of the rounding another, as it should.
    const uint64_t field = exponent >= -14 ? static_cast<uint64_t>(exponent + 14) << 10 : 0;
    return static_cast<uint16_t>(sign | (field + kept));
}

inline double double_from_half(uint16_t half) {
    const uint64_t sign = static_cast<uint64_t>(half & 0x8000) << 48;
    const int exponent = (half >> 10) & 0x1f;
    const uint64_t mantissa = half & 0x3ff;
    double magnitude;
    uint64_t bits;
    if (exponent == 0) {
        magnitude = static_cast<double>(mantissa) * 0x1p-24;
        std::memcpy(&bits, &magnitude, sizeof bits);
    } else if (exponent == 31) {
        bits = 0x7ffull << 52 | mantissa << 42;
    } else {
        bits = static_cast<uint64_t>(exponent - 15 + 1023) << 52 | mantissa << 42;
    }
    bits |= sign;
    std::memcpy(&magnitude, &bits, sizeof magnitude);
    return magnitude;
}

}  // namespace qd
