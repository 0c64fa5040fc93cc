/* What the device compilers of CUDA and HIP have built in, but for the operations of a warp. Comes after simt_device.h. */

QD_SIMT_FN int __float_as_int(float x) { return qd_simt_bits<int>(x); }
QD_SIMT_FN unsigned __float_as_uint(float x) { return qd_simt_bits<unsigned>(x); }
QD_SIMT_FN float __int_as_float(int x) { return qd_simt_bits<float>(x); }
QD_SIMT_FN float __uint_as_float(unsigned x) { return qd_simt_bits<float>(x); }
QD_SIMT_FN long long __double_as_longlong(double x) { return qd_simt_bits<long long>(x); }
QD_SIMT_FN double __longlong_as_double(long long x) { return qd_simt_bits<double>(x); }
QD_SIMT_FN int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
QD_SIMT_FN int __double2loint(double x) { return (int)__double_as_longlong(x); }
QD_SIMT_FN double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
QD_SIMT_FN int __popc(unsigned x) { return __builtin_popcount(x); }
QD_SIMT_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
QD_SIMT_FN int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
QD_SIMT_FN int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
QD_SIMT_FN int __ffs(int x) { return __builtin_ffs(x); }
QD_SIMT_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
QD_SIMT_FN unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int k = 0; k < 32; ++k) r |= (x >> k & 1) << (31 - k);
    return r;
}
QD_SIMT_FN unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
QD_SIMT_FN int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
QD_SIMT_FN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
QD_SIMT_FN long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
QD_SIMT_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

/* ---- memory and time: a launch runs on one thread of the machine, so only the compiler could reorder anything */

QD_SIMT_FN void qd_simt_fence() { __asm__ volatile("" ::: "memory"); }
QD_SIMT_FN void __threadfence() { qd_simt_fence(); }
QD_SIMT_FN void __threadfence_block() { qd_simt_fence(); }
QD_SIMT_FN void __threadfence_system() { qd_simt_fence(); }
template <class T> QD_SIMT_FN T __ldg(const T *p) { return *p; }
QD_SIMT_FN long long clock64() { return (long long)qd_simt.api->clock(); }
QD_SIMT_FN long long wall_clock64() { return (long long)qd_simt.api->clock(); }
QD_SIMT_FN int clock() { return (int)qd_simt.api->clock(); }
QD_SIMT_FN void qd_exit() { qd_simt.api->leave(); }

/* ---- atomic operations: plain ones, for the same reason */

#define QD_SIMT_ATOMIC(name, T, next)            \
    QD_SIMT_FN T name(T *p, T x) {               \
        volatile T *at = p;                      \
        T old = *at;                             \
        *at = (next);                            \
        return old;                              \
    }
#define QD_SIMT_ATOMICS(T)                                      \
    QD_SIMT_ATOMIC(atomicExch, T, x)                            \
    QD_SIMT_ATOMIC(atomicMin, T, old < x ? old : x)             \
    QD_SIMT_ATOMIC(atomicMax, T, old > x ? old : x)             \
    QD_SIMT_ATOMIC(atomicAnd, T, old & x)                       \
    QD_SIMT_ATOMIC(atomicOr, T, old | x)                        \
    QD_SIMT_ATOMIC(atomicXor, T, old ^ x)
#define QD_SIMT_CAS(T)                                          \
    QD_SIMT_FN T atomicCAS(T *p, T expected, T desired) {       \
        volatile T *at = p;                                     \
        T old = *at;                                            \
        if (old == expected) *at = desired;                     \
        return old;                                             \
    }
QD_SIMT_ATOMICS(int)
QD_SIMT_ATOMICS(unsigned int)
QD_SIMT_ATOMICS(unsigned long long)
QD_SIMT_ATOMIC(atomicMin, long long, old < x ? old : x)
QD_SIMT_ATOMIC(atomicMax, long long, old > x ? old : x)
QD_SIMT_ATOMIC(atomicExch, float, x)
QD_SIMT_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)x))
QD_SIMT_ATOMIC(atomicAdd, unsigned int, old + x)
QD_SIMT_ATOMIC(atomicAdd, unsigned long long, old + x)
QD_SIMT_ATOMIC(atomicAdd, float, old + x)
QD_SIMT_ATOMIC(atomicAdd, double, old + x)
QD_SIMT_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)x))
QD_SIMT_ATOMIC(atomicSub, unsigned int, old - x)
QD_SIMT_ATOMIC(atomicInc, unsigned int, old >= x ? 0 : old + 1)
QD_SIMT_ATOMIC(atomicDec, unsigned int, old == 0 || old > x ? x : old - 1)
QD_SIMT_CAS(int)
QD_SIMT_CAS(unsigned int)
QD_SIMT_CAS(unsigned long long)

/* ---- all threads of the block */

QD_SIMT_TOGETHER void __syncthreads() { qd_simt.api->barrier(QD_SIMT_BLOCK_SYNC, 0); }
QD_SIMT_TOGETHER int __syncthreads_and(int p) { return qd_simt.api->barrier(QD_SIMT_BLOCK_AND, p); }
QD_SIMT_TOGETHER int __syncthreads_or(int p) { return qd_simt.api->barrier(QD_SIMT_BLOCK_OR, p); }
QD_SIMT_TOGETHER int __syncthreads_count(int p) { return qd_simt.api->barrier(QD_SIMT_BLOCK_COUNT, p); }
