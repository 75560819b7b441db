"""Shows how an ingestion goes on: a bar on a terminal, lines everywhere else."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn

from stackroom.cli.events import FileEvent, PlanEvent
from stackroom.cli.output import safe
from stackroom.words import count

NAME_WIDTH = 36
"""Columns for the name of the file in the line of the bar."""


class Display(Protocol):
    """What the ingest command tells while it goes on."""

    def plan(self, event: PlanEvent) -> None:
        """Say how much there is to do."""

    def file(self, event: FileEvent) -> None:
        """Say that a file is done."""

    def note(self, message: str) -> None:
        """Say something else."""


class Pace:
    """Counts what is done and says how fast it goes and how long the rest will take."""

    def __init__(self) -> None:
        self.files, self.pages, self.total_files = 0, 0, 0
        self.total_pages: int | None = None
        self._start = time.monotonic()

    def plan(self, event: PlanEvent) -> None:
        """Note how much there is to do, and start the clock."""
        self.total_files, self.total_pages = event.files, event.pages
        self._start = time.monotonic()

    def file(self, event: FileEvent) -> None:
        """Count a file."""
        self.files += 1
        self.pages += event.pages or 0

    def in_words(self) -> str:
        """Return, for instance, ``4.1 pages/s, 1:20 left``; empty while nothing is known."""
        elapsed = max(time.monotonic() - self._start, 1e-6)
        parts = [speed(self.pages / elapsed)] if self.pages else []
        share = self._share_done()
        if 0 < share < 1:
            parts.append(f"{clock(elapsed / share - elapsed)} left")
        return ", ".join(parts)

    def _share_done(self) -> float:
        # Pages say more about the time left than files; but formats without pages count too, hence the file share
        # where no page number is known.
        if self.total_pages:
            return min(self.pages / self.total_pages, 1.0)
        return self.files / self.total_files if self.total_files else 0.0


def speed(pages_per_second: float) -> str:
    """Return ``4.1 pages/s``, or ``3 pages/min`` for what is slower than a page in two seconds."""
    if pages_per_second >= 0.5:
        return f"{pages_per_second:.1f} pages/s"
    per_minute = pages_per_second * 60
    return f"{per_minute:.0f} pages/min" if per_minute >= 1.5 else f"{max(per_minute, 0.1):.1f} pages/min"


def clock(seconds: float) -> str:
    """Return a duration as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def display(console: Console, unit: str = "chunk") -> Iterator[Display]:
    """Give a bar if the console is a terminal that can move its cursor, lines otherwise.

    Args:
        console: where to.
        unit: what a file is made of.
    """
    if not console.is_terminal or console.is_dumb_terminal:
        yield _Lines(console, unit)
        return
    progress = Progress(
        SpinnerColumn(),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("files"),
        TextColumn("[cyan]{task.fields[pace]}"),
        TextColumn("[dim]{task.description}"),
        console=console,
        transient=True,
    )
    with progress:
        yield _Bar(progress, unit)


class _Bar:
    def __init__(self, progress: Progress, unit: str) -> None:
        self._progress, self._pace, self._unit = progress, Pace(), unit
        self._task: TaskID = progress.add_task("looking at the files", total=None, pace="")

    def plan(self, event: PlanEvent) -> None:
        self._pace.plan(event)
        self._progress.update(self._task, total=event.files, description="starting")

    def file(self, event: FileEvent) -> None:
        self._pace.file(event)
        if event.state != "searchable":
            self._progress.console.print(file_line(event, self._unit), soft_wrap=True)
        name = event.source_id if len(event.source_id) <= NAME_WIDTH else f"…{event.source_id[1 - NAME_WIDTH :]}"
        self._progress.update(self._task, advance=1, pace=self._pace.in_words(), description=safe(name))

    def note(self, message: str) -> None:
        self._progress.console.print(safe(message), soft_wrap=True)


class _Lines:
    def __init__(self, console: Console, unit: str) -> None:
        self._console, self._pace, self._unit = console, Pace(), unit

    def plan(self, event: PlanEvent) -> None:
        self._pace.plan(event)

    def file(self, event: FileEvent) -> None:
        self._pace.file(event)
        done = f"{self._pace.files}/{self._pace.total_files}"
        pace = self._pace.in_words()
        self._console.print(f"{done} {file_line(event, self._unit)}{f' · {pace}' if pace else ''}", soft_wrap=True)

    def note(self, message: str) -> None:
        self._console.print(safe(message), soft_wrap=True)


def file_line(event: FileEvent, unit: str = "chunk") -> str:
    """Return one line, with rich's markup, about a file that is done; ``unit`` is what files are made of."""
    colour = {"searchable": "green", "partial": "yellow", "pending": "cyan"}.get(event.state, "red")
    details = [count(event.pages, "page")] if event.pages else []
    details += [count(event.chunks, unit)] if event.chunks is not None and not event.failed else []
    details += [f"{event.seconds:.1f} s"] if event.seconds is not None else []
    line = f"[{colour}]{event.state}[/] {safe(event.source_id)}"
    if details:
        line += f" ({', '.join(details)})"
    if event.reason:
        line += f": {safe(event.reason)}, {safe(event.message or 'no message')}"
    return line
