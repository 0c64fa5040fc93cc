/* The operations of a wave as HIP has them: the lanes that are together take part. Comes after simt_device.h. */
#include "simt_builtins.h"
#include "simt_math.h"
#define __HIPCC__ 1
#define __HIPCC_RTC__ 1
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

template <class... A> QD_SIMT_FN int printf(const char *format, A... values) {
    return qd_simt.api->print(format, values...);
}

#define QD_SIMT_HIP_SHUFFLES(T)                                                                         \
    QD_SIMT_TOGETHER T __shfl(T v, int lane, int width = 64) {                                           \
        return qd_simt_shuffle(QD_SIMT_SHUFFLE, 1, 0, v, lane, width);                                  \
    }                                                                                                   \
    QD_SIMT_TOGETHER T __shfl_up(T v, unsigned delta, int width = 64) {                                  \
        return qd_simt_shuffle(QD_SIMT_SHUFFLE_UP, 1, 0, v, (int)delta, width);                         \
    }                                                                                                   \
    QD_SIMT_TOGETHER T __shfl_down(T v, unsigned delta, int width = 64) {                                \
        return qd_simt_shuffle(QD_SIMT_SHUFFLE_DOWN, 1, 0, v, (int)delta, width);                       \
    }                                                                                                   \
    QD_SIMT_TOGETHER T __shfl_xor(T v, int bits, int width = 64) {                                       \
        return qd_simt_shuffle(QD_SIMT_SHUFFLE_XOR, 1, 0, v, bits, width);                              \
    }
QD_SIMT_SHUFFLE_TYPES(QD_SIMT_HIP_SHUFFLES)

QD_SIMT_TOGETHER unsigned long long __ballot(int p) { return qd_simt_vote(QD_SIMT_BALLOT, 1, 0, p != 0); }
QD_SIMT_TOGETHER unsigned long long __ballot64(int p) { return qd_simt_vote(QD_SIMT_BALLOT, 1, 0, p != 0); }
QD_SIMT_TOGETHER int __all(int p) { return (int)qd_simt_vote(QD_SIMT_ALL, 1, 0, p != 0); }
QD_SIMT_TOGETHER int __any(int p) { return (int)qd_simt_vote(QD_SIMT_ANY, 1, 0, p != 0); }
QD_SIMT_TOGETHER unsigned long long __activemask() { return qd_simt_vote(QD_SIMT_ACTIVE, 1, 0, 0); }
QD_SIMT_TOGETHER unsigned long long __builtin_amdgcn_read_exec() { return qd_simt_vote(QD_SIMT_ACTIVE, 1, 0, 0); }
QD_SIMT_TOGETHER void __builtin_amdgcn_wave_barrier() { qd_simt_vote(QD_SIMT_SYNC, 1, 0, 0); }
QD_SIMT_TOGETHER void __syncwarp() { qd_simt_vote(QD_SIMT_SYNC, 1, 0, 0); }
QD_SIMT_TOGETHER void __builtin_amdgcn_s_barrier() { __syncthreads(); }
QD_SIMT_TOGETHER int __builtin_amdgcn_ds_bpermute(int address, int v) {
    return qd_simt_bits<int>(qd_simt.api->warp(
        QD_SIMT_SHUFFLE, 1, 0, qd_simt_bits<unsigned long long>(v), address >> 2 & 63));
}
QD_SIMT_FN void __builtin_amdgcn_fence(int, const char *) { qd_simt_fence(); }
QD_SIMT_FN void __builtin_amdgcn_endpgm() { qd_exit(); }
QD_SIMT_FN void __builtin_amdgcn_s_sleep(int) {}
QD_SIMT_FN unsigned __builtin_amdgcn_mbcnt_lo(unsigned mask, unsigned base) {
    int lane = qd_simt_lane();
    return base + (unsigned)__popc(mask & (lane < 32 ? (1u << lane) - 1 : 0xffffffffu));
}
QD_SIMT_FN unsigned __builtin_amdgcn_mbcnt_hi(unsigned mask, unsigned base) {
    int lane = qd_simt_lane();
    return base + (unsigned)__popc(mask & (lane < 32 ? 0 : (1u << (lane - 32)) - 1));
}
QD_SIMT_FN unsigned __lane_id() { return (unsigned)qd_simt_lane(); }
QD_SIMT_FN unsigned long long __lanemask_lt() { return (1ull << qd_simt_lane()) - 1; }

QD_SIMT_ATOMIC(atomicMin, float, old < x ? old : x)
QD_SIMT_ATOMIC(atomicMax, float, old > x ? old : x)
QD_SIMT_ATOMIC(atomicMin, double, old < x ? old : x)
QD_SIMT_ATOMIC(atomicMax, double, old > x ? old : x)
QD_SIMT_ATOMIC(atomicExch, double, x)
QD_SIMT_ATOMIC(unsafeAtomicAdd, float, old + x)
QD_SIMT_ATOMIC(unsafeAtomicAdd, double, old + x)

/* The compiler's own atomic operations take any type, an order and a scope. clang knows their names on every machine. */
#define __hip_atomic_compare_exchange_strong qd_simt_hip_compare_exchange_strong
#define __hip_atomic_exchange qd_simt_hip_exchange
#define __hip_atomic_fetch_add qd_simt_hip_fetch_add
#define __hip_atomic_fetch_and qd_simt_hip_fetch_and
#define __hip_atomic_fetch_max qd_simt_hip_fetch_max
#define __hip_atomic_fetch_min qd_simt_hip_fetch_min
#define __hip_atomic_fetch_or qd_simt_hip_fetch_or
#define __hip_atomic_fetch_xor qd_simt_hip_fetch_xor
#define __hip_atomic_load qd_simt_hip_load
#define __hip_atomic_store qd_simt_hip_store
#define QD_SIMT_HIP_FETCH(name, next)                                       \
    template <class T, class X> QD_SIMT_FN T name(T *p, X y, int, int) {     \
        T x = (T)y, old = *(volatile T *)p;                                 \
        *(volatile T *)p = (T)(next);                                       \
        return old;                                                         \
    }
QD_SIMT_HIP_FETCH(qd_simt_hip_fetch_add, old + x)
QD_SIMT_HIP_FETCH(qd_simt_hip_fetch_min, old < x ? old : x)
QD_SIMT_HIP_FETCH(qd_simt_hip_fetch_max, old > x ? old : x)
QD_SIMT_HIP_FETCH(qd_simt_hip_fetch_and, old & x)
QD_SIMT_HIP_FETCH(qd_simt_hip_fetch_or, old | x)
QD_SIMT_HIP_FETCH(qd_simt_hip_fetch_xor, old ^ x)
QD_SIMT_HIP_FETCH(qd_simt_hip_exchange, x)
template <class T> QD_SIMT_FN T qd_simt_hip_load(const T *p, int, int) { return *(const volatile T *)p; }
template <class T, class X> QD_SIMT_FN void qd_simt_hip_store(T *p, X x, int, int) { *(volatile T *)p = (T)x; }
template <class T, class X> QD_SIMT_FN bool qd_simt_hip_compare_exchange_strong(T *p, T *expected, X desired, int, int, int) {
    T old = *(volatile T *)p;
    bool same = old == *expected;
    if (same) *(volatile T *)p = (T)desired;
    *expected = old;
    return same;
}
#define __hip_atomic_compare_exchange_weak qd_simt_hip_compare_exchange_strong

/* Half precision as a number. Compilers that lack it in C++ get one that is rounded after each operation, as theirs is. */
#if !defined(__clang__) && __GNUC__ < 13
struct qd_simt_half {
    unsigned short bits;
    qd_simt_half() = default;
    template <class T> qd_simt_half(T x) : bits(qd_to_half((float)x)) {}
    qd_simt_half(double x) : bits(qd_to_half(x)) {}
    operator float() const { return qd_from_half(bits); }
};
#define _Float16 qd_simt_half
#endif
