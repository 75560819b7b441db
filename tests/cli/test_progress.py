"""The display of an ingestion: a bar on a terminal, one line a file elsewhere."""

import io

import pytest
from rich.console import Console

from stackroom.cli.events import DoneEvent, FileEvent, PlanEvent, parse_event
from stackroom.cli.progress import Pace, clock, display, file_line, speed


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (754, "12:34"), (7322, "2:02:02")])
def test_a_duration_reads_like_a_clock(seconds, shown):
    assert clock(seconds) == shown


def test_the_time_left_follows_the_pages():
    pace = Pace()
    pace.plan(PlanEvent(files=2, unchanged=0, pages=100))
    pace._start -= 10
    pace.file(FileEvent("long.pdf", "searchable", pages=20))
    assert pace.in_words() == "2.0 pages/s, 0:40 left"


def test_without_pages_the_time_left_follows_the_files():
    pace = Pace()
    pace.plan(PlanEvent(files=4, unchanged=0, pages=None))
    assert pace.in_words() == ""
    pace._start -= 5
    pace.file(FileEvent("a.md", "searchable"))
    assert pace.in_words() == "0:15 left"


@pytest.mark.parametrize(
    ("pages_per_second", "shown"),
    [(4.06, "4.1 pages/s"), (0.5, "0.5 pages/s"), (0.2, "12 pages/min"), (0.01, "0.6 pages/min"), (0, "0.1 pages/min")],
)
def test_a_slow_pace_is_given_per_minute(pages_per_second, shown):
    assert speed(pages_per_second) == shown


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    screen = Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)
    with display(screen) as shown:
        shown.plan(PlanEvent(2, 0, None))
        shown.file(FileEvent("fine.pdf", "searchable", pages=1, chunks=1))
    assert screen.file.getvalue().startswith("1/2 searchable fine.pdf (1 page, 1 chunk) · ")


def test_a_file_name_can_neither_style_nor_drive_the_terminal():
    line = file_line(FileEvent("[bold]a\x1b[2J\nb.pdf", "quarantined", "corrupt", "[link]broken"))
    screen = Console(file=io.StringIO(), width=200)
    screen.print(line)
    assert screen.file.getvalue() == "quarantined [bold]a\\x1b[2J\\nb.pdf: corrupt, [link]broken\n"


def test_on_a_terminal_only_troubled_files_get_a_line_of_their_own():
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    with display(screen) as shown:
        shown.plan(PlanEvent(2, 0, None))
        shown.file(FileEvent("fine.pdf", "searchable"))
        shown.file(FileEvent("bad.pdf", "quarantined", "corrupt", "the file is cut off"))
    printed = screen.file.getvalue()
    assert "the file is cut off" in printed
    assert "2/2" in printed


def test_a_done_event_carries_the_failed_files():
    event = parse_event(
        '{"event":"done","ok":false,"searchable":1,"partial":0,"quarantined":1,"seconds":2,"converted":1,"embedded":3,'
        '"failed":[{"source_id":"x","reason":"empty"}]}'
    )
    assert event == DoneEvent(
        ok=False,
        searchable=1,
        partial=0,
        quarantined=1,
        failed=(FileEvent("x", "quarantined", "empty"),),
        seconds=2.0,
        converted=1,
        embedded=3,
    )


@pytest.mark.parametrize(
    "line", ["", "hello", "[1]", "{}", '{"event":"plan"}', '{"event":"file","source_id":1}', "nul"]
)
def test_a_line_that_is_no_event_is_none(line):
    assert parse_event(line) is None
