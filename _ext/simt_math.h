/* The functions of the C library that device compilers have built in, and those that only they have. */
#define QD_SIMT_REAL1(name)                                     \
    extern "C" double name(double) noexcept(true);               \
    extern "C" float name##f(float) noexcept(true);              \
    QD_SIMT_FN float name(float x) { return name##f(x); }
#define QD_SIMT_REAL2(name)                                     \
    extern "C" double name(double, double) noexcept(true);       \
    extern "C" float name##f(float, float) noexcept(true);       \
    QD_SIMT_FN float name(float x, float y) { return name##f(x, y); }
QD_SIMT_REAL1(sin) QD_SIMT_REAL1(cos) QD_SIMT_REAL1(tan) QD_SIMT_REAL1(asin) QD_SIMT_REAL1(acos) QD_SIMT_REAL1(atan)
QD_SIMT_REAL1(sinh) QD_SIMT_REAL1(cosh) QD_SIMT_REAL1(tanh) QD_SIMT_REAL1(asinh) QD_SIMT_REAL1(acosh) QD_SIMT_REAL1(atanh)
QD_SIMT_REAL1(exp) QD_SIMT_REAL1(exp2) QD_SIMT_REAL1(expm1) QD_SIMT_REAL1(log) QD_SIMT_REAL1(log2) QD_SIMT_REAL1(log10)
QD_SIMT_REAL1(log1p) QD_SIMT_REAL1(sqrt) QD_SIMT_REAL1(cbrt) QD_SIMT_REAL1(floor) QD_SIMT_REAL1(ceil) QD_SIMT_REAL1(trunc)
QD_SIMT_REAL1(round) QD_SIMT_REAL1(rint) QD_SIMT_REAL1(nearbyint) QD_SIMT_REAL1(fabs) QD_SIMT_REAL1(erf) QD_SIMT_REAL1(erfc)
QD_SIMT_REAL1(tgamma) QD_SIMT_REAL1(lgamma)
QD_SIMT_REAL2(atan2) QD_SIMT_REAL2(pow) QD_SIMT_REAL2(fmod) QD_SIMT_REAL2(fmin) QD_SIMT_REAL2(fmax) QD_SIMT_REAL2(hypot)
QD_SIMT_REAL2(copysign) QD_SIMT_REAL2(fdim) QD_SIMT_REAL2(nextafter) QD_SIMT_REAL2(remainder)
extern "C" {
double fma(double, double, double) noexcept(true);
float fmaf(float, float, float) noexcept(true);
double frexp(double, int *) noexcept(true);
float frexpf(float, int *) noexcept(true);
double ldexp(double, int) noexcept(true);
float ldexpf(float, int) noexcept(true);
double modf(double, double *) noexcept(true);
float modff(float, float *) noexcept(true);
void *memcpy(void *, const void *, size_t) noexcept(true);
void *memset(void *, int, size_t) noexcept(true);
int abs(int) noexcept(true);
}
QD_SIMT_FN float fma(float x, float y, float z) { return fmaf(x, y, z); }
QD_SIMT_FN float frexp(float x, int *e) { return frexpf(x, e); }
QD_SIMT_FN float ldexp(float x, int e) { return ldexpf(x, e); }
QD_SIMT_FN long long abs(long long x) { return x < 0 ? -x : x; }
QD_SIMT_FN long long llabs(long long x) { return x < 0 ? -x : x; }
QD_SIMT_FN float abs(float x) { return fabsf(x); }
QD_SIMT_FN double abs(double x) { return fabs(x); }
QD_SIMT_FN bool isnan(float x) { return __builtin_isnan(x); }
QD_SIMT_FN bool isnan(double x) { return __builtin_isnan(x); }
QD_SIMT_FN bool isinf(float x) { return __builtin_isinf(x); }
QD_SIMT_FN bool isinf(double x) { return __builtin_isinf(x); }
QD_SIMT_FN bool isfinite(float x) { return __builtin_isfinite(x); }
QD_SIMT_FN bool isfinite(double x) { return __builtin_isfinite(x); }
QD_SIMT_FN bool signbit(float x) { return __builtin_signbit(x); }
QD_SIMT_FN bool signbit(double x) { return __builtin_signbit(x); }
#define QD_SIMT_EXTREMES(T)                                     \
    QD_SIMT_FN T min(T a, T b) { return a < b ? a : b; }        \
    QD_SIMT_FN T max(T a, T b) { return a > b ? a : b; }
QD_SIMT_EXTREMES(int) QD_SIMT_EXTREMES(unsigned) QD_SIMT_EXTREMES(long) QD_SIMT_EXTREMES(unsigned long)
QD_SIMT_EXTREMES(long long) QD_SIMT_EXTREMES(unsigned long long)
QD_SIMT_FN float min(float a, float b) { return fminf(a, b); }
QD_SIMT_FN float max(float a, float b) { return fmaxf(a, b); }
QD_SIMT_FN double min(double a, double b) { return fmin(a, b); }
QD_SIMT_FN double max(double a, double b) { return fmax(a, b); }

QD_SIMT_FN float rsqrtf(float x) { return 1 / sqrtf(x); }
QD_SIMT_FN double rsqrt(double x) { return 1 / sqrt(x); }
QD_SIMT_FN float rsqrt(float x) { return 1 / sqrtf(x); }
QD_SIMT_FN float rcbrtf(float x) { return 1 / cbrtf(x); }
QD_SIMT_FN double rcbrt(double x) { return 1 / cbrt(x); }
QD_SIMT_FN float exp10f(float x) { return powf(10, x); }
QD_SIMT_FN double exp10(double x) { return pow(10, x); }
QD_SIMT_FN void sincosf(float x, float *s, float *c) { *s = sinf(x), *c = cosf(x); }
QD_SIMT_FN void sincos(double x, double *s, double *c) { *s = sin(x), *c = cos(x); }
QD_SIMT_FN float __sinf(float x) { return sinf(x); }
QD_SIMT_FN float __cosf(float x) { return cosf(x); }
QD_SIMT_FN float __tanf(float x) { return tanf(x); }
QD_SIMT_FN float __expf(float x) { return expf(x); }
QD_SIMT_FN float __exp10f(float x) { return powf(10, x); }
QD_SIMT_FN float __logf(float x) { return logf(x); }
QD_SIMT_FN float __log2f(float x) { return log2f(x); }
QD_SIMT_FN float __log10f(float x) { return log10f(x); }
QD_SIMT_FN float __powf(float x, float y) { return powf(x, y); }
QD_SIMT_FN float __fdividef(float x, float y) { return x / y; }
QD_SIMT_FN float __fdiv_rn(float x, float y) { return x / y; }
QD_SIMT_FN float __fsqrt_rn(float x) { return sqrtf(x); }
QD_SIMT_FN float __frsqrt_rn(float x) { return 1 / sqrtf(x); }
QD_SIMT_FN float __frcp_rn(float x) { return 1 / x; }
QD_SIMT_FN float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
QD_SIMT_FN double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
QD_SIMT_FN float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
QD_SIMT_FN int __float2int_rn(float x) { return (int)nearbyintf(x); }
/* Truncate; what does not fit becomes the nearest number that does, and NaN 0. */
template <class To, class From>
QD_SIMT_FN To qd_simt_truncated(From x, From end) {
    const unsigned long long least = 1ull << (8 * sizeof(To) - 1);
    return x >= -end && x < end ? (To)x : x < 0 ? (To)least : x > 0 ? (To)~least : 0;
}
QD_SIMT_FN int __float2int_rz(float x) { return qd_simt_truncated<int>(x, 0x1p31f); }
QD_SIMT_FN int __double2int_rz(double x) { return qd_simt_truncated<int>(x, 0x1p31); }
QD_SIMT_FN long long __float2ll_rz(float x) { return qd_simt_truncated<long long>(x, 0x1p63f); }
QD_SIMT_FN long long __double2ll_rz(double x) { return qd_simt_truncated<long long>(x, 0x1p63); }

/* Half precision: 1 bit sign, 5 exponent, 10 fraction; rounded to nearest, halves to even. */
QD_SIMT_FN unsigned short qd_to_half(float x) {
    unsigned u = __float_as_uint(x), sign = u >> 16 & 0x8000u, m = u & 0x7fffffffu;
    if (m > 0x7f800000u) return (unsigned short)(sign | 0x7fffu);
    if (m >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (m < 0x38800000u) return (unsigned short)(sign | (unsigned)(int)nearbyintf(__uint_as_float(m) * 0x1p24f));
    m += 0xfffu + (m >> 13 & 1) - 0x38000000u;
    return (unsigned short)(sign | m >> 13);
}
/* A double that a float does not hold has its last bit set there, so that it is on the right side of every middle. */
QD_SIMT_FN unsigned short qd_to_half(double x) {
    unsigned u = __float_as_uint((float)x);
    double m = fabs(x), rounded = fabs((float)x);
    if (m != rounded && !(u & 1)) u += m > rounded ? 1 : -1;
    return qd_to_half(__uint_as_float(u));
}
QD_SIMT_FN float qd_from_half(unsigned short h) {
    unsigned sign = (h & 0x8000u) << 16, m = h & 0x7fffu;
    if (m >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (m & 0x3ffu) << 13);
    float x = m < 0x400u ? (float)m * 0x1p-24f : __uint_as_float((m << 13) + 0x38000000u);
    return sign ? -x : x;
}
