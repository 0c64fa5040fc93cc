// Flushing subnormal numbers to zero, a mode of each thread.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#define QD_FPMODE_X86 1
#elif defined(__aarch64__) && !defined(_MSC_VER)
#define QD_FPMODE_ARM 1
#endif

namespace qd {

#if defined(QD_FPMODE_X86)
using FpMode = unsigned;
constexpr FpMode flush_bits = 0x8040;  // FTZ (results) and DAZ (operands)
inline FpMode fp_mode() { return _mm_getcsr(); }
inline void set_fp_mode(FpMode mode) { _mm_setcsr(mode); }
inline void pause_briefly() { _mm_pause(); }
#elif defined(QD_FPMODE_ARM)
using FpMode = uint64_t;
constexpr FpMode flush_bits = uint64_t(1) << 24;  // FZ
inline FpMode fp_mode() {
    FpMode mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
inline void set_fp_mode(FpMode mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
inline void pause_briefly() { asm volatile("yield"); }
#else
using FpMode = unsigned;
constexpr FpMode flush_bits = 0;
inline FpMode fp_mode() { return 0; }
inline void set_fp_mode(FpMode) {}
inline void pause_briefly() {}
#endif

inline void flush_denormals() { set_fp_mode(fp_mode() | flush_bits); }

// Flushes within a scope and gives the caller its own mode back.
class FlushDenormals {
  public:
    FlushDenormals() : caller_(fp_mode()) {
        if ((caller_ & flush_bits) != flush_bits) set_fp_mode(caller_ | flush_bits);
    }
    ~FlushDenormals() {
        if ((caller_ & flush_bits) != flush_bits) set_fp_mode(caller_);
    }
    FlushDenormals(const FlushDenormals &) = delete;
    FlushDenormals &operator=(const FlushDenormals &) = delete;

  private:
    const FpMode caller_;
};

}  // namespace qd
