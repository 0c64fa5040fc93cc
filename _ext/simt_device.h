/* What every emulated kernel finds: its variables, its shared memory, and how the emulator is called. Comes after
 * simt_abi.h; what a language has built in follows: simt_builtins.h or simt_metal.h.
 * Defined by whoever compiles: QD_SIMT_FLAVOUR, QD_SIMT_WARP (32 or 64), QD_SIMT_COOPERATIVE (whether threads may wait for each other),
 * QD_SIMT_SHARED where the text has shared arrays with sizes, QD_SIMT_DYNAMIC where it has the one without: the bytes that
 * it may have.
 * No header of the standard library is read: that alone would take longer than to compile a small kernel. */
#define QD_SIMT 1
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define QD_SIMT_FN static inline
#if defined(__clang__)
#define QD_SIMT_TOGETHER static inline __attribute__((convergent))
#else
#define QD_SIMT_TOGETHER static inline
#endif

typedef __SIZE_TYPE__ size_t;

/* The variables of the thread that runs; the emulator changes them whenever another one goes on. */
typedef qd_simt_index uint3;
typedef qd_simt_index dim3;
static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize = QD_SIMT_WARP;

/* Shared arrays lie in a section of their own, so that the emulator can spoil them before each block. `used` tells the
 * compiler that it does not see all writes. */
#ifdef QD_SIMT_SHARED
#ifdef __APPLE__
#define __shared__ static __attribute__((used, section("__DATA,qd_shared")))
extern unsigned char qd_shared_begin[] __asm__("section$start$__DATA$qd_shared");
extern unsigned char qd_shared_end[] __asm__("section$end$__DATA$qd_shared");
#else
#define __shared__ static __attribute__((used, section(".bss.qd_shared")))
__asm__(".pushsection .bss.qd_shared,\"aw\",%nobits\n"
        ".balign 16\n"
        "qd_shared_begin:\n"
        ".subsection 1\n"
        "qd_shared_end:\n"
        ".popsection");
extern "C" __attribute__((visibility("hidden"))) unsigned char qd_shared_begin[], qd_shared_end[];
#endif
#define QD_SIMT_SHARED_RANGE qd_shared_begin, qd_shared_end
#else
#define QD_SIMT_SHARED_RANGE 0, 0
#endif
#ifdef QD_SIMT_DYNAMIC
extern "C" {
__attribute__((aligned(1024))) unsigned char qd_shared_dynamic[QD_SIMT_DYNAMIC];
}
/* Every array without a size is this one, under the name that the text gives it. */
#define QD_SIMT_STRING(x) #x
#define QD_SIMT_NAME(prefix) QD_SIMT_STRING(prefix) "qd_shared_dynamic"
#define QD_SIMT_SAME __asm__(QD_SIMT_NAME(__USER_LABEL_PREFIX__))
#define QD_SIMT_DYNAMIC_RANGE qd_shared_dynamic, QD_SIMT_DYNAMIC
#else
#define QD_SIMT_DYNAMIC_RANGE 0, 0
#endif

static qd_simt_module qd_simt = {
    QD_SIMT_ABI, QD_SIMT_COOPERATIVE, 0, &threadIdx, &blockIdx, &blockDim, &gridDim, QD_SIMT_SHARED_RANGE, QD_SIMT_DYNAMIC_RANGE,
    QD_SIMT_FLAVOUR, QD_SIMT_TASKS};

/* How the emulator calls a kernel: parameters from the addresses of their values. */
template <class T> struct qd_simt_value { typedef T type; };
template <class T> struct qd_simt_value<T &> { typedef T type; };
template <int... K> struct qd_simt_places {};
template <int N, int... K> struct qd_simt_count : qd_simt_count<N - 1, N - 1, K...> {};
template <int... K> struct qd_simt_count<0, K...> { typedef qd_simt_places<K...> type; };
template <class... P, int... K>
static inline void qd_simt_pass(void (*f)(P...), void **params, qd_simt_places<K...>) {
    f(*(typename qd_simt_value<P>::type *)params[K]...);
}
template <class... P> static inline void qd_simt_apply(void (*f)(P...), void **params) {
    qd_simt_pass(f, params, typename qd_simt_count<sizeof...(P)>::type());
}
#define QD_SIMT_ENTRY(task)                                                                        \
    extern "C" void qd_call_##task(void **params) { qd_simt_apply(task, params); }                  \
    extern "C" { qd_simt_entry qd_entry_##task = {&qd_simt, qd_call_##task}; }

/* ---- bits */

template <class To, class From> QD_SIMT_FN To qd_simt_bits(From from) {
    To to = To();
    __builtin_memcpy(&to, &from, sizeof(From) < sizeof(To) ? sizeof(From) : sizeof(To));
    return to;
}

/* ---- the lanes of a warp */

QD_SIMT_FN int qd_simt_lane() { return (int)(threadIdx.x % QD_SIMT_WARP); }

/* Which lane a shuffle reads; `width` lanes make a group of their own. */
QD_SIMT_FN int qd_simt_source(int op, int lane, int width) {
    int self = qd_simt_lane(), first = self & ~(width - 1), from = lane;
    switch (op) {
        case QD_SIMT_SHUFFLE: return first | (lane & (width - 1));
        case QD_SIMT_SHUFFLE_UP: from = self - lane; return from < first ? self : from;
        case QD_SIMT_SHUFFLE_DOWN: from = self + lane; return from >= first + width ? self : from;
        default: from = self ^ lane; return from >= first + width ? self : from;
    }
}
template <class T>
QD_SIMT_TOGETHER T qd_simt_shuffle(int op, int lockstep, unsigned long long mask, T value, int lane, int width) {
    return qd_simt_bits<T>(qd_simt.api->warp(
        op, lockstep, mask, qd_simt_bits<unsigned long long>(value), qd_simt_source(op, lane, width)));
}
QD_SIMT_TOGETHER unsigned long long qd_simt_vote(int op, int lockstep, unsigned long long mask, unsigned long long value) {
    return qd_simt.api->warp(op, lockstep, mask, value, 0);
}
#define QD_SIMT_SHUFFLE_TYPES(each) \
    each(int) each(unsigned int) each(long) each(unsigned long) each(long long) each(unsigned long long) each(float) each(double)
