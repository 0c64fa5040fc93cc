"""Public names that no other test is about: what they are, and what they do."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only


def test_modules_under_the_names_of_the_reference():
    from quadrants.linalg import matrixfree_cg, sparse_cg, sparse_matrix, sparse_solver

    assert matrixfree_cg.MatrixFreeCG is qd.linalg.MatrixFreeCG
    assert matrixfree_cg.MatrixFreeBICGSTAB is qd.linalg.MatrixFreeBICGSTAB
    assert sparse_cg.SparseCG is qd.linalg.SparseCG and sparse_solver.SparseSolver is qd.linalg.SparseSolver
    assert sparse_matrix.SparseMatrix is qd.linalg.SparseMatrix
    assert qd.experimental.real_func is qd.real_func
    assert qd.types.buffer_view_type.BufferViewType is qd.types.BufferViewType
    assert qd.types.compound_types.vector is qd.types.vector
    assert qd.types.ndarray_type.NdarrayType is qd.types.ndarray
    assert qd.types.utils.is_real is qd.types.is_real
    assert qd.profiler.memory_profiler.get_runtime() is qd.lang.impl.get_runtime()
    assert qd.sparse_matrix_builder is qd.types.sparse_matrix_builder is qd.types.annotations.sparse_matrix_builder


def test_groups_of_axes():
    for name in "i j k l ij ik il jk jl kl ijk ijl ikl jkl ijkl".split():
        assert [repr(a) for a in getattr(qd, name)] == [repr(getattr(qd, one)[0]) for one in name]
    assert [repr(a) for a in qd.axes(0, 2)] == [repr(a) for a in qd.ik]
    assert repr(qd.axes(3)) == repr(qd.l) and repr(qd.axes(0, 1, 2, 3)) == repr(qd.ijkl)


def test_levels_of_the_log_and_capabilities():
    levels = [qd.TRACE, qd.DEBUG, qd.INFO, qd.WARN, qd.ERROR, qd.CRITICAL]
    assert levels == ["trace", "debug", "info", "warn", "error", "critical"]
    assert isinstance(qd.DeviceCapability, type)


def test_axes_and_sizes_by_keyword(arch):
    x, y = qd.field(qd.f32), qd.field(qd.f32)
    qd.root.dense(axes=qd.ij, dimensions=(2, 3)).place(x)
    builder = qd.FieldsBuilder()
    builder.dense(indices=qd.i, dimensions=4).place(y)
    builder.deactivate_all()
    tree = builder.finalize()
    assert x.shape == (2, 3) and y.shape == (4,)
    tree.destroy()


@pytest.mark.parametrize("verb", ["pointer", "bitmasked", "dynamic"])
def test_sparse_nodes_of_builders(arch, verb):
    x = qd.field(qd.i32)
    builder = qd.FieldsBuilder()
    if not qd.is_extension_enabled(qd.extension.sparse):
        with pytest.raises(
            qd.QuadrantsRuntimeError, match=f"{verb.capitalize()} SNode is not supported on this backend"
        ):
            getattr(builder, verb)(qd.i, 4)
        builder.dense(qd.i, 4).place(x)
        builder.finalize()
        return
    node = getattr(builder, verb)(qd.i, 4)
    node.place(x)
    tree = builder.finalize()
    x[3] = 1
    builder.deactivate_all()
    assert x[3] == 0 and str(node) == f"qd.root => {verb} [4]" and repr(node) == f"<qd.SNode of type {verb}>"
    tree.destroy()


def test_all_of_a_tree_is_deactivated(arch):
    x = qd.field(qd.f32)
    node = qd.root.dense(qd.i, 4)
    node.place(x)
    x.fill(3)
    node.deactivate_all()  # a dense tree has no cells that could go
    assert x[0] in (0, 3)


def test_the_type_of_an_ndarray(arch):
    a = qd.ndarray(qd.f32, (2, 3), needs_grad=True)
    v = qd.Vector.ndarray(3, qd.f64, 5)
    found = a.get_type()
    assert (found.element_type, found.shape, found.needs_grad) == (qd.f32, (2, 3), True)
    for annotation, array in (
        (qd.types.ndarray(), a), (qd.types.ndarray(qd.f32, 2), a), (qd.types.NDArray[qd.f32, 2], a),
        (qd.types.ndarray(needs_grad=True), a), (qd.types.ndarray(qd.types.vector(3, qd.f64), 1), v),
        (qd.types.ndarray(qd.types.vector(dtype=qd.f64)), v),
    ):  # fmt: skip
        annotation.check_matched(array.get_type(), "x")
    for annotation, array, text in (
        (qd.types.ndarray(qd.i32), a, "x - required element type: i32, but f32"),
        (qd.types.ndarray(ndim=3), a, "x - required ndim=3, but 2d"),
        (qd.types.ndarray(needs_grad=True), v, "x - required needs_grad=True"),
        (qd.types.ndarray(qd.types.vector(2, qd.f64)), v, "required element type"),
        (qd.types.ndarray(qd.types.vector(3, qd.f32)), v, "required element type"),
        (qd.types.ndarray(qd.types.matrix(3, 1, qd.f64)), v, "required element type"),
    ):
        with pytest.raises(ValueError, match=text):
            annotation.check_matched(array.get_type(), "x")


def test_elements_of_views_are_read_in_kernels(arch):
    view = qd.ndarray(qd.f32, 8)[2:4]
    with pytest.raises(TypeError, match=r"write v\[1\] in a kernel"):
        view.subscript(1)


def test_what_every_field_has(arch):
    fields = [
        qd.field(qd.f32, 2), qd.Vector.field(2, qd.f32, 2), qd.Struct.field({"a": qd.f32}, shape=2),
    ]  # fmt: skip
    for name in "fill copy_from from_numpy to_numpy from_torch to_torch".split():
        assert callable(getattr(qd.Field, name))
        for field in fields:
            assert getattr(type(field), name) is not getattr(qd.Field, name), name
    for field in fields[:2]:
        assert type(field).to_dlpack is not qd.Field.to_dlpack
    with pytest.raises(qd.QuadrantsRuntimeError, match="no DLPack form"):
        fields[2].to_dlpack()
    with pytest.raises(NotImplementedError, match="has no fill"):
        qd.Field.fill(fields[0], 1)


def test_messages_of_wrong_results():
    error = qd.QuadrantsRuntimeTypeError
    assert isinstance(error.get(0, "f32", "str"), error) and isinstance(error.get_ret("f32", "str"), error)
    assert "f32" in str(error.get_ret("f32", "str")) and "str" in str(error.get_ret("f32", "str"))


def test_vectors_of_four_integers(arch):
    @qd.kernel
    def run() -> qd.math.ivec4:
        return qd.math.ivec4(1, 2, 3, 4) + qd.math.ivec4(1)

    assert list(run()) == [2, 3, 4, 5]


def test_seeds_of_forward_mode(arch):
    x, y = qd.field(qd.f32, 2, needs_dual=True), qd.field(qd.f32, (), needs_dual=True)

    @qd.kernel
    def square():
        for i in x:
            y[None] += x[i] * x[i]

    x.from_numpy(np.float32([3, 5]))
    with qd.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0]) as mode:
        square()
    assert y.dual[None] == 6
    mode.clear_seed()
    assert list(x.dual.to_numpy()) == [0, 0]
    mode.recover_kernels()
    y[None] = 0
    square()
    assert y[None] == 34


def test_metrics_of_cupti():
    metrics = importlib.import_module("quadrants.profiler.kernel_metrics")
    names = (
        "achieved_occupancy dram_bytes_read dram_bytes_sum dram_bytes_throughput dram_bytes_write dram_read_throughput "
        "dram_throughput dram_utilization dram_write_throughput global_op_atom global_op_reduction l1_hit_rate "
        "l1tex_throughput l2_hit_rate l2_throughput shared_bank_conflicts_load shared_bank_conflicts_store "
        "shared_transactions_load shared_transactions_store shared_utilization sm_throughput"
    ).split()
    for name in names:
        metric = getattr(metrics, name)
        assert isinstance(metric, qd.profiler.CuptiMetric) and metric.name and metric.header
    for name in "atomic_access cache_hit_rate device_utilization global_access shared_access".split():
        assert (
            metrics.predefined_cupti_metrics[name]
            == getattr(metrics, name)
            == metrics.get_predefined_cupti_metrics(name)
        )
        assert all(isinstance(metric, metrics.CuptiMetric) for metric in getattr(metrics, name))
    assert metrics.default_cupti_metrics is qd.profiler.kernel_profiler.default_cupti_metrics


def test_the_profiler_as_an_object(init, capsys):
    init(kernel_profiler=True)
    x = qd.field(qd.f32, 100)

    @qd.kernel
    def fill_it():
        for i in x:
            x[i] = i

    profiler = qd.profiler.kernel_profiler.get_default_kernel_profiler()
    assert isinstance(profiler, qd.profiler.kernel_profiler.KernelProfiler)
    profiler.clear_info()
    for _ in range(3):
        fill_it()
    qd.sync()
    found = profiler.query_info("fill_it")
    assert found.counter == 3 and found.min <= found.avg <= found.max
    assert math.isclose(profiler.get_total_time(), qd.profiler.get_kernel_profiler_total_time())
    profiler.print_info()
    assert "fill_it" in capsys.readouterr().out
    assert profiler.get_kernel_profiler_mode() is True
    assert profiler.set_toolkit("default") is True
    profiler.set_metrics(qd.profiler.kernel_profiler.default_cupti_metrics)
    with profiler.collect_metrics_in_context():
        fill_it()
    profiler.clear_info()
    assert profiler.get_total_time() == 0
    profiler.set_kernel_profiler_mode(False)
    result = qd.profiler.kernel_profiler.StatisticalResult("k")
    result.insert_record(2.0)
    result.insert_record(4.0)
    assert (result.counter, result.min_time, result.max_time) == (2, 2.0, 4.0)


def test_single_channels_of_ply(tmp_path):
    pytest.importorskip("plyfile", reason="plyfile is not installed: pip install plyfile")
    assert qd.tools.np2ply.PLYWriter is qd.tools.PLYWriter and qd.tools.vtk.write_vtk is qd.tools.write_vtk
    writer = qd.tools.PLYWriter(2)
    with pytest.raises(AssertionError, match="pos channel is missing"):
        writer.sanity_check()
    writer.add_vertex_pos([0, 1], [0, 1], [0, 1])
    writer.add_vertex_color([0, 1], [1, 0], [0, 0])
    writer.add_vertex_alpha([1, 0.5])
    writer.sanity_check()
    writer.export_ascii(tmp_path / "a.ply")
    assert (tmp_path / "a.ply").read_text().splitlines()[-2:] == ["0 0 0 0 1 0 1", "1 1 1 1 0 0 0.5"]


@pytest.mark.parametrize("call", ["mesh_patch_idx", "mesh_local"])
def test_meshes_are_not_in_this_version(arch, call):
    """What marks loops over meshes means nothing where there are none."""
    assert callable(getattr(qd, call))
    for name in ("Mesh", "MeshInstance"):
        with pytest.raises(AttributeError, match="not in this version. Use fields or ndarrays of indices"):
            getattr(qd, name)
