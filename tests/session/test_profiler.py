"""Tables, queries and trees of the profilers, on records made by hand."""

import json
import threading

import pytest

from quadrants import _logging, profiler, session
from quadrants.errors import QuadrantsRuntimeError
from quadrants.profiler import kernel_metrics, kernel_profiler, memory_profiler, timeline

pytestmark = pytest.mark.cpu_only

OFF = "use 'qd.init(kernel_profiler = True)' to turn on KernelProfiler."


@pytest.fixture(autouse=True)
def _clean():
    profiler.clear_scoped_profiler_info()
    yield
    profiler.clear_scoped_profiler_info()


@pytest.fixture
def launches():
    """Five launches of a kernel with two tasks of 1..5 ms and 10 ms, and one of another kernel."""
    session.init(kernel_profiler=True)
    start = 100.0
    for i in range(5):
        profiler.kernel_records.append("work_c0_0_kernel_0_range_for", start, (i + 1) * 1e-3)
        profiler.kernel_records.append("work_c0_0_kernel_1_named_range_for", start + 0.01, 10e-3)
        start += 0.02
    profiler.kernel_records.append("other_c1_0_kernel_0_serial", start, 1e-3)


@pytest.mark.parametrize("ready", [False, True])
def test_off_every_call_warns_and_returns_nothing(ready, capfd):
    if ready:
        session.init()

    def collect():
        with profiler.collect_kernel_profiler_metrics():
            pass

    calls = {
        profiler.print_kernel_profiler_info: None,
        lambda: profiler.print_kernel_profiler_info("zz"): None,
        lambda: profiler.query_kernel_profiler_info("x"): None,
        profiler.get_kernel_profiler_total_time: 0.0,
        profiler.clear_kernel_profiler_info: None,
        lambda: profiler.set_kernel_profiler_toolkit("cupti"): False,
        profiler.set_kernel_profiler_metrics: None,
        collect: None,
    }
    for call, result in calls.items():
        capfd.readouterr()
        assert call() == result
        assert OFF in capfd.readouterr().err


def test_query_sums_over_the_tasks_of_a_kernel(launches):
    found = profiler.query_kernel_profiler_info("work")
    assert found.counter == 5
    assert (found.min, found.max, found.avg) == pytest.approx((11.0, 15.0, 13.0))
    one = profiler.query_kernel_profiler_info("work_c0_0_kernel_0")
    assert (one.counter, one.min, one.max, one.avg) == pytest.approx((5, 1.0, 5.0, 3.0))
    none = profiler.query_kernel_profiler_info("absent")
    assert (none.counter, none.min, none.max, none.avg) == (0, 0.0, 0.0, 0.0)


def test_total_time_is_the_sum(launches):
    assert profiler.get_kernel_profiler_total_time() == pytest.approx(0.066)


def test_count_table(launches, capsys):
    capsys.readouterr()
    profiler.print_kernel_profiler_info()
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("Kernel Profiler(count, default) @ ")
    assert lines[3] == "[      %     total   count |      min       avg       max   ] Kernel name"
    assert lines[5:8] == [
        "[ 75.76%   0.050 s      5x |   10.000    10.000    10.000 ms] work_c0_0_kernel_1_named_range_for",
        "[ 22.73%   0.015 s      5x |    1.000     3.000     5.000 ms] work_c0_0_kernel_0_range_for",
        "[  1.52%   0.001 s      1x |    1.000     1.000     1.000 ms] other_c1_0_kernel_0_serial",
    ]
    assert lines[9] == "[100.00%] Total execution time:   0.066 s   number of results: 3"
    assert len(lines) == 11


def test_trace_table(launches, capsys):
    capsys.readouterr()
    profiler.print_kernel_profiler_info("trace")
    lines = capsys.readouterr().out.splitlines()
    assert lines[3] == "[  start.time | kernel.time ] Kernel name"
    assert lines[5] == "[    0.000 ms |    1.000 ms ] work_c0_0_kernel_0_range_for"
    assert lines[6] == "[   10.000 ms |   10.000 ms ] work_c0_0_kernel_1_named_range_for"
    assert lines[-2] == "Number of records:  11"


def test_trace_shows_what_devices_report(capsys):
    session.init(kernel_profiler=True)
    session.get_runtime().prog.device_name = "Some GPU"
    profiler.kernel_records.append("k", 0.0, 1e-3, {"registers": 32, "grid": 8, "occupancy": 50.0})
    profiler.kernel_records.append("copy", 0.0, 1e-3)
    capsys.readouterr()
    profiler.print_kernel_profiler_info("trace")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("on Some GPU")
    assert lines[3] == "[  start.time | kernel.time |  regs | grid size | occupancy ] Kernel name"
    assert lines[5] == "[    0.000 ms |    1.000 ms |    32 |         8 |      50 % ] k"
    assert lines[6].index("]") == lines[5].index("]") == lines[3].index("]")


def test_empty_tables(capsys):
    session.init(kernel_profiler=True)
    profiler.print_kernel_profiler_info()
    profiler.print_kernel_profiler_info("trace")
    out = capsys.readouterr().out
    assert "number of results: 0" in out
    assert "Number of records:  0" in out


def test_bad_mode(launches):
    with pytest.raises(ValueError, match="'count' or 'trace'"):
        profiler.print_kernel_profiler_info("zz")


def test_clear_and_reset_forget(launches):
    profiler.clear_kernel_profiler_info()
    assert profiler.query_kernel_profiler_info("work").counter == 0
    profiler.kernel_records.append("a", 0.0, 1.0)
    session.init(kernel_profiler=True)
    assert profiler.get_kernel_profiler_total_time() == 0.0


def test_queries_wait_for_the_device(hooks):
    session.init(kernel_profiler=True)
    hooks.on_sync(lambda: None)
    session.get_runtime().prog._waiters.append(lambda: profiler.kernel_records.append("late", 0.0, 2.0))
    assert profiler.get_kernel_profiler_total_time() == 2.0


def test_toolkits_and_metrics(launches, capfd):
    assert profiler.set_kernel_profiler_toolkit("default") is True
    assert profiler.set_kernel_profiler_toolkit("cupti") is False
    assert "Failed to set kernel profiler toolkit (cupti)" in capfd.readouterr().err
    object_ = kernel_profiler.get_default_kernel_profiler()
    profiler.set_kernel_profiler_metrics(kernel_metrics.cache_hit_rate)
    with profiler.collect_kernel_profiler_metrics(kernel_metrics.atomic_access) as inside:
        assert inside is object_
        assert object_._metrics == kernel_metrics.atomic_access
    assert object_._metrics == kernel_metrics.cache_hit_rate
    profiler.set_kernel_profiler_metrics()


def test_mode_is_the_option():
    object_ = kernel_profiler.get_default_kernel_profiler()
    assert object_.get_kernel_profiler_mode() is False
    with pytest.raises(QuadrantsRuntimeError):
        object_.set_kernel_profiler_mode(True)
    session.init()
    object_.set_kernel_profiler_mode(True)
    assert object_.get_kernel_profiler_mode() is True
    with pytest.raises(TypeError):
        object_.set_kernel_profiler_mode("on")


PREDEFINED = {"global_access": 6, "shared_access": 4, "atomic_access": 2, "cache_hit_rate": 2, "device_utilization": 5}


@pytest.mark.parametrize(("name", "count"), PREDEFINED.items())
def test_predefined_metrics(name, count):
    found = profiler.get_predefined_cupti_metrics(name)
    assert found is getattr(kernel_metrics, name)
    assert len(found) == count
    for metric in found:
        assert isinstance(metric, profiler.CuptiMetric)
        metric.val_format.format(1.5 * metric.scale)


def test_unknown_predefined_metrics(capfd):
    assert profiler.get_predefined_cupti_metrics("zz") is None
    err = capfd.readouterr().err
    assert all(f"'{name}'" in err for name in PREDEFINED)


def test_metric_values_match_their_reads_and_writes():
    assert kernel_metrics.dram_bytes_read.name == "dram__bytes_read.sum"
    assert kernel_metrics.dram_bytes_write.name == "dram__bytes_write.sum"
    assert kernel_metrics.dram_bytes_sum.scale * 2**20 == 1
    assert kernel_metrics.dram_bytes_throughput.scale * 2**30 == 1
    default = profiler.CuptiMetric()
    assert vars(default) == dict(name="", header="unnamed_header", val_format="     {:8.0f} ", scale=1.0)


def test_statistics_of_one_name():
    result = kernel_profiler.StatisticalResult("n")
    assert result.average == 0.0
    for ms in (2.0, 4.0):
        result.insert_record(ms)
    assert vars(result) == dict(name="n", counter=2, min_time=2.0, max_time=4.0, total_time=6.0)


def test_scopes_form_a_tree_per_thread(capsys):
    def work():
        with profiler.scope("outer"):
            for _ in range(2):
                with profiler.scope("inner"):
                    pass

    work()
    other = threading.Thread(target=work)
    other.start()
    other.join()
    profiler.print_scoped_profiler_info()
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("[Profiler thread ") for line in lines) >= 2
    outer = [line for line in lines if " outer " in line]
    inner = [line for line in lines if " inner " in line]
    assert len(outer) == len(inner) == 2
    for a, b in zip(outer, inner, strict=True):
        assert "[1 x" in a
        assert "[2 x" in b
        assert len(b) - len(b.lstrip()) > len(a) - len(a.lstrip())


def test_a_scope_lets_exceptions_through_and_closes(capsys):
    with pytest.raises(KeyError), profiler.scope("failing"):
        raise KeyError("x")
    with profiler.scope("next"):
        pass
    profiler.print_scoped_profiler_info()
    lines = capsys.readouterr().out.splitlines()
    depth = {line.split("%")[1].split()[0]: line.index("%") for line in lines if "%" in line}
    assert depth["failing"] == depth["next"]


def test_clearing_inside_a_scope_keeps_counting(capsys):
    with profiler.scope("running"):
        profiler.clear_scoped_profiler_info()
        with profiler.scope("inside"):
            pass
    with profiler.scope("after"):
        pass
    profiler.print_scoped_profiler_info()
    assert " after " in capsys.readouterr().out


def test_memory_report(monkeypatch, capsys):
    monkeypatch.setattr(memory_profiler, "_sources", [])
    memory_profiler.register_memory_source(lambda: [(0, "SNode S0root", None), (1, "S1dynamic", 4096)])
    with pytest.raises(QuadrantsRuntimeError):
        profiler.print_memory_profiler_info()
    session.init()
    capsys.readouterr()
    profiler.print_memory_profiler_info()
    assert capsys.readouterr().out.splitlines() == [
        "",
        "[Memory Profiler]",
        "SNode S0root",
        "    S1dynamic  4096 B",
        "Total requested dynamic memory (excluding alignment padding): 4096 B",
    ]


def test_timeline(tmp_path):
    path = tmp_path / "t.json"
    session.init(timeline=True, kernel_profiler=True)
    with profiler.scope("emit"):
        pass
    profiler.kernel_records.append("task", 2.0, 0.5)
    timeline.timeline_save(path)
    events = {e["name"]: e for e in json.loads(path.read_text())}
    assert set(events) == {"emit", "task"}
    assert (events["task"]["ts"], events["task"]["dur"], events["task"]["ph"]) == (2e6, 5e5, "X")
    timeline.timeline_clear()
    timeline.timeline_save(path)
    assert json.loads(path.read_text()) == []
    session.init()
    with profiler.scope("unrecorded"):
        pass
    timeline.timeline_save(path)
    assert json.loads(path.read_text()) == []


def test_warnings_go_through_the_replaceable_logger(monkeypatch):
    seen = []
    monkeypatch.setattr(_logging, "warn", seen.append)
    profiler.print_kernel_profiler_info()
    assert seen == [OFF]
