/* The operations of a warp as CUDA has them: each names the lanes that take part. Comes after simt_device.h. */
#include "simt_builtins.h"
#include "simt_math.h"
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1

template <class... A> QD_SIMT_FN int printf(const char *format, A... values) {
    static_assert(sizeof...(A) <= 32, "a device prints no more than 32 values in one call");
    return qd_simt.api->print(format, values...);
}

#define QD_SIMT_CUDA_SHUFFLES(T)                                                                        \
    QD_SIMT_TOGETHER T __shfl_sync(unsigned mask, T v, int lane, int width = 32) {                        \
        return qd_simt_shuffle(QD_SIMT_SHUFFLE, 0, mask, v, lane, width);                               \
    }                                                                                                   \
    QD_SIMT_TOGETHER T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {              \
        return qd_simt_shuffle(QD_SIMT_SHUFFLE_UP, 0, mask, v, (int)delta, width);                      \
    }                                                                                                   \
    QD_SIMT_TOGETHER T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {            \
        return qd_simt_shuffle(QD_SIMT_SHUFFLE_DOWN, 0, mask, v, (int)delta, width);                    \
    }                                                                                                   \
    QD_SIMT_TOGETHER T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {                   \
        return qd_simt_shuffle(QD_SIMT_SHUFFLE_XOR, 0, mask, v, bits, width);                           \
    }
QD_SIMT_SHUFFLE_TYPES(QD_SIMT_CUDA_SHUFFLES)

QD_SIMT_TOGETHER void __syncwarp(unsigned mask = 0xffffffffu) { qd_simt_vote(QD_SIMT_SYNC, 0, mask, 0); }
QD_SIMT_TOGETHER unsigned __ballot_sync(unsigned mask, int p) { return (unsigned)qd_simt_vote(QD_SIMT_BALLOT, 0, mask, p != 0); }
QD_SIMT_TOGETHER int __all_sync(unsigned mask, int p) { return (int)qd_simt_vote(QD_SIMT_ALL, 0, mask, p != 0); }
QD_SIMT_TOGETHER int __any_sync(unsigned mask, int p) { return (int)qd_simt_vote(QD_SIMT_ANY, 0, mask, p != 0); }
QD_SIMT_TOGETHER int __uni_sync(unsigned mask, int p) { return (int)qd_simt_vote(QD_SIMT_UNI, 0, mask, p != 0); }
QD_SIMT_TOGETHER unsigned __activemask() { return (unsigned)qd_simt_vote(QD_SIMT_ACTIVE, 1, 0, 0); }

#define QD_SIMT_CUDA_MATCHES(T)                                                                                     \
    QD_SIMT_TOGETHER unsigned __match_any_sync(unsigned mask, T v) {                                                 \
        return (unsigned)qd_simt_vote(QD_SIMT_MATCH_ANY, 0, mask, qd_simt_bits<unsigned long long>(v));              \
    }                                                                                                               \
    QD_SIMT_TOGETHER unsigned __match_all_sync(unsigned mask, T v, int *all) {                                       \
        unsigned lanes = (unsigned)qd_simt_vote(QD_SIMT_MATCH_ALL, 0, mask, qd_simt_bits<unsigned long long>(v));    \
        *all = lanes != 0;                                                                                          \
        return lanes;                                                                                               \
    }
QD_SIMT_SHUFFLE_TYPES(QD_SIMT_CUDA_MATCHES)

QD_SIMT_CAS(unsigned short)
QD_SIMT_FN void __nanosleep(unsigned) {}
QD_SIMT_FN void __trap() { qd_exit(); }

/* A loop of a graph: its handle is where the emulator looks whether it runs again. */
extern "C" inline void cudaGraphSetConditional(unsigned long long handle, unsigned again) {
    *(unsigned long long *)handle = again;
}
