"""Indices of loops, and variables that begin as copies of them."""

import quadrants as qd


def test_copies_of_loop_targets_are_variables_of_their_own(arch):
    """The index of a blocked field is put together from those of its blocks; what copies it may change."""
    line, square, out = qd.field(qd.i32), qd.field(qd.i32), qd.field(qd.i32, (4, 4))
    qd.root.dense(qd.i, 2).dense(qd.i, 4).place(line)
    qd.root.dense(qd.ij, 2).dense(qd.ij, 2).place(square)
    array = qd.ndarray(qd.i32, 4)

    @qd.func
    def code(i, j):
        k = j
        k += 50
        first = i
        first += 70
        return i * 10 + j + k * 100 + first * 10000

    @qd.kernel
    def run(a: qd.types.ndarray(qd.i32, 1)):
        for i in line:
            k = i
            k = 5
            line[i] = i * 10 + k
        for i, j in square:
            k = j
            k += 50
            first = i
            first += 70
            square[i, j] = i * 10 + j + k * 100 + first * 10000
        for i, j in qd.ndrange((0, 4), (0, 4)):
            out[i, j] = code(i, j)
        for i in a:
            k = i
            k *= 3
            a[i] = i * 10 + k

    run(array)
    want = [[i * 10 + j + (j + 50) * 100 + (i + 70) * 10000 for j in range(4)] for i in range(4)]
    assert line.to_numpy().tolist() == [i * 10 + 5 for i in range(8)]
    assert square.to_numpy().tolist() == out.to_numpy().tolist() == want
    assert array.to_numpy().tolist() == [0, 13, 26, 39]

    @qd.kernel
    def grouped():
        for index in qd.grouped(square):
            moved = index
            moved += 3
            square[index] = index[0] + 10 * index[1] + 100 * moved[0] + 10000 * moved[1]

    grouped()
    assert square.to_numpy()[3, 1] == 3 + 10 + 600 + 40000
