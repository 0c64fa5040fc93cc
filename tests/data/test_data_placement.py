"""Where large fields and arrays begin in memory."""

import numpy as np
import pytest

import quadrants as qd


def test_large_fields_begin_at_other_lines_of_a_page(init):
    """A store to one of them is then no store to another in the eyes of a processor, which compares 12 bits."""
    init()
    fields = [qd.field(qd.f32, shape=(1026, 1026)) for _ in range(6)]
    small = [qd.field(qd.f32, shape=5) for _ in range(3)]
    vectors = qd.Vector.field(3, qd.f64, shape=5000, layout=qd.Layout.SOA)
    qd.sync()
    places = [f.snode._offset_bytes_in_parent_cell for f in fields]
    tops = [f.snode.parent()._offset_bytes_in_parent_cell for f in fields]
    assert places == [0] * 6 and all(top % 256 == 0 for top in tops)
    lines = sorted(top % 4096 for top in tops)
    assert min(b - a for a, b in zip(lines, [*lines[1:], lines[0] + 4096])) >= 256
    assert all(f.snode.parent()._offset_bytes_in_parent_cell % 64 == 0 for f in small)
    # Components of one field are equally far apart, so that the field is one array to others.
    values = np.arange(15000.0).reshape(5000, 3)
    vectors.from_numpy(values)
    assert (vectors.to_numpy() == values).all()


@pytest.mark.cpu_only
def test_large_arrays_begin_at_other_lines_of_a_page(init):
    init()
    arrays = [qd.ndarray(qd.f32, shape=(1026, 1026)) for _ in range(4)]
    lines = sorted(x._buffer.ptr % 4096 for x in arrays)
    assert all(line % 64 == 0 for line in lines) and len(set(lines)) == 4
