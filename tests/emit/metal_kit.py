"""What the tests of Metal text share: clang reads it in its mode "C++ for OpenCL", which knows the same address spaces.

Nothing but Apple's compiler reads the language itself. Here its qualifiers are those of OpenCL, attributes are left
out, shared arrays are pointers, and the standard library is what `_LIBRARY` declares.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

_CLANGS = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))
_FLAGS = (
    "-x", "cl", "-cl-std=clc++", "-cl-no-stdinc", "-target", "spir64", "-fsyntax-only", "-w", "-Xclang",
    "-ast-dump", "-",
)  # fmt: skip

_LIBRARY = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t;
typedef unsigned uint32_t; typedef unsigned long uint64_t;
typedef unsigned short ushort; typedef unsigned uint; typedef unsigned long ulong; typedef __SIZE_TYPE__ size_t;
struct uint3 { uint x, y, z; };
#define atomic_int metal_atomic_int  /* names of OpenCL's own */
#define atomic_uint metal_atomic_uint
#define atomic_float metal_atomic_float
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define device __global
#define threadgroup __local
#define thread __private
#define constant __constant
template <class To, class From> To as_type(From x);
template <class T> T qd_copied(constant T &x);
namespace metal {
#define QD_ONE(name) float name(float x);
#define QD_TWO(name) float name(float x, float y);
QD_ONE(floor) QD_ONE(ceil) QD_ONE(trunc) QD_ONE(round) QD_ONE(fabs) QD_TWO(copysign)
float frexp(float x, thread int &exponent);
namespace precise {
QD_ONE(sin) QD_ONE(cos) QD_ONE(tan) QD_ONE(asin) QD_ONE(acos) QD_ONE(tanh) QD_ONE(exp) QD_ONE(log) QD_ONE(sqrt)
QD_ONE(rsqrt) QD_TWO(atan2) QD_TWO(pow) QD_TWO(fmod) QD_TWO(divide)
}
namespace fast {
QD_ONE(sin) QD_ONE(cos) QD_ONE(exp) QD_ONE(log) QD_ONE(rsqrt)
}
uint popcount(uint x);
uint clz(uint x);
uint ctz(uint x);
enum memory_order { memory_order_relaxed };
template <class T> struct atomic { T value; };
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<float> atomic_float;
#define QD_FETCH(name, T, space) T name(volatile space atomic<T> *p, T x, memory_order);
#define QD_FETCHES(T, space) \\
    QD_FETCH(atomic_exchange_explicit, T, space) QD_FETCH(atomic_fetch_add_explicit, T, space) \\
    QD_FETCH(atomic_fetch_sub_explicit, T, space) QD_FETCH(atomic_fetch_min_explicit, T, space) \\
    QD_FETCH(atomic_fetch_max_explicit, T, space) QD_FETCH(atomic_fetch_and_explicit, T, space) \\
    QD_FETCH(atomic_fetch_or_explicit, T, space) QD_FETCH(atomic_fetch_xor_explicit, T, space) \\
    T atomic_load_explicit(const volatile space atomic<T> *p, memory_order); \\
    void atomic_store_explicit(volatile space atomic<T> *p, T x, memory_order); \\
    bool atomic_compare_exchange_weak_explicit( \\
        volatile space atomic<T> *p, thread T *expected, T x, memory_order, memory_order);
QD_FETCHES(int, device) QD_FETCHES(int, threadgroup) QD_FETCHES(uint, device) QD_FETCHES(uint, threadgroup)
QD_FETCH(atomic_fetch_add_explicit, float, device)
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
mem_flags operator|(mem_flags a, mem_flags b);
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);
#define QD_SHUFFLES(T) T simd_shuffle(T x, ushort lane); T simd_shuffle_down(T x, ushort delta);
QD_SHUFFLES(int) QD_SHUFFLES(uint) QD_SHUFFLES(float)
struct simd_vote { typedef ulong vote_t; vote_t bits; explicit operator vote_t() const; };
simd_vote simd_ballot(bool p);
}
"""
_MARK = "enum { qd_begin_of_the_text };"


def require_clang() -> None:
    """Skip the test where clang is missing."""
    if _clang() is None:
        pytest.skip("needs clang: apt install clang")


def problems(text: str) -> list[str]:
    """What is wrong with the address spaces of a text, and with its C++ otherwise."""
    clang = _clang()
    assert clang is not None
    done = subprocess.run([clang, *_FLAGS], input=_translated(text), capture_output=True, text=True, check=False)
    found = [line for line in done.stderr.splitlines() if ": error: " in line]
    assert bool(found) == (done.returncode != 0), done.stderr
    tree = done.stdout[done.stdout.index("qd_begin_of_the_text") :]
    # A pointer without a space leads anywhere in OpenCL, and is an error in Metal; so is a double.
    found += re.findall(r"(?:ParmVar|Var|Field)Decl [^\n]*'[^'\n]*__generic[^'\n]*\*[^'\n]*'", tree)
    return found + re.findall(r"[^\n]*'double'[^\n]*", tree)


def check_metal(texts: list) -> None:
    """Check the address spaces of (kernel name, Metal text) pairs."""
    assert texts, "no kernel was compiled"
    for name, text in texts:
        found = problems(text)
        assert not found, f"{name}:\n" + "\n".join(found) + f"\n{text}"


def _translated(text: str) -> str:
    body = text.replace("#include <metal_stdlib>", "")
    body = re.sub(r"\[\[[\w, ()]*\]\]", "", body)
    body = re.sub(r"(?m)^( *)threadgroup (\w+) (\w+)\[\w+\];", r"\1threadgroup \2 *const \3 = nullptr;", body)
    body = re.sub(r"(?m)^( *)threadgroup (\w+) (\w+);", r"\1threadgroup \2 &\3 = *(threadgroup \2 *)nullptr;", body)
    # OpenCL's own copies are not made of constants.
    body = re.sub(r"(?m)^( *const (qd_\w+) \w+ = )(args\.\w+);", r"\1qd_copied<\2>(\3);", body)
    return f"{_LIBRARY}\n{_MARK}\n{body}"


def _clang() -> str | None:
    return next((path for path in map(shutil.which, _CLANGS) if path), None)
