"""The option table, its value rules, and the environment."""

import math
import os
import warnings

import numpy as np
import pytest

from quadrants import arch, config, session
from quadrants.config import OPTIONS, CompileConfig, SideOptions
from quadrants.ir.types import f16, f32, f64, i8, i32, i64, u32, u64

pytestmark = pytest.mark.cpu_only

# What `dump_compile_config` of the reference shows after a bare init, but for the machine's own values.
CFG_DEFAULTS = dict(
    ad_stack_experimental_enabled=False,
    ad_stack_size=0,
    ad_stack_sparse_threshold_bytes=104857600,
    advanced_optimization=True,
    auto_mesh_local_default_occupacy=4,
    cache_loop_invariant_global_vars=True,
    cfg_optimization=True,
    check_out_of_bound=False,
    cuda_stack_limit=0,
    debug=False,
    debug_dump_path="/tmp/ir/",
    default_cpu_block_dim=32,
    default_fp=f32,
    default_gpu_block_dim=128,
    default_ip=i32,
    default_up=u32,
    demote_dense_struct_fors=True,
    demote_no_access_mesh_fors=True,
    detect_read_only=True,
    device_memory_GB=1.0,
    device_memory_fraction=0.0,
    experimental_auto_mesh_local=False,
    external_metal_command_queue=0,
    external_metal_command_queue_is_torch_queue=False,
    external_opencl_command_queue=0,
    fast_math=True,
    flatten_if=False,
    force_scalarize_matrix=False,
    half2_vectorization=False,
    kernel_profiler=False,
    make_block_local=True,
    make_cpu_multithreading_loop=True,
    make_mesh_block_local=True,
    make_thread_local=True,
    max_block_dim=1024,
    mesh_localize_all_attr_mappings=False,
    mesh_localize_from_end_mapping=False,
    mesh_localize_to_end_mapping=True,
    move_loop_invariant_outside_if=False,
    num_compile_threads=4,
    offline_cache=True,
    offline_cache_cleaning_factor=0.25,
    offline_cache_cleaning_policy="lru",
    offline_cache_max_size_of_files=104857600,
    opt_level=1,
    optimize_mesh_reordered_mapping=True,
    print_accessor_ir=False,
    print_ir=False,
    print_ir_dbg_info=False,
    print_kernel_amdgcn=False,
    print_kernel_asm=False,
    print_kernel_llvm_ir=False,
    print_kernel_llvm_ir_optimized=False,
    print_preprocessed_ir=False,
    print_struct_llvm_ir=False,
    quant_opt_atomic_demotion=True,
    quant_opt_store_fusion=True,
    raise_on_templated_floats=False,
    random_seed=0,
    real_matrix_scalarize=True,
    saturating_grid_dim=0,
    timeline=False,
    vk_api_version="",
)
SIDE_DEFAULTS = dict(
    log_level="info",
    gdb_trigger=False,
    short_circuit_operators=True,
    print_full_traceback=False,
    unrolling_limit=32,
    src_ll_cache=True,
    print_non_pure=False,
)
NOT_OPTIONS = "constant_folding verbose validate_autodiff use_llvm gpu_max_reg cpu_block_dim_adaptive lower_access"


def test_defaults_after_init_are_the_known_ones():
    session.init()
    shown = dict(session.current_cfg().items())
    machine = {"arch", "cpu_max_num_threads", "offline_cache_file_path", "template_path"}
    ours = {"emulate": False, "device": -1}
    assert {k: v for k, v in shown.items() if k not in machine} == {**CFG_DEFAULTS, **ours}
    assert shown["cpu_max_num_threads"] == config.hardware_threads() >= 1
    assert shown["template_path"] == []
    assert {name: getattr(session.get_runtime(), name) for name in SIDE_DEFAULTS} == SIDE_DEFAULTS


def test_every_row_is_documented_and_its_default_is_valid():
    for row in OPTIONS.values():
        assert row.doc.endswith("."), row.name
        assert config.convert(row, row.initial()) == row.initial()


@pytest.mark.parametrize("name", NOT_OPTIONS.split())
def test_names_the_reference_does_not_know_are_refused(name):
    with pytest.raises(KeyError, match=name):
        session.init(**{name: True})


@pytest.mark.parametrize("name", [r.name for r in OPTIONS.values() if r.type is bool])
def test_bool_options_take_only_bool(name):
    target = CompileConfig() if OPTIONS[name].on_cfg else SideOptions()
    for good in (True, False):
        setattr(target, name, good)
        assert getattr(target, name) is good
    for bad in (1, 0, "yes", None, 1.0):
        with pytest.raises(TypeError, match=name):
            setattr(target, name, bad)


ANY_INT = [row.name for row in OPTIONS.values() if row.type is int and row.name != "default_gpu_block_dim"]


@pytest.mark.parametrize("name", ANY_INT)
def test_int_options_take_int_and_bool(name):
    target = CompileConfig() if OPTIONS[name].on_cfg else SideOptions()
    setattr(target, name, 7)
    setattr(target, name, True)
    assert getattr(target, name) == 1
    assert type(getattr(target, name)) is int
    for bad in (1.0, "1", None):
        with pytest.raises(TypeError, match=name):
            setattr(target, name, bad)
    setattr(target, name, 2**33)
    assert getattr(target, name) == 2**33
    with pytest.raises(ValueError, match="64 bits"):
        setattr(target, name, 2**64)


def test_float_options_take_int_and_float():
    cfg = CompileConfig(device_memory_GB=2, device_memory_fraction=1)
    assert (cfg.device_memory_GB, cfg.device_memory_fraction) == (2.0, 1.0)
    assert type(cfg.device_memory_GB) is float
    with pytest.raises(TypeError):
        cfg.device_memory_GB = "2"


def test_numbers_of_numpy_are_numbers():
    cfg = CompileConfig(debug=np.bool_(True), random_seed=np.int32(7), device_memory_GB=np.float32(0.5))
    assert (cfg.debug, cfg.random_seed, cfg.device_memory_GB) == (True, 7, 0.5)
    assert [type(v) for v in (cfg.debug, cfg.random_seed, cfg.device_memory_GB)] == [bool, int, float]
    for name, bad in (("debug", np.int32(1)), ("random_seed", np.float64(1.0)), ("random_seed", np.array([1]))):
        with pytest.raises(TypeError, match=name):
            setattr(cfg, name, bad)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("device_memory_GB", 0.0),
        ("device_memory_GB", -1),
        ("device_memory_GB", math.nan),
        ("device_memory_fraction", -0.1),
        ("device_memory_fraction", 1.1),
        ("device_memory_fraction", math.nan),
        ("cpu_max_num_threads", -1),
        ("num_compile_threads", -2),
        ("default_gpu_block_dim", -32),
        ("default_gpu_block_dim", 96),
        ("default_gpu_block_dim", 2048),
        ("offline_cache_cleaning_policy", "sometimes"),
        ("offline_cache_cleaning_factor", 1.5),
        ("offline_cache_max_size_of_files", -1),
    ],
)
def test_values_out_of_range_are_value_errors(name, bad):
    with pytest.raises(ValueError, match=name):
        session.init(**{name: bad})
    assert session.current_cfg() is None


@pytest.mark.parametrize(
    ("name", "good"),
    [("default_fp", f16), ("default_fp", f32), ("default_fp", f64), ("default_ip", i32), ("default_ip", i64)],
)
def test_default_types(name, good):
    session.init(**{name: good})
    assert getattr(session.current_cfg(), name) is good
    assert getattr(session.get_runtime(), name) is good
    assert session.current_cfg().default_up is (u64 if session.current_cfg().default_ip is i64 else u32)


@pytest.mark.parametrize(
    ("name", "bad"), [("default_fp", float), ("default_fp", "f32"), ("default_fp", i32), ("default_ip", i8)]
)
def test_bad_default_types_are_assertion_errors(name, bad):
    with pytest.raises(AssertionError, match=name):
        session.init(**{name: bad})


def test_default_up_is_not_an_option():
    session.init(debug=True)
    with pytest.raises(KeyError, match="default_ip"):
        session.init(default_up=u32)
    assert session.current_cfg().debug, "refused before the reset"
    with pytest.raises(AttributeError, match="default_ip"):
        session.current_cfg().default_up = u64


def test_cfg_is_live_and_closed():
    session.init()
    cfg = session.current_cfg()
    cfg.default_fp = f64
    assert session.get_runtime().default_fp is f64
    for name in ("nosuch", *SIDE_DEFAULTS):
        with pytest.raises(AttributeError, match=name):
            getattr(cfg, name)
        with pytest.raises(AttributeError, match=name):
            setattr(cfg, name, 1)
    with pytest.raises(TypeError, match="debug"):
        cfg.debug = 3


def test_template_path_is_a_path_or_a_list_of_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    for given, stored in ((tmp_path, [str(tmp_path)]), ("a", ["a"]), (["a", tmp_path], ["a", str(tmp_path)])):
        session.init(template_path=given)
        assert session.current_cfg().template_path == stored
    with pytest.raises(TypeError, match="template_path"):
        session.init(template_path=3)
    with pytest.raises(FileNotFoundError, match="template_path: there is no folder 'b' in"):
        session.init(template_path=["a", "b"])


def test_what_has_no_effect_is_told():
    with pytest.warns(UserWarning, match="external_opencl_command_queue has no effect on arch .*; it is for qd.opencl"):
        session.init(external_opencl_command_queue=1)
    with pytest.warns(UserWarning, match="device has no effect on arch .*; it is for qd.cuda or .* or qd.opencl"):
        session.init(device=1)
    with pytest.warns(UserWarning, match="emulate=True has no effect on arch"):
        session.init(emulate=True)


def test_a_queue_instead_of_its_address_is_told_what_to_write():
    class Queue:
        def __reduce_ex__(self, version):
            raise TypeError("cannot be pickled")

    with pytest.raises(TypeError, match="external_opencl_command_queue must be int, not Queue .*=queue.int_ptr"):
        session.init(external_opencl_command_queue=Queue())


def test_template_path_default_is_not_shared():
    CompileConfig().template_path.append("x")
    assert CompileConfig().template_path == []


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("QD_DEBUG", "1", "debug", True),
        ("QD_DEBUG", "0", "debug", False),
        ("QD_FAST_MATH", "0", "fast_math", False),
        ("QD_OFFLINE_CACHE", "0", "offline_cache", False),
        ("QD_RANDOM_SEED", "-5", "random_seed", -5),
        ("QD_OFFLINE_CACHE_CLEANING_FACTOR", "0.5", "offline_cache_cleaning_factor", 0.5),
        ("QD_OFFLINE_CACHE_FILE_PATH", "/x/y", "offline_cache_file_path", "/x/y"),
        ("QD_DEVICE_MEMORY_GB", "3", "device_memory_GB", 3.0),
        ("QD_DEFAULT_FP", "64", "default_fp", f64),
        ("QD_DEFAULT_IP", "64", "default_ip", i64),
        ("QD_TEMPLATE_PATH", os.pathsep.join(("a", "b")), "template_path", ["a", "b"]),
        ("QD_NUM_THREADS", "3", "cpu_max_num_threads", 3),
        ("QD_CPU_MAX_NUM_THREADS", "2", "cpu_max_num_threads", 2),
    ],
)
def test_environment_sets_options(monkeypatch, tmp_path, variable, text, name, value):
    for folder in "ab":
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, text)
    session.init()
    assert getattr(session.current_cfg(), name) == value


def test_unrolling_limit_variable_is_an_int(monkeypatch):
    monkeypatch.setenv("QD_UNROLLING_LIMIT", "5")
    session.init()
    assert session.get_runtime().unrolling_limit == 5


@pytest.mark.parametrize(
    ("variable", "text", "match"),
    [
        ("QD_DEBUG", "yes", "QD_DEBUG=yes.*0 or 1"),
        ("QD_DEFAULT_FP", "33", "should be 32 or 64"),
        ("QD_DEFAULT_FP", "16", "should be 32 or 64"),
        ("QD_DEFAULT_IP", "i32", "should be 32 or 64"),
        ("QD_RANDOM_SEED", "1.5", "QD_RANDOM_SEED"),
        ("QD_DEVICE_MEMORY_GB", "lots", "QD_DEVICE_MEMORY_GB"),
        ("QD_NUM_THREADS", "-1", "cpu_max_num_threads"),
    ],
)
def test_junk_in_the_environment_is_a_value_error(monkeypatch, variable, text, match):
    monkeypatch.setenv(variable, text)
    with pytest.raises(ValueError, match=match):
        session.init()
    assert session.current_cfg() is None


def test_empty_variables_are_unset(monkeypatch):
    for row in OPTIONS.values():
        if row.variable:
            monkeypatch.setenv(row.variable, "")
    session.init()
    assert session.current_cfg().debug is False


def test_arguments_win_over_the_environment_with_a_warning(monkeypatch, capfd):
    monkeypatch.setenv("QD_DEBUG", "1")
    monkeypatch.setenv("QD_DEFAULT_FP", "64")
    monkeypatch.setenv("QD_NUM_THREADS", "7")
    session.init(debug=False, default_fp=f32, cpu_max_num_threads=1)
    cfg = session.current_cfg()
    assert (cfg.debug, cfg.default_fp, cfg.cpu_max_num_threads) == (False, f32, 1)
    err = capfd.readouterr().err
    assert 'Environment variable QD_DEBUG=1 overridden by qd.init argument "debug"' in err
    assert 'Environment variable QD_DEFAULT_FP=64 overridden by qd.init argument "default_fp"' in err
    assert "QD_NUM_THREADS" not in err


def test_an_argument_that_says_the_same_as_the_environment_is_no_warning(monkeypatch, capfd):
    monkeypatch.setenv("QD_DEBUG", "0")
    monkeypatch.setenv("QD_DEFAULT_FP", "64")
    monkeypatch.setenv("QD_ARCH", "cpu")
    session.init(arch=arch.cpu, debug=False, default_fp=f64)
    assert "overridden" not in capfd.readouterr().err


def test_options_without_a_variable(monkeypatch):
    monkeypatch.setenv("QD_SRC_LL_CACHE", "0")
    monkeypatch.setenv("QD_PRINT_NON_PURE", "1")
    session.init()
    assert (session.get_runtime().src_ll_cache, session.get_runtime().print_non_pure) == (True, False)


def test_default_up_variable_is_ignored_with_a_warning(monkeypatch, capfd):
    monkeypatch.setenv("QD_DEFAULT_UP", "64")
    session.init()
    assert session.current_cfg().default_up is u32
    assert "QD_DEFAULT_UP is ignored" in capfd.readouterr().err


def test_cache_folder_follows_xdg(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert config.default_cache_path() == os.path.join("/somewhere", "quadrants", "qdcache")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert config.default_cache_path() == "/home/me/.cache/quadrants/qdcache"


def test_a_relative_folder_is_one_of_the_moment_of_init(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    session.init(offline_cache_file_path="mine/cache", debug_dump_path="mine/dumps")
    cfg = session.current_cfg()
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    assert cfg.offline_cache_file_path == str(tmp_path / "mine" / "cache")
    assert cfg.debug_dump_path == str(tmp_path / "mine" / "dumps")
    monkeypatch.setenv("QD_OFFLINE_CACHE_FILE_PATH", "../again")
    session.init()
    assert session.current_cfg().offline_cache_file_path == str(tmp_path / "again")


@pytest.mark.parametrize("home", ["", "relative", None])
def test_a_home_that_nobody_knows_is_no_folder(monkeypatch, home):
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME") if home is None else monkeypatch.setenv("HOME", home)
    assert config.default_cache_path() == config.absolute_folder("~") == config.absolute_folder("~/x") == ""
    assert config.absolute_folder("~nobody-of-this-name/x") == ""
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, by its specification
    assert config.default_cache_path() == ""
    with pytest.raises(ValueError, match="debug_dump_path names a home folder"):
        CompileConfig(debug_dump_path="~/dumps")
    assert CompileConfig(offline_cache_file_path="~/x").offline_cache_file_path == ""


def test_a_home_is_looked_up(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert config.absolute_folder("~/x") == "/home/me/x" and config.absolute_folder("~") == "/home/me"
    assert config.absolute_folder("/a/../b") == "/b" and config.absolute_folder("") == ""


IRRELEVANT = dict(
    random_seed=5,
    offline_cache=False,
    offline_cache_file_path="/elsewhere",
    debug_dump_path="/d",
    print_ir=True,
    print_kernel_asm=True,
    num_compile_threads=9,
    cpu_max_num_threads=3,
    external_metal_command_queue=77,
    log_level="error",
)
RELEVANT = dict(
    debug=True,
    check_out_of_bound=True,
    fast_math=False,
    opt_level=2,
    default_fp=f64,
    default_ip=i64,
    ad_stack_size=8,
    ad_stack_experimental_enabled=True,
    kernel_profiler=True,
    short_circuit_operators=False,
    make_cpu_multithreading_loop=False,
)


def _key(**options):
    session.init(**options)
    key = session.cache_key()
    hash(key)
    return key


def test_cache_key_holds_exactly_what_can_change_code():
    plain = _key()
    for name, value in IRRELEVANT.items():
        assert _key(**{name: value}) == plain, name
    keys = [plain] + [_key(**{name: value}) for name, value in RELEVANT.items()]
    assert len(set(keys)) == len(keys)


def test_levels_end():
    for level, told in ((3, 0), (17, 1)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            session.init(opt_level=level)
        assert len(caught) == told and session.current_cfg().opt_level == level
    assert "opt_level=17 is taken for 3" in str(caught[0].message) and caught[0].filename == __file__
