"""Where quantised fields are placed, what of it is refused, and what the nodes say of themselves."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd

q = qd.types.quant


def packed(*types, bits=32, node=None, **options):
    fields = [qd.field(t) for t in types]
    word = qd.BitpackedFields(max_num_bits=bits)
    word.place(*fields, **options)
    (node or qd.root.dense(qd.i, 4)).place(word)
    return fields


def array(form, cells, bits, outer=4):
    x = qd.field(form)
    node = qd.root.dense(qd.i, outer).quant_array(qd.i, cells, max_num_bits=bits)
    node.place(x)
    return x, node


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    ("form", "text"),
    [
        (q.int(13), "qi13"),
        (q.int(19, False), "qu19"),
        (q.fixed(8, compute=qd.f32), "qfx(d=qi8 c=f32 s=0.0078125)"),
        (q.float(5, 10), "qfl(d=qi10 e=qu5 c=f32)"),
        (q.float(6, 9, False), "qfl(d=qu9 e=qu6 c=f32)"),
    ],
)
def test_types_are_shown_and_compared(form, text):
    assert str(form) == repr(form) == text
    assert q.int(13) == q.int(13) and q.int(13) != q.int(13, False) and len({q.int(5), q.int(5)}) == 1


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: q.int(65), "in 1..64"),
        (lambda: q.int(0), "in 1..64"),
        (lambda: q.int(5, compute=qd.f32), "must be an integer of 5 bits or more, not f32"),
        (lambda: q.int(40, compute=qd.i32), "of 40 bits or more, not i32"),
        (lambda: q.fixed(5, compute=qd.i32), "must be real, not i32"),
        (lambda: q.fixed(5, scale=0.0), "positive and finite"),
        (lambda: q.float(9, 5), "in 1..8"),
        (lambda: q.float(5, 25), "in 2..24"),
        (lambda: q.float(5, 10, compute=qd.f64), "must be f32"),
    ],
)
def test_types_that_do_not_exist(make, text):
    with pytest.raises(ValueError, match=text):
        make()
    with pytest.raises(TypeError, match="bits must be an int"):
        q.int(8.5)


def test_words_of_all_sizes(arch):
    for bits in (8, 16, 32):
        x, y = packed(q.int(bits - 3), q.int(3, False), bits=bits)
        x[1], y[1] = -2, 6
        assert (x[1], y[1], x[0], x[2]) == (-2, 6, 0, 0)
        assert x.snode.parent(2)._cell_size_bytes == bits // 8


@pytest.mark.parametrize("bits", [12, 128, 0, True, None, 32.5])
def test_words_of_other_sizes(arch, bits):
    with pytest.raises(qd.QuadrantsRuntimeError, match="No primitive int type has"):
        qd.BitpackedFields(bits)
    with pytest.raises(qd.QuadrantsRuntimeError, match="No primitive int type has"):
        qd.root.quant_array(qd.i, 4, max_num_bits=bits)


def test_more_bits_than_a_word_has(arch):
    with pytest.raises(qd.QuadrantsRuntimeError, match="BitStructType overflows: 40 bits used out of 32."):
        packed(q.int(20), q.int(20))
    with pytest.raises(qd.QuadrantsRuntimeError, match="BitStructType overflows: 36 bits used out of 32."):
        packed(q.int(28), q.float(8, 20))
    with pytest.raises(qd.QuadrantsRuntimeError, match="BitStructType overflows: 40 bits used out of 32."):
        array(q.int(5), 8, 32)


def test_a_field_that_does_not_fit_changes_nothing(arch):
    word, x, y = qd.BitpackedFields(32), qd.field(q.int(20)), qd.field(q.int(20))
    word.place(x)
    with pytest.raises(qd.QuadrantsRuntimeError, match="overflows"):
        word.place(y)
    other = qd.BitpackedFields(32)
    other.place(y)
    qd.root.dense(qd.i, 2).place(word, other)
    x[1], y[1] = 5, -6
    assert (x[1], y[1]) == (5, -6)


@pytest.mark.parametrize("form", [q.int(5), q.float(5, 10)], ids=str)
def test_a_quantised_field_has_no_place_of_its_own(arch, form):
    with pytest.raises(qd.QuadrantsRuntimeError, match="bits of a word: place it with"):
        qd.root.dense(qd.i, 4).place(qd.field(form))
    with pytest.raises(qd.QuadrantsRuntimeError, match="bits of a word: place it with"):
        qd.field(form, shape=4)
    with pytest.raises(qd.QuadrantsRuntimeError, match="bits of a word: place it with"):
        qd.Vector.field(2, form, shape=4)


def test_what_a_word_takes(arch):
    word = qd.BitpackedFields(32)
    with pytest.raises(qd.QuadrantsRuntimeError, match="Only a QuantType can be a member of a BitStructType"):
        word.place(qd.field(qd.i32))
    with pytest.raises(ValueError, match="cannot be placed"):
        word.place(5)
    with pytest.raises(qd.QuadrantsRuntimeError, match="must have at least one child"):
        qd.root.dense(qd.i, 4).place(qd.BitpackedFields(8))
    x = qd.field(q.int(5))
    word.place([x])
    for again in (lambda: word.place(x), lambda: qd.BitpackedFields(8).place(x)):
        with pytest.raises(qd.QuadrantsRuntimeError, match="This variable has been placed."):
            again()
    node = qd.root.dense(qd.i, 4)
    node.place(word)
    with pytest.raises(qd.QuadrantsRuntimeError, match="This variable has been placed."):
        node.place(word)
    with pytest.raises(qd.QuadrantsRuntimeError, match="take no more fields"):
        word.place(qd.field(q.int(3)))


def test_exponents_that_cannot_be_shared(arch):
    with pytest.raises(qd.QuadrantsSyntaxError, match="At least 2 fields need to be placed"):
        packed(q.float(5, 10), shared_exponent=True)
    with pytest.raises(qd.QuadrantsRuntimeError, match="must have exactly the same exponent type"):
        packed(q.float(5, 10), q.float(6, 10), shared_exponent=True)
    with pytest.raises(qd.QuadrantsRuntimeError, match="Only floats share an exponent"):
        packed(q.float(5, 10), q.int(6), shared_exponent=True)


@pytest.mark.parametrize("form", [q.float(5, 10), qd.i32], ids=str)
def test_what_an_array_takes(arch, form):
    text = "Quant array only supports quant int/fixed type for now"
    with pytest.raises(qd.QuadrantsRuntimeError, match=text):
        array(form, 2, 32)
    node = qd.root.dense(qd.i, 4).quant_array(qd.i, 4, 32)
    with pytest.raises(qd.QuadrantsRuntimeError, match=text):
        node.dense(qd.i, 2)
    with pytest.raises(qd.QuadrantsRuntimeError, match=text):
        node.place(qd.field(q.int(4)), qd.field(q.int(4)))
    word, x = qd.BitpackedFields(8), qd.field(q.int(4))
    word.place(x)
    with pytest.raises(qd.QuadrantsRuntimeError, match=text):
        node.place(word)
    y = qd.field(q.int(4))
    node.place(y)
    assert y.shape == (16,)


def test_a_field_that_nobody_places(arch):
    word, x = qd.BitpackedFields(32), qd.field(q.int(6))
    word.place(x)
    with pytest.raises(RuntimeError, match="not placed"):
        qd.field(qd.i32, ()).fill(1)


def test_nodes_say_what_they_are(arch):
    x, y = packed(q.int(5), q.int(6))
    assert str(x.snode) == "qd.root => dense [4] => bit_struct [4] => place [4]"
    assert [repr(x.parent(n)) for n in (1, 2)] == ["<qd.SNode of type bit_struct>", "<qd.SNode of type dense>"]
    assert x.parent() == y.parent() and x.parent().shape == (4,)
    z, node = array(q.int(4), 8, 32)
    assert str(z.snode) == "qd.root => dense [4] => quant_array [32] => place [32]"
    sizes = [n._cell_size_bytes for n in (x.snode, x.parent(), x.parent(2), z.snode, node, node.parent())]
    assert sizes == [0, 0, 4, 0, 0, 4]
    assert repr(x) == "<qd.field>" and x.shape == (4,) and z.shape == (32,)
    assert (x.dtype, x.quant) == (qd.i32, q.int(5))


def test_words_stand_beside_other_fields(arch):
    x, f = qd.field(q.int(5)), qd.field(qd.f32)
    word = qd.BitpackedFields(32)
    word.place(x)
    node = qd.root.dense(qd.i, 4)
    node.place(word, f)
    x[2], f[2] = 5, 7.5

    @qd.kernel
    def add():
        for i in x:
            x[i] += 1
            f[i] += 0.5

    add()
    assert (x[2], f[2], x[3], f[3]) == (6, 8.0, 1, 0.5) and node._cell_size_bytes == 8
    assert f.to_numpy().tolist() == [0.5, 0.5, 8.0, 0.5]


def test_every_index_of_split_axes_round_trips(arch):
    x = qd.field(q.int(9))
    node = qd.root.dense(qd.ij, (2, 3)).dense(qd.ij, (2, 2)).quant_array(qd.ij, (3, 1), 32)
    node.place(x, offset=(-5, 7))
    assert x.shape == (12, 6)
    for i in range(12):
        for j in range(6):
            x[i - 5, j + 7] = 10 * i + j - 60
    assert [[x[i - 5, j + 7] for j in range(6)] for i in range(12)] == [
        [10 * i + j - 60 for j in range(6)] for i in range(12)
    ]
    seen = qd.ndarray(qd.i32, (12, 6))

    @qd.kernel
    def load(seen: qd.types.ndarray()):
        for i, j in x:
            seen[i + 5, j - 7] = x[i, j]
            x[i, j] += 1

    load(seen)
    assert seen.to_numpy().tolist() == [[10 * i + j - 60 for j in range(6)] for i in range(12)]
    assert x[6, 12] == 110 + 5 - 60 + 1


def test_fields_without_axes(arch):
    (x,) = packed(q.int(6), node=qd.root)
    y = qd.field(q.int(4))
    qd.root.quant_array(qd.ij, (2, 4), 32).place(y)
    x[None], y[1, 3], y[0, 0] = -5, 5, -3
    assert (x[None], y[1, 3], y[0, 0], y.shape) == (-5, 5, -3, (2, 4))


def test_host_indices_are_checked(init):
    init(debug=True)
    (x,) = packed(q.int(5))
    with pytest.raises(qd.QuadrantsAssertionError, match="Accessing field"):
        x[4]
    init()
    (x,) = packed(q.int(5))
    with pytest.raises(IndexError, match="Accessing field"):
        x[-1] = 3
    with pytest.raises(TypeError, match="slicing"):
        x[0:2]


def test_fill_and_copies(arch):
    x, y = packed(q.int(5), q.fixed(8))
    z, _ = array(q.int(4), 8, 32)
    x.fill(40)
    y.fill(0.3)
    z.fill(-3)
    assert [x[i] for i in range(4)] == [8] * 4 and y[3] == 38 / 128 and z[31] == -3
    x.from_numpy(np.arange(4, dtype=np.int32) - 2)
    z.from_numpy(np.arange(32, dtype=np.int64))
    assert [x[i] for i in range(4)] == [-2, -1, 0, 1] and [z[i] for i in (3, 9, 31)] == [3, -7, -1] and y[1] == 38 / 128
    other, _ = array(q.int(7), 4, 32, outer=8)
    other.copy_from(z)
    plain = qd.field(qd.f32, 32)
    plain.copy_from(z)
    assert [other[i] for i in range(32)] == [z[i] for i in range(32)] == plain.to_numpy().tolist()
    s, t = packed(q.float(5, 10), q.float(5, 10), shared_exponent=True)
    s.fill(1.0)
    t.fill(0.25)
    assert (s[2], t[2]) == (1.0, 0.25)


def test_there_is_no_array_of_the_numbers(arch):
    x, _ = packed(q.int(5), q.int(6))
    v = qd.Vector.field(2, q.fixed(10))
    word = qd.BitpackedFields(32)
    word.place(v)
    qd.root.dense(qd.i, 4).place(word)
    for field in (x, v):
        for use in (lambda f: f.to_numpy(), str, np.asarray):
            with pytest.raises(AssertionError, match="bits of words. In a kernel, copy it to a field of"):
                use(field)
    with pytest.raises(RuntimeError):
        x.to_dlpack()
    with pytest.raises(qd.QuadrantsRuntimeError, match="is not supported as ndarray element type"):
        qd.ndarray(q.int(5), 4)


def test_notebooks_show_the_numbers(arch):
    x, _ = packed(q.int(5), q.int(6))
    v = qd.Vector.field(2, q.fixed(10))
    word = qd.BitpackedFields(32)
    word.place(v)
    qd.root.dense(qd.i, 4).place(word)
    x[2], v[1] = -7, [0.5, 0.25]
    assert "-7" in x._repr_html_() and "0.25" in v._repr_html_()


def test_elements_of_vectors_and_structs(arch):
    v = qd.Vector.field(3, [q.int(5), q.int(6), q.int(7)])
    m = qd.Matrix.field(2, 2, q.fixed(7))
    s = qd.Struct.field({"a": q.int(5), "b": q.fixed(8)})
    words = [qd.BitpackedFields(32) for _ in range(3)]
    for word, field in zip(words, (v, m, s)):
        word.place(field)
    qd.root.dense(qd.i, 4).place(*words)
    v[1] = [15, 16, 17]
    v[1][2] = -64
    v[1].x += 1
    m[0] = [[0.5, -0.25], [0.75, -1.0]]
    s[2].a, s[2].b = -3, 0.5
    assert v[1].to_list() == [-16, 16, -64] and m[0].to_list() == [[0.5, -0.25], [0.75, -1.0]]
    assert (s[2].a, s[2].b) == (-3, 0.5)
    s[1] = {"a": 4, "b": -0.5}
    assert s[1].to_dict() == {"a": 4, "b": -0.5}
    v.fill(3)
    assert v[3].to_list() == [3, 3, 3]


def test_components_have_one_computing_type(arch):
    with pytest.raises(qd.QuadrantsRuntimeError, match="must have the same compute type"):
        qd.Vector.field(2, [q.int(5), q.fixed(6)])
    with pytest.raises(qd.QuadrantsRuntimeError, match="must have the same compute type"):
        qd.Vector.field(2, [q.int(5), qd.i32])


def test_a_destroyed_tree_is_zero_when_it_is_built_again(arch):
    def build():
        builder = qd.FieldsBuilder()
        x = qd.field(q.int(5))
        word = qd.BitpackedFields(16)
        word.place(x)
        builder.dense(qd.i, 8).place(word)
        return x, builder.finalize()

    x, tree = build()
    x[3] = 7
    tree.destroy()
    with pytest.raises(qd.QuadrantsRuntimeError, match="dead"):
        x[3]
    y, _ = build()
    assert [y[i] for i in range(8)] == [0] * 8


def test_a_tree_beside_a_sparse_one(arch):
    x, q = qd.field(qd.f32), qd.field(qd.types.quant.int(8))
    qd.root.pointer(qd.i, 4).place(x)
    bits = qd.BitpackedFields(32)
    bits.place(q)
    builder = qd.FieldsBuilder()
    builder.dense(qd.i, 8).place(bits)
    builder.finalize()
    x[1], q[3] = 2.0, -5
    assert x.to_numpy().tolist() == [0, 2, 0, 0] and [q[k] for k in range(8)] == [0, 0, 0, -5, 0, 0, 0, 0]


@pytest.mark.cpu_only
def test_struct_types_have_no_quantised_members():
    told = r"Member 'a': the quantised type qi5 .* qd.Struct.field\({'a': ..}\), and place `a`"
    with pytest.raises(ValueError, match=told):
        qd.types.struct(a=q.int(5))
    with pytest.raises(ValueError, match=told):
        qd.dataclass(type("S", (), {"__annotations__": {"a": q.int(5)}}))
