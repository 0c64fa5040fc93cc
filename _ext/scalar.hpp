// Scalars of kernels in memory: writing and reading by type code.
#pragma once

#include <cstdint>
#include <cstring>

#include "half.hpp"

namespace qd {

enum Scalar : int32_t { i8, i16, i32, i64, u8, u16, u32, u64, u1, f16, f32, f64 };

inline bool is_real(int32_t code) { return code >= f16; }
inline bool is_unsigned(int32_t code) { return code >= u8 && code <= u64; }

inline int64_t scalar_size(int32_t code) {
    constexpr int64_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8};
    return sizes[code];
}

template <class T>
inline void store(void *at, T value) {
    std::memcpy(at, &value, sizeof value);
}

template <class T>
inline T load(const void *at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// Keeps the low bits: both signs wrap to the width.
inline void store_integer(int32_t code, void *at, uint64_t bits) {
    switch (scalar_size(code)) {
        case 1: store(at, static_cast<uint8_t>(bits)); break;
        case 2: store(at, static_cast<uint16_t>(bits)); break;
        case 4: store(at, static_cast<uint32_t>(bits)); break;
        default: store(at, bits);
    }
}

// Whether `store_integer` stores less than a number: neither sign of the width holds it.
inline bool loses_bits(int32_t code, int64_t number) {
    constexpr uint64_t least[] = {1u << 7, 1u << 15, 1u << 31, 0};  // below 0
    const uint64_t half = least[code & 3];
    return half != 0 && static_cast<uint64_t>(number) + half >= 3 * half;
}

inline void store_real(int32_t code, void *at, double value) {
    switch (code) {
        case f16: store(at, half_from_double(value)); break;
        case f32: store(at, static_cast<float>(value)); break;
        default: store(at, value);
    }
}

inline double load_real(int32_t code, const void *at) {
    switch (code) {
        case f16: return double_from_half(load<uint16_t>(at));
        case f32: return load<float>(at);
        default: return load<double>(at);
    }
}

inline int64_t load_signed(int32_t code, const void *at) {
    switch (code) {
        case i8: return load<int8_t>(at);
        case i16: return load<int16_t>(at);
        case i32: return load<int32_t>(at);
        default: return load<int64_t>(at);
    }
}

inline uint64_t load_unsigned(int32_t code, const void *at) {
    switch (code) {
        case u1: return load<uint8_t>(at) != 0;
        case u8: return load<uint8_t>(at);
        case u16: return load<uint16_t>(at);
        case u32: return load<uint32_t>(at);
        default: return load<uint64_t>(at);
    }
}

}  // namespace qd
