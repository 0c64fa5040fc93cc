"""What a prelude renders: only what was asked for, in order of dependence, the same text every time; overrides."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import pytest
from prelude_kit import ENVIRONMENT, TEMPLATES, environment, matrix, vector

from quadrants.emit import dialects
from quadrants.emit.prelude import Prelude
from quadrants.emit.prelude_linalg import LINALG
from quadrants.emit.prelude_rules import FAMILIES, FLOAT_OPS, INT_OPS, LIBM, UPDATES
from quadrants.ir.types import PRIMITIVES, REAL, StructType, f16, f32, f64, i32, i64, u1, u32, u64

DIALECTS = sorted(dialects.names())
# Names that a prelude declares, and how a line looks that declares one of them.
NAMES = rf"\b(?:qd_\w+|u?int\d+_t|bool|(?:{'|'.join(sorted(LIBM))}|fabs)f(?=\())\b"
DECLARES = (
    r"^typedef.* NAME;|^\} NAME;|^(typedef )?struct NAME\b|^typedef.*\(\*NAME\)|^[^;]*extern [^;]* NAME\(|"
    r"^#define NAME|^(__device__ )?static.* NAME\(|^\w+ NAME\([^;]*\{$|^layout\(.*\) buffer NAME \{"
)


def everything(dialect, shapes=((2,), (3,), (17,), (2, 2), (3, 3), (4, 4), (5, 5), (2, 3))):
    """A list of every request that the rules allow, for a few shapes."""
    spelling = dialects.get(dialect).spelling
    known = [t for name, t in PRIMITIVES.items() if name in spelling.types]
    kinds = "iIqQfd" if f64 in known else "iIqQf"
    prints = [("print",)] if spelling.string else [("print", "record", k) for k in ("", kinds)]
    # Where a language has no pointers without a space, each family has those that it is for.
    spaces = {"atomic": ("device ", "threadgroup "), "plain": ("device ", "thread ")} if spelling.private else {}
    if spelling.references:
        spaces = {"atomic": ("device ",), "plain": ("device ", "")}
    requests = [("lane",), *prints, ("random", "begin"), ("check", "fail", ""), ("check", "fail", "iif")]
    requests += [("random", "draw", t) for t in (f16, f32, f64, i32, u32, i64, u64) if t in known]
    requests += [("random", "normal", t) for t in (f32, f64) if t in known]
    for t in known:
        ops = {*FLOAT_OPS, *LIBM, "rawmod", "isnan", "isinf"} if t in REAL else INT_OPS
        if t is f16 and not dialects.get(dialect).spelling.half_arithmetic:
            requests += [("cast", "half", f16, f32), ("cast", "half", f32, f16), ("cast", "half", f64, f16)]
            ops = ()
        requests += [("scalar", op, t) for op in sorted(ops)]
        requests += [("scalar", "powi", t, e) for e in known if e not in REAL]
        requests += [("cast", "bit_cast", t, u) for u in known if u.size == t.size and u1 not in (t, u)]
        requests += [("check", op, t) for op in ("add", "sub", "mul", "shl") if t.kind in "iu"]
        requests += [("check", op, t) for op in ("floordiv", "raw_div") if t.kind == "i"]
        for family in ("atomic", "plain"):
            if family == "atomic" and ("add", str(t)) in dialects.get(dialect).lacks.atomics:
                continue
            for op in (*UPDATES, "cas"):
                if t not in REAL or op not in ("and", "or", "xor", "cas"):
                    for space in spaces.get(family, ("",)):
                        requests.append((family, op, t, space))
                        if op != "cas":
                            requests.append((family, op, vector(3, t), space))
        types = [vector(*s, t) if len(s) == 1 else matrix(*s, t) for s in shapes]
        for a in types:
            requests.append(("map", "add", "({a} + {b})", a, a, t))
            for op in sorted(LINALG):
                for others in ((), *((b,) for b in types)):
                    request = ("linalg", op, a, *others)
                    try:
                        Prelude(dialects.get(dialect).spelling).need(*request)
                    except ValueError:
                        continue
                    requests.append(request)
    return requests


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_request_renders_with_all_it_uses_before_it(dialect):
    """One by one: nothing that a helper calls or names may be missing, or come after it."""
    spelling = dialects.get(dialect).spelling
    undeclared = {text for name, text in spelling.types.items() if name not in spelling.declared}
    # Functions of the language and of the skeleton, and their namespaces.
    undeclared |= {*spelling.own.values(), *(text.partition("::")[0] for text in spelling.own.values())}
    if dialect != "c":
        undeclared |= {f"{name}f" for name in (*LIBM, "fabs")}
    inner = StructType((("v", vector(3, f32)), ("n", i64)), "Inner")
    real = f64 if "f64" in spelling.types else f32
    extra = [("struct", StructType((("inner", inner), ("m", matrix(2, 2, real))), "Outer"))]
    least = Prelude(dialects.get(dialect).spelling).need("float", "min", f32)
    extra.append(("map", "min", least + "({a}, {b})", *[vector(3, f32)] * 3))
    for request in [*extra, *everything(dialect, shapes=((3,), (5, 5)))]:
        prelude = Prelude(dialects.get(dialect).spelling, simd=True)
        if request[0] == "map":
            prelude.need("float", "min", f32)
        name = prelude.need(*request)
        text = prelude.render(ENVIRONMENT)
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        assert name in code or name in undeclared or not name.startswith("qd_"), request
        declared = set(undeclared)
        for line in code.splitlines():
            words = set(re.findall(NAMES, line)) - declared
            new = {w for w in words if re.search(DECLARES.replace("NAME", w), line)}
            assert words <= new, (request, line)
            declared |= new


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_text_does_not_depend_on_the_order_of_requests(dialect):
    requests = everything(dialect, shapes=((3,), (2, 2)))
    texts = set()
    for seed in range(3):
        random.Random(seed).shuffle(requests)
        prelude = Prelude(dialects.get(dialect).spelling)
        for request in requests:
            prelude.need(*request)
        texts.add(prelude.render(ENVIRONMENT))
    assert len(texts) == 1


def test_nothing_asked_nothing_rendered():
    assert Prelude(dialects.get("c").spelling).render(ENVIRONMENT) == ""


def test_only_what_is_used_appears():
    prelude = Prelude(dialects.get("c").spelling)
    assert prelude.need("float", "sin", f32) == "sinf"
    assert prelude.render(ENVIRONMENT) == "extern float sinf(float);\n"
    assert prelude.need("int", "floormod", i32) == "qd_floormod_i32"
    text = prelude.render(ENVIRONMENT)
    assert text.startswith(
        "typedef __INT32_TYPE__  int32_t;\ntypedef __UINT32_TYPE__ uint32_t;\n\nextern float sinf(float);\n\n"
    )
    assert text.count("static inline") == 1 and "int64_t" not in text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_rendered_text_is_tidy(dialect):
    prelude = Prelude(dialects.get(dialect).spelling, simd=True)
    for request in everything(dialect):
        prelude.need(*request)
    text = prelude.render(ENVIRONMENT)
    assert "\n\n\n" not in text and "\t" not in text and text.endswith("}\n")
    lines = text.splitlines()
    assert not [line for line in lines if line != line.rstrip()]
    assert not [line for line in lines if re.match(r" *return", line) and not line.startswith("    ")]
    assert not [
        line for line in lines if "  " in line.strip() and not re.match(r" \*|typedef|.*;  /\*|.*= {2,}|    int", line)
    ]
    assert max(len(line) for line in lines if "qd_fail" not in line) <= 160
    assert "#include" not in text or dialect != "c"


def test_types_and_literals():
    for dialect, half, literal in (
        ("c", "_Float16", "(qd_vec2_f32){{a, b}}"),
        ("cuda", "qd_half", "qd_vec2_f32{{a, b}}"),
    ):
        prelude = Prelude(dialects.get(dialect).spelling)
        assert prelude.type(f32) == "float" and prelude.type(f16) == half and prelude.type(u1) == "bool"
        assert prelude.literal(vector(2, f32), ["a", "b"]) == literal
        assert prelude.type(matrix(2, 3, f64)) == "qd_mat2x3_f64"
        ray = StructType((("o", vector(2, f32)), ("t", f32)), "Ray")
        assert prelude.literal(ray, ["x", "y"]) == literal.replace("qd_vec2_f32", "qd_struct_Ray").replace(
            "{{a, b}}", "{x, y}"
        )
        assert prelude.type(StructType(ray.members, "Same")) == "qd_struct_Ray", "equal structs are one type"


def test_names_of_the_language_and_the_library_are_not_given_to_users():
    prelude = Prelude(dialects.get("c").spelling)
    for name in ("int", "sinf", "exp", "round", "double", "int32_t", "__x", "bool", "log", "main"):
        assert prelude.member(name) == "qd_" + name
    assert prelude.member("velocity") == "velocity"
    assert prelude.member("größe") == "qd_u_gre_6772c3b6c39f65"
    assert Prelude(dialects.get("cuda").spelling).member("class") == "qd_class" and prelude.member("class") == "class"


def test_an_override_changes_one_function(tmp_path):
    folder = tmp_path / "c" / "prelude"
    folder.mkdir(parents=True)
    (folder / "float.j2").write_text(
        "{% macro sign(name, t) %}\n{{ fn }} {{ c(t) }} {{ name }}({{ c(t) }} x) {\n    return 5;\n}\n{% endmacro %}\n"
    )
    prelude = Prelude(dialects.get("c").spelling)
    for op in ("sign", "min"):
        prelude.need("float", op, f32)
    text = prelude.render(environment(tmp_path))
    assert "return 5;" in text and "return a < b || b != b ? a : b;" in text
    assert "return 5;" not in prelude.render(ENVIRONMENT)


def test_a_missing_macro_is_named(tmp_path):
    prelude = Prelude(dialects.get("c").spelling)
    prelude.add("float", "qd_nothing", "nothing")
    with pytest.raises(KeyError, match="no prelude template defines the macro 'nothing' of the family 'float'"):
        prelude.render(ENVIRONMENT)


def test_every_template_is_of_a_known_family():
    files = {path.stem for path in TEMPLATES.glob("*/prelude/*.j2") if path.parts[-3] in ("_base", *DIALECTS)}
    imported = {"exact"}  # macros that families of languages with less share
    assert set(FAMILIES) | imported >= files


def test_asking_imports_no_template_engine():
    code = (
        "import sys; from quadrants.emit import dialects; from quadrants.emit.prelude import Prelude\n"
        "from quadrants.ir.types import f32\n"
        "Prelude(dialects.get('c').spelling).need('float', 'sin', f32); assert 'jinja2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
