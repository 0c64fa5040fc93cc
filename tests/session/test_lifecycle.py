"""init, reset, sync, the callbacks, and the end of the process."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quadrants import arch, session
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.types import f64

pytestmark = pytest.mark.cpu_only

ROOT = Path(__file__).resolve().parents[2]


def _python(code, **env):
    full = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=full, check=False)


SESSION = "import sys\nfrom quadrants import session\n"


def test_init_writes_one_line_to_standard_error(capfd):
    session.init()
    assert capfd.readouterr() == ("", f"[Quadrants] Starting on arch={arch.cpu.name}\n")


def test_threads_and_seed_reach_the_core(core):
    session.init(cpu_max_num_threads=0, random_seed=-1)
    assert core.calls == [("threads", 1), ("seed", 2**64 - 1)]
    assert session.current_cfg().cpu_max_num_threads == 0


def test_every_unknown_keyword_is_named_and_the_old_runtime_is_gone():
    session.init()
    with pytest.raises(
        KeyError, match=r"for qd.init: debgu \(did you mean 'debug'\?\), archs \(did you mean 'arch'\?\)"
    ):
        session.init(debgu=True, archs=arch.cpu)
    with pytest.raises(KeyError, match=r"Unrecognized keyword argument\(s\) for qd.init: foo, bar"):
        session.init(foo=1, bar=2)
    assert session.current_cfg() is None
    with pytest.raises(TypeError, match="debug"):
        session.init(foo=1, debug=1)


def test_options_may_be_read_off_the_dying_configuration(tmp_path):
    session.init(default_fp=f64, template_path=[str(tmp_path)])
    cfg = session.current_cfg()
    session.init(default_fp=cfg.default_fp, template_path=cfg.template_path)
    assert session.current_cfg() is not cfg
    assert session.current_cfg().default_fp is f64
    assert session.current_cfg().template_path is not cfg.template_path


def test_debug_implies_bounds_checks():
    session.init(debug=True, check_out_of_bound=False)
    assert session.current_cfg().check_out_of_bound
    session.init(check_out_of_bound=True)
    assert not session.current_cfg().debug


@pytest.mark.parametrize("good", ["1.3", "1.3.3", "1.2.9.7", "1.0.0", "1.3.3+g", "1.3.3rc1"])
def test_require_version_passes(good):
    session.init(require_version=good)


@pytest.mark.parametrize("bad", ["1.3.4", "2.0", "0.9", "1", "a", "", "1.4"])
def test_require_version_refuses_before_anything_else(bad):
    session.init(debug=True)
    with pytest.raises(Exception, match="version"):
        session.init(require_version=bad)
    assert session.current_cfg().debug


def test_require_version_wants_text():
    with pytest.raises(TypeError, match="string"):
        session.init(require_version=1.3)


def test_test_mode_stops_before_the_runtime(capfd):
    side = session.init(_test_mode=True, unrolling_limit=3, log_level="WARN")
    assert (side.unrolling_limit, side.log_level, side.print_full_traceback) == (3, "WARN", False)
    assert session.current_cfg() is None
    assert "Starting on arch" in capfd.readouterr().err


def test_use_without_a_runtime():
    runtime = session.get_runtime()
    for use in (session.require_runtime, session.sync, session.dump_compile_config, lambda: runtime.prog):
        with pytest.raises(QuadrantsRuntimeError, match=r"Maybe you forgot to call `qd.init\(\)` first\?"):
            use()
    with pytest.raises(QuadrantsRuntimeError):
        session.is_extension_enabled(arch.Extension.sparse)


def test_sync_before_the_first_init_says_so():
    done = _python("from quadrants import session; session.sync()")
    assert "Please call init() first" in done.stderr
    assert done.returncode == 1


def test_reset_is_legal_at_any_time_and_restores_defaults():
    session.reset()
    session.reset()
    session.init(default_fp=f64, unrolling_limit=3)
    session.reset()
    runtime = session.get_runtime()
    assert session.current_cfg() is None
    assert runtime.default_fp.name == "f32"
    assert runtime.unrolling_limit == 32


def test_generation_never_repeats():
    seen = [session.generation()]
    for step in (session.init, session.reset, session.reset, session.init, session.init):
        step()
        seen.append(session.generation())
    assert seen == sorted(set(seen))


def test_callbacks_in_order(hooks):
    log = []
    hooks.on_init(lambda cfg: log.append(("init", cfg.arch)))
    hooks.on_materialize(lambda: log.append("materialize"))
    hooks.on_sync(lambda: log.append("sync"))
    hooks.on_clear(lambda: log.append("clear first"))
    hooks.on_clear(lambda: log.append("clear last"))
    hooks.on_reset(lambda: log.append("reset"))
    session.init()
    assert log == ["clear last", "clear first", "reset", ("init", arch.cpu)]
    log.clear()
    session.sync()
    assert log == ["materialize", "sync"]
    log.clear()
    session.reset()
    assert log == ["sync", "clear last", "clear first", "reset"]


def test_methods_replaced_on_the_class_are_used(hooks, monkeypatch):
    log = []
    cls = session.PyQuadrants
    materialize, clear = cls.materialize, cls.clear

    def wrapped_materialize(self):
        log.append("materialize")
        materialize(self)
        if log.count("materialize") < 3:
            self.materialize()
        self.prog.synchronize()

    def wrapped_clear(self):
        log.append("clear")
        clear(self)

    monkeypatch.setattr(cls, "materialize", wrapped_materialize)
    monkeypatch.setattr(cls, "clear", wrapped_clear)
    session.init()
    assert log == ["clear"]
    session.sync()
    assert log == ["clear"] + ["materialize"] * 3
    session.reset()
    assert log[-1] == "clear"


def test_materialize_is_reentrant(hooks):
    depth = []

    def pending():
        depth.append(1)
        session.get_runtime().materialize()

    hooks.on_materialize(pending)
    session.init()
    session.get_runtime().materialize()
    assert len(depth) == 1
    session.get_runtime().materialize()
    assert len(depth) == 2


def test_materialize_works_on_any_thread_and_recovers_from_a_failure(hooks):
    threads = []

    def pending():
        threads.append(threading.get_ident())
        if len(threads) == 1:
            raise MemoryError("full")

    hooks.on_materialize(pending)
    session.init()
    with pytest.raises(MemoryError):
        session.get_runtime().materialize()
    worker = threading.Thread(target=session.get_runtime().materialize)
    worker.start()
    worker.join()
    assert len(threads) == 2
    assert threads[1] != threading.get_ident()


def test_a_failing_start_leaves_no_runtime(hooks):
    def refuse(cfg):
        raise OSError("no device")

    hooks.on_init(refuse)
    with pytest.raises(OSError, match="no device"):
        session.init(debug=True)
    assert session.current_cfg() is None
    assert session.get_runtime().arch is None


def test_a_failing_clear_does_not_keep_the_runtime_alive(hooks):
    log = []
    hooks.on_clear(lambda: log.append("other layer"))

    def fail():
        raise ValueError("stuck")

    hooks.on_clear(fail)
    hooks._hooks["init"].append(lambda cfg: None)
    with pytest.raises(ValueError, match="stuck"):
        session.reset()
    assert log == ["other layer"]
    assert session.current_cfg() is None
    hooks._hooks["clear"].remove(fail)


def test_pending_failures_are_raised_by_sync_and_dropped_by_reset(hooks):
    def pending():
        raise QuadrantsRuntimeError("out of bounds")

    session.init()
    hooks.on_sync(pending)
    with pytest.raises(QuadrantsRuntimeError, match="out of bounds"):
        session.sync()
    session.reset()
    assert session.current_cfg() is None


def test_the_working_directory_is_restored(hooks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deeper").mkdir()
    hooks.on_init(lambda cfg: os.chdir("deeper"))
    session.init()
    assert Path.cwd() == tmp_path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs an operating system with fork")
def test_a_forked_child_is_not_locked_out_by_a_compile_in_the_parent():
    code = SESSION + (
        "import os, threading, time\n"
        "session.init()\n"
        "held = threading.Event()\n"
        "def compile_for_long():\n"
        "    with session.get_runtime().compilation_lock: held.set(); time.sleep(60)\n"
        "threading.Thread(target=compile_for_long, daemon=True).start()\n"
        "held.wait()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    session.get_runtime().materialize(); os._exit(3)\n"
        "deadline = time.time() + 20\n"
        "while time.time() < deadline:\n"
        "    done, status = os.waitpid(child, os.WNOHANG)\n"
        "    if done: break\n"
        "    time.sleep(0.01)\n"
        "else: os.kill(child, 9); os.waitpid(child, 0); status = -1\n"
        "print('child', os.waitstatus_to_exitcode(status) if status >= 0 else 'hung', flush=True)\n"
        "os._exit(0)\n"
    )
    assert _python(code).stdout.splitlines()[-1] == "child 3"


def test_ndarrays_are_held_weakly():
    class Thing:
        pass

    session.init()
    thing = Thing()
    session.get_runtime().ndarrays.add(thing)
    assert len(session.get_runtime().ndarrays) == 1
    del thing
    assert len(session.get_runtime().ndarrays) == 0


def test_program_counters_start_at_zero():
    session.init()
    prog = session.get_runtime().prog
    assert prog.get_total_compilation_time() == 0.0
    assert prog.get_graph_cache_size() == 0
    assert prog.get_graph_cache_used_on_last_call() is False
    assert prog.get_graph_last_yield_cp_id_on_last_call() == -1
    assert prog.get_graph_num_checkpoints_on_last_call() == 0
    assert prog.get_graph_num_nodes_on_last_call() == 0
    assert prog.get_graph_total_builds() == 0
    assert prog.get_num_offloaded_tasks_on_last_call() == 0
    assert prog.config() is session.current_cfg()
    assert session.get_runtime().get_num_compiled_functions() == 0
    with pytest.raises(RuntimeError, match="subgroups"):
        prog.subgroup_size()


def test_dump_prints_sorted_lines(capsys):
    session.init()
    capsys.readouterr()
    session.dump_compile_config()
    lines = capsys.readouterr().out.splitlines()
    names = [line.split("=", 1)[0] for line in lines]
    assert names == sorted(names)
    assert "default_fp=f32" in lines
    assert f"arch=Arch.{arch.cpu.name}" in lines


@pytest.mark.parametrize("variable", ["QD_LOAD_IR", "QUADRANTS_LOAD_PTX"])
def test_loading_edited_files_needs_caches_off(monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    for options in ({}, {"offline_cache": False}, {"src_ll_cache": False}):
        with pytest.raises(ValueError, match="Caching must be disabled when using"):
            session.init(**options)
        assert session.current_cfg() is None
    session.init(offline_cache=False, src_ll_cache=False)
    monkeypatch.setenv(variable, "0")
    session.init()


@pytest.mark.parametrize(
    ("options", "env"), [({"print_ir": True}, {}), ({}, {"QD_DUMP_IR": "1"}), ({}, {"QD_DUMP_CUDA": "1"})]
)
def test_dumps_with_the_disk_cache_warn_once(monkeypatch, recwarn, options, env):
    """A warning of Python, at the line that called `qd.init`."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    session.init(**options)
    (said,) = recwarn.list
    assert "[warning_code=DUMP_IR_CACHE_MISMATCH]" in str(said.message) and said.category is UserWarning
    assert said.filename == __file__
    recwarn.clear()
    session.init(offline_cache=False, **options)
    assert not recwarn.list


def test_python_arch_has_options_and_no_program(monkeypatch):
    monkeypatch.setattr(arch, "_backends", {**arch._backends, "python": arch.Backend(lambda: True, set())})
    session.init(arch.python, default_fp=f64)
    assert session.current_cfg().default_fp is f64
    assert session.is_python_backend()
    assert session.require_runtime().default_fp is f64
    session.sync()
    with pytest.raises(QuadrantsRuntimeError, match="qd.init"):
        _ = session.get_runtime().prog


def test_a_crash_in_debug_mode_shows_where(tmp_path):
    crash = "import ctypes\nsession.init(debug={})\ndef culprit(): ctypes.string_at(0)\nculprit()"
    silent, loud = (_python(SESSION + crash.format(flag)) for flag in (False, True))
    assert silent.returncode == loud.returncode != 0
    assert "culprit" not in silent.stderr
    assert "culprit" in loud.stderr


def test_exit_is_silent_and_keeps_the_status():
    code = SESSION + (
        "def boom(): raise RuntimeError('late failure')\n"
        "session.init()\n"
        "for on in (session.on_sync, session.on_clear, session.on_exit): on(boom)\n"
        "session.on_exit(lambda: print('joined'))\n"
        "sys.exit(7)\n"
    )
    done = _python(code)
    assert done.returncode == 7
    assert [line for line in done.stderr.splitlines() if not line.startswith("[Quadrants]")] == []
    assert done.stdout == "joined\n"


def test_a_missing_core_says_what_to_do():
    code = (
        "import sys; sys.modules['quadrants._ext'] = None\nfrom quadrants import session\n"
        "try: session.init()\nexcept Exception as error: print(type(error).__name__, error)\n"
        "print(session.current_cfg())"
    )
    out = _python(code).stdout
    assert "QuadrantsRuntimeError The compiled part of the package cannot be loaded" in out
    assert out.splitlines()[-1] == "None"


@pytest.mark.parametrize("text", ["0", "f", "false", "False"])
def test_the_header_can_be_suppressed(text, monkeypatch, capfd):
    session.print_header()
    out, line = capfd.readouterr()
    assert out == ""
    assert line.startswith("[Quadrants] version 1.3.3, ")
    assert line.count("\n") == 1
    monkeypatch.setenv("ENABLE_QUADRANTS_HEADER_PRINT", text)
    session.print_header()
    assert capfd.readouterr() == ("", "")


def test_importing_this_layer_loads_nothing_heavy():
    code = (
        "import sys\nfrom quadrants import session, config, arch, _logging, interop\n"
        "print([m for m in ('torch', 'jinja2', 'subprocess', 'json', 'multiprocessing') if m in sys.modules])"
    )
    assert _python(code).stdout.splitlines()[-1] == "[]"


def test_an_import_reads_no_record_of_a_target():
    code = "import sys, quadrants\nprint([m for m in sys.modules if m.startswith('quadrants.targets.')])"
    assert _python(code).stdout.splitlines()[-1] == "[]"
