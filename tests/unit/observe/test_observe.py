"""Clocks, counters, events and progress."""

import doctest
import io
import subprocess
import sys

import pytest

from cobnut.observe import counters, events, progress
from cobnut.observe.clock import Clock, SystemClock
from cobnut.observe.events import EventLog, read_events
from cobnut.observe.progress import Progress, ProgressState, duration, render
from cobnut.testing import clock as virtual
from cobnut.testing.clock import VirtualClock


@pytest.mark.parametrize("module", [counters, events, progress, virtual])
def test_examples(module):
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def test_the_system_clock_runs():
    clock: Clock = SystemClock()
    before, started = clock.now_ms(), clock.monotonic()
    clock.sleep(0.01)
    clock.sleep(-1)
    assert clock.now_ms() >= before > 1_700_000_000_000
    assert clock.monotonic() - started >= 0.01


def test_the_virtual_clock_moves_only_when_told():
    clock = VirtualClock(now_ms=0)
    clock.sleep(3600)
    clock.advance(0.5)
    clock.sleep(-5)
    assert (clock.now_ms(), clock.monotonic(), clock.slept) == (3_600_500, 3600.5, [3600, -5])
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


def test_counters_of_several_processes_add_up():
    one, two = counters.Counters(), counters.Counters({"fetch.pages": 5})
    one.add("fetch.pages", 3)
    one.add("fetch.failed", reason="timeout")
    one.add("fetch.failed_hosts")
    one.merge(two.snapshot())
    assert one.snapshot() == {"fetch.failed:timeout": 1, "fetch.failed_hosts": 1, "fetch.pages": 8}
    assert one.total("fetch.failed") == 1


def test_events_survive_a_cut_line_and_odd_values(tmp_path):
    path = tmp_path / "events.jsonl"
    with EventLog(path, VirtualClock(now_ms=1_000)) as log:
        log.write("fetch", url="http://a.test/ü\ud800", folder=tmp_path)
    with path.open("a") as file:
        file.write('{"at": "cut')
    with EventLog(path, VirtualClock(now_ms=2_000)) as log:
        log.write("parse")
        log.write("updatedb")
    found = list(read_events(path))
    assert [record["event"] for record in found] == ["fetch", "parse", "updatedb"]
    assert found[0]["at"] == "1970-01-01T00:00:01.000Z"
    assert found[0]["folder"] == str(tmp_path)


def test_plain_progress_writes_a_line_every_five_seconds():
    clock, stream = VirtualClock(), io.StringIO()
    shown = Progress(stream, clock, is_terminal=False)
    for second in range(23):
        shown.update(ProgressState(pages=second * 100, queue=50, reasons={"timeout": second}))
        clock.advance(1)
    shown.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 5
    assert lines[0] == "500 pages, 100/s, 50 waiting, 1 s left | timeout 5"
    assert lines[-1].startswith("2,200 pages, ")


def test_a_short_plain_run_writes_nothing():
    stream = io.StringIO()
    shown = Progress(stream, VirtualClock(), is_terminal=False)
    shown.update(ProgressState(pages=10))
    shown.close()
    assert stream.getvalue() == ""


def test_terminal_progress_stays_in_place_and_ends_with_the_last_state():
    clock, stream = VirtualClock(), io.StringIO()
    shown = Progress(stream, clock, is_terminal=True)
    for pages in (1, 2, 3):
        shown.update(ProgressState(pages=pages))
        clock.advance(0.05)
    shown.close()
    assert "1 page," in stream.getvalue()
    assert "2 pages" not in stream.getvalue()
    assert "3 pages" in stream.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_closed_stream_ends_the_progress_and_not_the_run(is_terminal):
    clock, stream = VirtualClock(), io.StringIO()
    shown = Progress(stream, clock, is_terminal)
    clock.advance(10)
    stream.close()
    shown.update(ProgressState(pages=1))
    clock.advance(10)
    shown.update(ProgressState(pages=2))
    shown.close()


def test_the_rate_follows_the_last_ten_seconds():
    clock, stream = VirtualClock(), io.StringIO()
    shown = Progress(stream, clock, is_terminal=False)
    pages = 0
    for second in range(61):
        shown.update(ProgressState(pages=pages))
        pages += 100 if second < 30 else 1
        clock.advance(1)
    assert stream.getvalue().splitlines()[-1].startswith("3,030 pages, 1.0/s")


def test_time_left_is_the_nearest_of_queue_page_limit_and_time_limit():
    assert "10 s left" in render(ProgressState(queue=100), 1, 10.0)
    assert "5 s left" in render(ProgressState(pages=50, queue=100, page_limit=100), 1, 10.0)
    assert "3 s left" in render(ProgressState(queue=100, time_limit_s=4), 1, 10.0)
    assert "left" not in render(ProgressState(queue=100), 1, 0.0)


def test_many_reasons_are_summed_up():
    line = render(ProgressState(reasons={f"http_{400 + i}": 10 - i for i in range(8)}), 1, 1)
    assert line.endswith("| http_400 10, http_401 9, http_402 8, http_403 7, other 18")


def test_durations_round_down_to_two_units():
    assert [duration(s) for s in (60, 3600, 3599.6, 86_400 * 3)] == ["1 min", "1 h", "1 h", "3 d"]


def test_progress_imports_no_heavy_library():
    code = (
        "import sys, cobnut.observe.progress as p; print(p.duration(1), 'rich' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1 s False False\n"
