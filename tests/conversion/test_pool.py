"""The pool with workers that die in every way: only the file in hand may suffer, and nothing may hang."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from stackroom.config import LimitSettings
from stackroom.conversion.pool import WorkerPool, worker_count, worker_spec
from stackroom.conversion.process import WorkerSpec
from stackroom.errors import ConfigError, ConversionError
from stackroom.outcome import Failed, ReasonCode

WORKERS = Path(__file__).parent / "workers"


@pytest.fixture(autouse=True)
def odd_workers(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(WORKERS))


def spec(**values):
    defaults = {"module": "odd_worker", "options": {}, "memory_mb": 512, "deadline_seconds": 20.0}
    return WorkerSpec(**{**defaults, **values})


@pytest.fixture
def pool():
    with WorkerPool(spec(), workers=2, files_per_worker=50) as pool:
        yield pool


def ask(pool, do, **values):
    return pool.run({"do": do, **values})


def test_a_request_is_answered(pool):
    assert ask(pool, "echo", say="grüße \ud800 😀")["said"] == "grüße \ud800 😀"


def test_a_worker_is_used_again(pool):
    assert ask(pool, "echo")["pid"] == ask(pool, "echo")["pid"]


def test_workers_are_replaced_after_their_share_of_files():
    with WorkerPool(spec(), workers=1, files_per_worker=2) as pool:
        pids = [ask(pool, "echo")["pid"] for _ in range(5)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


def test_workers_get_their_share_of_cores_and_stay_offline(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with WorkerPool(spec(threads=3), workers=1, files_per_worker=9) as pool:
        assert ask(pool, "threads") == {"omp": "3", "offline": "1"}


@pytest.mark.parametrize(
    ("do", "evidence"),
    [
        ("kill", {"signal": "SIGKILL", "attempts": 2}),
        ("segfault", {"signal": "SIGSEGV", "attempts": 2}),
        ("exit", {"exit_code": 3, "attempts": 2}),
    ],
)
def test_a_crash_is_tried_once_more_and_then_blamed_on_the_file(pool, do, evidence):
    failed = ask(pool, do)
    assert isinstance(failed, Failed)
    assert failed.reason is ReasonCode.CRASHED
    assert {key: failed.evidence[key] for key in evidence} == evidence


def test_what_a_dying_worker_said_is_kept_as_evidence(pool):
    assert "the model file is broken" in ask(pool, "exit").evidence["stderr"]
    assert "Segmentation fault" in ask(pool, "segfault").evidence["stderr"]


def test_a_crash_with_an_outside_cause_costs_nothing(pool, tmp_path):
    before = ask(pool, "echo")["pid"]
    assert ask(pool, "once", flag=str(tmp_path / "flag"))["pid"] != before


def test_a_worker_that_hangs_in_native_code_is_killed_at_its_deadline():
    with WorkerPool(spec(deadline_seconds=1.0), workers=1, files_per_worker=9) as pool:
        started = time.monotonic()
        failed = ask(pool, "hang")
        assert failed.reason is ReasonCode.TIMEOUT
        assert failed.evidence["attempts"] == 1  # it had a worker of its own: a second try would only hang again
        assert time.monotonic() - started < 5
        assert ask(pool, "echo", say=1)["said"] == 1


def test_a_file_that_kills_its_worker_is_tried_once_more_another_way(pool):
    assert pool.run({"do": "segfault"}, cautiously={"do": "echo", "say": "alive"})["said"] == "alive"
    with WorkerPool(spec(deadline_seconds=0.5), workers=1, files_per_worker=9) as hasty:
        assert hasty.run({"do": "hang"}, cautiously={"do": "echo", "say": "done"})["said"] == "done"


def test_a_worker_killed_from_outside_is_no_reason_to_try_another_way(pool, tmp_path):
    flag = str(tmp_path / "flag")
    assert "pid" in pool.run({"do": "once", "flag": flag}, cautiously={"do": "fail"})


def test_a_file_that_hangs_in_a_used_worker_gets_a_fresh_one():
    with WorkerPool(spec(deadline_seconds=1.0), workers=1, files_per_worker=9) as pool:
        ask(pool, "echo")
        assert ask(pool, "hang").evidence["attempts"] == 2


def test_pages_extend_the_deadline():
    with WorkerPool(spec(deadline_seconds=0.5, deadline_seconds_per_page=0.2), workers=1, files_per_worker=9) as pool:
        steps = [{"pages": 5, "seconds": 0.8}, {"pages": 5, "seconds": 0.8}]
        assert ask(pool, "announce_then_sleep", pages=10, steps=steps) == {"steps": 2}


def test_a_step_that_hangs_is_found_out_long_before_the_deadline_of_a_large_file():
    with WorkerPool(spec(deadline_seconds=0.5, deadline_seconds_per_page=0.1), workers=1, files_per_worker=9) as pool:
        started = time.monotonic()
        steps = [{"pages": 5, "seconds": 60}]
        failed = ask(pool, "announce_then_sleep", pages=5000, steps=steps)
        assert failed.reason is ReasonCode.TIMEOUT
        assert failed.evidence["progress"] == {"pages": 5000, "step_pages": 5}
        assert time.monotonic() - started < 5


def test_endless_allocation_is_stopped_while_it_happens():
    with WorkerPool(spec(memory_mb=300), workers=1, files_per_worker=9) as pool:
        failed = ask(pool, "hoard")
        assert failed.reason is ReasonCode.OUT_OF_MEMORY
        assert 300 < failed.evidence["peak_memory_mb"] < 3000
        assert ask(pool, "echo", say=1)["said"] == 1


def test_one_giant_allocation_is_refused_and_blamed_on_memory(pool):
    failed = ask(pool, "ask_too_much")
    assert failed.reason is ReasonCode.OUT_OF_MEMORY
    assert "MemoryError" in failed.evidence["traceback"]


def test_an_exception_in_a_worker_is_an_internal_error_and_keeps_the_worker(pool):
    before = ask(pool, "echo")["pid"]
    failed = ask(pool, "fail")
    assert failed.reason is ReasonCode.INTERNAL_ERROR
    assert failed.evidence["type"] == "ValueError"
    assert "this page has no size" in failed.message
    assert ask(pool, "echo")["pid"] == before


def test_a_worker_that_talks_without_end_is_listened_to(pool):
    assert "pid" in ask(pool, "chatter")


def test_a_worker_that_sends_garbage_is_not_believed(pool):
    failed = ask(pool, "garbage")
    assert isinstance(failed, Failed)
    assert failed.reason is ReasonCode.CRASHED


def test_only_the_file_in_hand_suffers():
    requests = [{"do": "echo", "say": number} for number in range(12)]
    for position, do in ((2, "kill"), (5, "segfault"), (8, "hang")):
        requests[position] = {"do": do}
    made = WorkerPool(spec(deadline_seconds=1.5), workers=2, files_per_worker=50)
    with made as pool, ThreadPoolExecutor(4) as executor:
        answers = list(executor.map(pool.run, requests))
    failed = {index: answer.reason.value for index, answer in enumerate(answers) if isinstance(answer, Failed)}
    assert failed == {2: "crashed", 5: "crashed", 8: "timeout"}
    assert [answers[index]["said"] for index in (0, 1, 3, 4, 6, 7, 9, 10, 11)] == [0, 1, 3, 4, 6, 7, 9, 10, 11]


def test_a_worker_killed_while_idle_is_replaced(pool):
    pid = ask(pool, "echo")["pid"]
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=5)
    assert ask(pool, "echo")["pid"] != pid


def test_a_limit_that_no_worker_can_meet_is_an_error_at_start():
    with pytest.raises(ConfigError, match="worker_memory_mb: 200 is less than a worker process needs"):
        WorkerPool(spec(memory_mb=200, options={"fat_mb": 300}), workers=1, files_per_worker=9)


def test_a_worker_that_does_not_start_is_an_error_that_says_why():
    with pytest.raises(ConversionError, match="no model here"):
        WorkerPool(spec(options={"dies": True}), workers=1, files_per_worker=9)


def test_a_worker_is_prepared_once_and_only_for_requests_that_need_it(pool):
    assert ask(pool, "prepared_times")["times"] == 0
    first = pool.run({"do": "prepared_times"}, prepared=True)
    assert first["times"] == 1
    assert pool.run({"do": "prepared_times"}, prepared=True) == first
    fresh = pool.run_fresh({"do": "prepared_times"}, prepared=True)
    assert (fresh["times"], fresh["pid"] != first["pid"]) == (1, True)


def test_models_that_cannot_be_loaded_are_no_fault_of_the_file():
    with WorkerPool(spec(options={"model_missing": True}), workers=1, files_per_worker=9) as pool:
        for _ in range(2):
            with pytest.raises(ConversionError, match=r"could not load its models: .*\n[\s\S]*no model\.onnx here"):
                pool.run({"do": "prepared_times"}, prepared=True)
        assert ask(pool, "prepared_times")["times"] == 0


def test_a_limit_that_the_models_exceed_is_an_error_of_the_settings():
    with WorkerPool(spec(memory_mb=250, options={"model_mb": 300}), workers=1, files_per_worker=9) as pool:
        with pytest.raises(ConfigError, match="worker_memory_mb: 250 is less than a worker process needs"):
            pool.run({"do": "prepared_times"}, prepared=True)
        assert ask(pool, "prepared_times")["times"] == 0


def test_a_closed_pool_refuses_work_and_ends_what_is_running():
    pool = WorkerPool(spec(), workers=1, files_per_worker=9)
    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(ask, pool, "sleep", seconds=60)
        time.sleep(0.5)
        pool.close()
        assert isinstance(running.exception() or running.result(), (ConversionError, Failed))
    with pytest.raises(ConversionError, match="closed"):
        ask(pool, "echo")


def test_workers_outlive_the_thread_that_needed_them_first(pool):
    # Linux would kill a worker with the thread that started it.
    pids = []
    thread = threading.Thread(target=lambda: pids.append(ask(pool, "echo")["pid"]))
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert ask(pool, "echo")["pid"] == pids[0]


PARENT = """
    import sys, threading
    open(sys.argv[1], "a").write("imported\\n")
    from stackroom.conversion.pool import WorkerPool
    from stackroom.conversion.process import WorkerSpec
    pool = WorkerPool(WorkerSpec("odd_worker", {}, 512), workers=1, files_per_worker=9)
    print(pool.run({"do": "echo"})["pid"], flush=True)
    threading.Thread(target=pool.run, args=({"do": "hang"},)).start()
    print("busy", flush=True)
"""


def test_workers_die_with_their_parent_and_never_run_its_main_module(tmp_path):
    script, log = tmp_path / "parent.py", tmp_path / "log"
    script.write_text(textwrap.dedent(PARENT))
    parent = subprocess.Popen([sys.executable, script, log], stdout=subprocess.PIPE, text=True)
    worker = psutil.Process(int(parent.stdout.readline()))
    assert parent.stdout.readline() == "busy\n"
    time.sleep(0.5)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert psutil.wait_procs([worker], timeout=5)[1] == []
    assert log.read_text() == "imported\n"


def test_memory_and_cores_decide_how_many_workers_there_are():
    limits = LimitSettings(memory_budget_mb=6144, worker_memory_mb=2048)
    assert worker_count(limits, cores=16) == 3
    assert worker_count(limits, cores=2) == 2
    assert worker_count(limits.model_copy(update={"workers": 1}), cores=16) == 1
    assert worker_count(limits.model_copy(update={"workers": 9}), cores=16) == 3


def test_limits_reach_the_workers():
    limits = LimitSettings(workers=1, worker_memory_mb=777, deadline_seconds=5, deadline_seconds_per_page=2)
    made = worker_spec("module", {"a": 1}, limits)
    assert (made.memory_mb, made.deadline_seconds, made.deadline_seconds_per_page) == (777, 5, 2)
    assert made.threads == len(os.sched_getaffinity(0))
