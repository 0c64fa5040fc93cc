/* Metal's standard library, as far as kernels use it. SIMD groups have 32 lanes; those that are together take part. Comes
 * after simt_device.h. There is no double in it, no 64-bit atomic or shuffle, and no name of CUDA's but of the variables. */
#define __METAL_VERSION__ 300

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

template <class To, class From> QD_SIMT_FN To as_type(From from) {
    static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
    return qd_simt_bits<To>(from);
}

/* Half precision: 1 bit sign, 5 exponent, 10 fraction; a number that is rounded to nearest even after each operation. */
#if (defined(__clang__) && __clang_major__ >= 15) || (!defined(__clang__) && __GNUC__ >= 13)
typedef _Float16 half;
#else
QD_SIMT_FN ushort qd_simt_to_half(float x) {
    uint u = as_type<uint>(x), sign = u >> 16 & 0x8000u, m = u & 0x7fffffffu;
    if (m > 0x7f800000u) return (ushort)(sign | 0x7fffu);
    if (m >= 0x477ff000u) return (ushort)(sign | 0x7c00u);
    if (m < 0x38800000u) return (ushort)(sign | (uint)(int)__builtin_nearbyintf(as_type<float>(m) * 0x1p24f));
    m += 0xfffu + (m >> 13 & 1) - 0x38000000u;
    return (ushort)(sign | m >> 13);
}
QD_SIMT_FN float qd_simt_from_half(ushort h) {
    uint sign = (h & 0x8000u) << 16, m = h & 0x7fffu;
    if (m >= 0x7c00u) return as_type<float>(sign | 0x7f800000u | (m & 0x3ffu) << 13);
    float x = m < 0x400u ? (float)m * 0x1p-24f : as_type<float>((m << 13) + 0x38000000u);
    return sign ? -x : x;
}
struct half {
    ushort bits;
    typedef half rounded;
    half() = default;
    template <class T> half(T x) : bits(qd_simt_to_half((float)x)) {}
    operator float() const { return qd_simt_from_half(bits); }
    half &operator+=(float x) { return *this = *this + x; }
    half &operator-=(float x) { return *this = *this - x; }
    half &operator*=(float x) { return *this = *this * x; }
    half &operator/=(float x) { return *this = *this / x; }
};
template <class T> QD_SIMT_FN typename T::rounded operator+(T a, T b) { return half((float)a + (float)b); }
template <class T> QD_SIMT_FN typename T::rounded operator-(T a, T b) { return half((float)a - (float)b); }
template <class T> QD_SIMT_FN typename T::rounded operator*(T a, T b) { return half((float)a * (float)b); }
template <class T> QD_SIMT_FN typename T::rounded operator/(T a, T b) { return half((float)a / (float)b); }
#endif

namespace metal {

/* ---- numbers */

#define QD_SIMT_REAL1(name) QD_SIMT_FN float name(float x) { return __builtin_##name##f(x); }
#define QD_SIMT_REAL2(name) QD_SIMT_FN float name(float x, float y) { return __builtin_##name##f(x, y); }
QD_SIMT_REAL1(floor) QD_SIMT_REAL1(ceil) QD_SIMT_REAL1(trunc) QD_SIMT_REAL1(round) QD_SIMT_REAL1(fabs)
QD_SIMT_REAL2(copysign)
QD_SIMT_FN float frexp(float x, int &exponent) { return __builtin_frexpf(x, &exponent); }
namespace precise {
QD_SIMT_REAL1(sin) QD_SIMT_REAL1(cos) QD_SIMT_REAL1(tan) QD_SIMT_REAL1(asin) QD_SIMT_REAL1(acos) QD_SIMT_REAL1(tanh)
QD_SIMT_REAL1(exp) QD_SIMT_REAL1(log) QD_SIMT_REAL1(sqrt)
QD_SIMT_REAL2(atan2) QD_SIMT_REAL2(pow) QD_SIMT_REAL2(fmod)
QD_SIMT_FN float rsqrt(float x) { return 1 / __builtin_sqrtf(x); }
QD_SIMT_FN float divide(float x, float y) { return x / y; }
}  // namespace precise
namespace fast {
using precise::cos;
using precise::exp;
using precise::log;
using precise::rsqrt;
using precise::sin;
}  // namespace fast
QD_SIMT_FN uint popcount(uint x) { return (uint)__builtin_popcount(x); }
QD_SIMT_FN uint clz(uint x) { return x ? (uint)__builtin_clz(x) : 32; }
QD_SIMT_FN uint ctz(uint x) { return x ? (uint)__builtin_ctz(x) : 32; }

/* ---- atomic operations: plain ones, as a launch runs on one thread of the machine */

enum memory_order { memory_order_relaxed };
template <class T> struct atomic { T value; };
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<float> atomic_float;

template <class T> QD_SIMT_FN T atomic_load_explicit(const volatile atomic<T> *p, memory_order) { return p->value; }
template <class T, class X> QD_SIMT_FN void atomic_store_explicit(volatile atomic<T> *p, X x, memory_order) {
    p->value = (T)x;
}
/* May fail for no reason, and does so every third time. */
template <class T, class X>
QD_SIMT_FN bool atomic_compare_exchange_weak_explicit(volatile atomic<T> *p, T *expected, X x, memory_order, memory_order) {
    static uint calls;
    T old = p->value;
    bool same = old == *expected && ++calls % 3 != 0;
    if (same) p->value = (T)x;
    *expected = old;
    return same;
}
#define QD_SIMT_METAL_FETCH(name, T, next)                                                              \
    template <class X> QD_SIMT_FN T name(volatile atomic<T> *p, X y, memory_order) {                     \
        T x = (T)y, old = p->value;                                                                     \
        p->value = (T)(next);                                                                           \
        return old;                                                                                     \
    }
#define QD_SIMT_METAL_FETCHES(T)                                                                        \
    QD_SIMT_METAL_FETCH(atomic_exchange_explicit, T, x)                                                 \
    QD_SIMT_METAL_FETCH(atomic_fetch_add_explicit, T, (uint)old + (uint)x)                              \
    QD_SIMT_METAL_FETCH(atomic_fetch_sub_explicit, T, (uint)old - (uint)x)                              \
    QD_SIMT_METAL_FETCH(atomic_fetch_min_explicit, T, old < x ? old : x)                                \
    QD_SIMT_METAL_FETCH(atomic_fetch_max_explicit, T, old > x ? old : x)                                \
    QD_SIMT_METAL_FETCH(atomic_fetch_and_explicit, T, old & x)                                          \
    QD_SIMT_METAL_FETCH(atomic_fetch_or_explicit, T, old | x)                                           \
    QD_SIMT_METAL_FETCH(atomic_fetch_xor_explicit, T, old ^ x)
QD_SIMT_METAL_FETCHES(int)
QD_SIMT_METAL_FETCHES(uint)
QD_SIMT_METAL_FETCH(atomic_fetch_add_explicit, float, old + x)

/* ---- threads together */

enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
QD_SIMT_FN mem_flags operator|(mem_flags a, mem_flags b) { return (mem_flags)((int)a | (int)b); }
QD_SIMT_TOGETHER void threadgroup_barrier(mem_flags) { qd_simt.api->barrier(QD_SIMT_BLOCK_SYNC, 0); }
QD_SIMT_TOGETHER void simdgroup_barrier(mem_flags) { qd_simt_vote(QD_SIMT_SYNC, 1, 0, 0); }

/* A lane that takes no part gives nothing of use, and there is none beyond the last. */
#define QD_SIMT_METAL_SHUFFLES(T)                                                                       \
    QD_SIMT_TOGETHER T simd_shuffle(T v, ushort lane) {                                                 \
        return qd_simt_bits<T>(qd_simt.api->warp(                                                       \
            QD_SIMT_SHUFFLE, 1, 0, qd_simt_bits<unsigned long long>(v), lane));                         \
    }                                                                                                   \
    QD_SIMT_TOGETHER T simd_shuffle_down(T v, ushort delta) {                                           \
        return qd_simt_shuffle(QD_SIMT_SHUFFLE_DOWN, 1, 0, v, delta, QD_SIMT_WARP);                     \
    }
QD_SIMT_METAL_SHUFFLES(int)
QD_SIMT_METAL_SHUFFLES(uint)
QD_SIMT_METAL_SHUFFLES(float)

struct simd_vote {
    typedef ulong vote_t;
    vote_t bits;
    explicit operator vote_t() const { return bits; }
};
QD_SIMT_TOGETHER simd_vote simd_ballot(bool p) { return simd_vote{(ulong)qd_simt_vote(QD_SIMT_BALLOT, 1, 0, p)}; }

}  // namespace metal

/* How the emulator calls a task: arguments, what tasks share, where the thread is, and the memory of the block. */
template <class A, class F>
static inline void qd_simt_metal(void (*f)(A, F, uint3, uint3, uint3, uint3, ushort), void **params) {
    f(*(typename qd_simt_value<A>::type *)params[0], *(F *)params[1], threadIdx, blockIdx, blockDim, gridDim,
      (ushort)qd_simt_lane());
}
#ifdef QD_SIMT_DYNAMIC
template <class A, class F>
static inline void qd_simt_metal(void (*f)(A, F, uint3, uint3, uint3, uint3, ushort, uint8_t *), void **params) {
    f(*(typename qd_simt_value<A>::type *)params[0], *(F *)params[1], threadIdx, blockIdx, blockDim, gridDim,
      (ushort)qd_simt_lane(), qd_shared_dynamic);
}
#endif
#undef QD_SIMT_ENTRY
#define QD_SIMT_ENTRY(task)                                                                        \
    extern "C" void qd_call_##task(void **params) { qd_simt_metal(task, params); }                  \
    extern "C" { qd_simt_entry qd_entry_##task = {&qd_simt, qd_call_##task}; }

#define device
#define thread
#define threadgroup
#define constant const
