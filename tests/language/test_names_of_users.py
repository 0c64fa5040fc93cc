"""Names of users never meet names of the text: of helpers, libraries, extents, results, members of our records."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import quadrants as qd

Pair = qd.types.struct(a=qd.f32, b=qd.f32)

FUNCTIONS = (
    "expm1 log1p asinh acosh atanh nearbyint exp10 ilogb lround llrint norm3d rhypot saturate mul24 umulhi fdividef "
    "popc brev hypot3 k_0_serial qd_max_vec3_f32 qd_i32_from_f32 qd_whole_f32 subgroupShuffleXor packUint2x32 "
    "tileImageEXT"
).split()
WORDS = (
    "VULKAN GL_core_profile GL_EXT_shader_8bit_storage subpassInput usubpassInput samplerShadow sampler3DRect "
    "attachmentEXT tileImageEXT pervertexEXT shadercallcoherent __LINE__ unix linux"
).split()


def load(path, text: str):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_functions_may_be_called_like_those_of_libraries(arch, tmp_path):
    lines = ["import quadrants as qd"]
    for name in FUNCTIONS:
        lines.append(f"@qd.real_func\ndef {name}(x: qd.f32) -> qd.f32:\n    return x * 2.0 + 1.0")
    calls = " + ".join(f"{name}(x)" for name in FUNCTIONS)
    lines.append(f"@qd.kernel\ndef k(x: qd.f32) -> qd.f32:\n    return {calls}")
    module = load(tmp_path / "functions.py", "\n".join(lines))
    assert module.k(3.0) == 7.0 * len(FUNCTIONS)


def test_variables_may_be_called_like_words_of_compilers(arch, tmp_path):
    """As locals, parameters, members of structs and fields."""
    count = len(WORDS)
    lines = [
        "import quadrants as qd",
        f"S = qd.types.struct({', '.join(f'{word}=qd.i32' for word in WORDS if word[0] != '_')})",
    ]
    lines += [f"{word} = qd.field(qd.i32, shape=2)" for word in WORDS]
    lines += ["@qd.kernel", "def locals_(n: qd.i32) -> qd.i32:", "    found = 0"]
    lines += [f"    {word} = n + {k}\n    found += {word}" for k, word in enumerate(WORDS)] + ["    return found"]
    lines += ["@qd.kernel", f"def parameters({', '.join(f'{word}: qd.i32' for word in WORDS)}) -> qd.i32:"]
    lines += [f"    return {' + '.join(WORDS)}", "@qd.kernel", "def fields():", "    for i in range(2):"]
    lines += [f"        {word}[i] = i + {k}" for k, word in enumerate(WORDS)]
    lines += ["@qd.kernel", "def members() -> qd.i32:", "    s = S(0)"]
    plain = [word for word in WORDS if word[0] != "_"]
    lines += [f"    s.{word} = {k}" for k, word in enumerate(plain)] + [
        f"    return {' + '.join(f's.{w}' for w in plain)}"
    ]
    module = load(tmp_path / "words.py", "\n".join(lines))
    assert module.locals_(3) == 3 * count + sum(range(count))
    assert module.parameters(*range(count)) == sum(range(count))
    module.fields()
    assert [getattr(module, word)[1] for word in WORDS] == [k + 1 for k in range(count)]
    assert module.members() == sum(range(len(plain)))


def test_functions_with_structs_may_be_called_like_those_of_libraries(arch):
    @qd.real_func
    def hypot3d(p: Pair) -> qd.f32:
        return p.a - p.b

    @qd.kernel
    def k(x: qd.f32) -> qd.f32:
        return hypot3d(Pair(a=x, b=1.0))

    assert k(3.0) == 2.0


@qd.kernel
def beside_an_extent(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1)):
    for i in range(2):
        x_shape0 = 5
        y[i] = x.shape[0] + x_shape0


@qd.kernel
def as_an_extent(x_shape0: qd.i32, x: qd.types.ndarray(qd.i32, 1), x_shape: qd.i32, y: qd.types.ndarray(qd.i32, 1)):
    for i in range(2):
        y[i] = x.shape[0] * 100 + x_shape0 * 10 + x_shape


def test_variables_may_be_called_like_extents(arch):
    y = np.zeros(2, np.int32)
    beside_an_extent(np.zeros(7, np.int32), y)
    assert y.tolist() == [12, 12]
    as_an_extent(4, np.zeros(7, np.int32), 2, y)
    assert y.tolist() == [742, 742]


def test_variables_may_be_called_like_results_and_failures(arch):
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(result0: qd.i32, errno: qd.i32) -> qd.i32:
        error = result0 + 1
        result1 = errno * 2
        for i in x:
            x[i] = error + result1 + i
        return error + result1 + x[3]

    assert k(3, 5) == 14 + 17


def test_variables_may_begin_like_ours(arch):
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(qd_n: qd.i32):
        qd_p = qd_n
        for i in x:
            qd_row = qd_p + i
            x[i] = qd_row

    k(3)
    assert x.to_numpy().tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize("name", "é int qd_int qd_qd_int lane half errno _a _Bool _Float32 __x".split())
def test_members_may_have_any_name(arch, name):
    members = {"int": qd.i32, "qd_int": qd.i32, "é": qd.f32, "ບ": qd.f32, name: qd.i32}
    S = qd.types.struct(**members)
    s = S.field(shape=2)
    for k, member in enumerate(members):
        getattr(s, member).fill(k + 1)

    @qd.kernel
    def copy():
        t = s[0]
        s[1] = t

    copy()
    assert [getattr(s, member)[1] for member in members] == [k + 1 for k in range(len(members))]


def test_components_beside_fields_without_a_name(arch):
    """Components of a vector that lie apart are arrays of their own, whose names others may have."""
    apart = qd.Vector.field(2, qd.i32, shape=2, layout=qd.Layout.SOA)
    v = qd.Vector.field(2, qd.i32, shape=2, layout=qd.Layout.SOA)
    held = {"a": apart, "b": qd.field(qd.i32, 2), "c": qd.field(qd.i32, 2)}
    v_1 = qd.field(qd.i32, 2)

    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.held = held

        @qd.kernel
        def add(self):
            self.held["a"][1][1] += 1
            self.held["b"][1] += 2
            self.held["c"][1] += 3
            v[1][1] += 4
            v_1[1] += 5

    Holder().add()
    assert [int(x.to_numpy().sum()) for x in (*held.values(), v, v_1)] == [1, 2, 3, 4, 5]


@qd.func
def _1(_2, _):
    _3 = _2
    for _4 in range(_[0]):
        _3 += _4 * _[1]
        if _3 > 100:
            _3 -= _[0]
    return _3


@qd.real_func
def _0x1(__5: qd.i32, _6: qd.i32) -> qd.i32:
    return __5 - _6


def test_underscores_in_front_of_digits(arch):
    """No letter is left of such a name where a text has no names that begin with an underscore."""

    @qd.kernel
    def _7(_1_: qd.i32, _8: qd.types.ndarray(qd.i32, 1)) -> qd.i32:
        _9 = 0
        for _10 in range(4):
            _9 += _1(_1_, [_1_ + 1, _10]) + _0x1(_1_, _10)
        for _3 in _8:
            _8[_3] += _3
        for _2 in qd.grouped(_8):
            _8[_2] *= 2
        return _9

    x = qd.ndarray(qd.i32, 3)
    expected = sum(3 + sum(j * i for j in range(4)) + 3 - i for i in range(4))
    assert _7(3, x) == expected
    assert x.to_numpy().tolist() == [0, 2, 4]
