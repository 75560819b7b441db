"""Lines of a PDF page, built from glyphs: text, place, size, weight, and which characters are raised marks.

PDFium breaks a line wherever a footnote mark or a detached accent stands. Here a line is what the eye sees as one:
glyphs on one baseline without a gap wider than a column gutter, raised marks included.
"""

import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackroom.biblio.pdf_glyphs import Glyph, PageFrame, page_frame, read_glyphs

MARK_OPEN, MARK_CLOSE = "\u2e28", "\u2e29"
"""Enclose raised marks (affiliation numbers, footnote signs) in :attr:`Line.marked`. No font of a paper uses them."""

_ACCENTS = {
    "\u02d8": "\u0306", "\u00b4": "\u0301", "\u00a8": "\u0308", "\u0060": "\u0300", "\u02c6": "\u0302",
    "\u02dc": "\u0303", "\u00b8": "\u0327", "\u02c7": "\u030c", "\u02d9": "\u0307", "\u02da": "\u030a",
    "\u02dd": "\u030b", "\u02db": "\u0328", "\u00af": "\u0304", "\u02ca": "\u0301", "\u02cb": "\u0300",
}  # fmt: skip
"""Accents that TeX draws beside or over a letter, with the combining form."""

_SAME_BASELINE = 0.25
_RAISED = 0.75
_WORD_GAP = 0.17
_COLUMN_GAP = 1.6
"""All in units of the font size. Word gaps in justified text stay below 1; gutters are above 1.8."""


@dataclass
class Line:
    """One line of a page, in points, origin top left."""

    text: str
    marked: str
    """The same text with raised marks enclosed in :data:`MARK_OPEN` and :data:`MARK_CLOSE`."""
    left: float
    top: float
    right: float
    bottom: float
    size: float
    bold: bool
    font: str = ""
    rotated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the line as plain values; what is empty or false is left out."""
        box = [round(value, 1) for value in (self.left, self.top, self.right, self.bottom)]
        row: dict[str, Any] = {"text": self.text, "box": box, "size": round(self.size, 1)}
        extra = {
            "marked": self.marked if self.marked != self.text else "",
            "bold": self.bold,
            "font": self.font,
            "rotated": self.rotated,
        }
        return row | {key: value for key, value in extra.items() if value}


@dataclass
class _Run:
    """Glyphs that belong to one line, while it is being put together."""

    glyphs: list[Glyph] = field(default_factory=list)
    size: float = 0.0
    baseline: float = 0.0

    def add(self, glyph: Glyph) -> None:
        self.glyphs.append(glyph)
        # The line's size and baseline are those of its largest glyphs: a line may begin with a raised mark.
        if glyph.size > self.size * 1.02:
            self.size, self.baseline = glyph.size, glyph.baseline

    @property
    def left(self) -> float:
        return min(glyph.left for glyph in self.glyphs)

    @property
    def right(self) -> float:
        return max(glyph.right for glyph in self.glyphs)


def read_lines(page: Any, max_lines: int = 250) -> tuple[PageFrame, list[Line]]:
    """Return the frame and the lines of a ``pypdfium2.PdfPage``, in the order of the file.

    Args:
        page: the page.
        max_lines: lines after which reading stops.
    """
    frame = page_frame(page)
    runs: list[_Run] = []
    for glyph in read_glyphs(page, frame):
        if runs and glyph.text in _ACCENTS and _compose(runs[-1], glyph):
            continue
        if not runs or not _continues(runs[-1], glyph):
            runs.append(_Run())
        runs[-1].add(glyph)
    return frame, [_line(run) for run in drop_line_numbers(_join_neighbours(runs))[:max_lines]]


def _continues(run: _Run, glyph: Glyph) -> bool:
    """Whether a glyph carries on the line that the previous glyphs form."""
    last = run.glyphs[-1]
    if last.rotated or glyph.rotated:
        return last.rotated and glyph.rotated and abs(last.left - glyph.left) < 2 * run.size
    if abs(glyph.left - last.left) < 0.1 and abs(glyph.baseline - last.baseline) < 0.1:
        return True  # a ligature: PDFium gives each of its letters the box of the whole
    size = max(run.size, glyph.size)
    gap = glyph.left - last.right
    if not -0.6 * size < gap < _COLUMN_GAP * size:
        return False
    return _on_line(run.baseline, run.size, glyph.baseline, glyph.size)


def _on_line(baseline: float, size: float, other_baseline: float, other_size: float) -> bool:
    """Whether two baselines belong to one line: the same, or one a raised or lowered mark of the other."""
    shift = abs(baseline - other_baseline)
    if shift < _SAME_BASELINE * min(size, other_size):
        return True
    return min(size, other_size) < 0.85 * max(size, other_size) and shift < _RAISED * max(size, other_size)


def _compose(run: _Run, accent: Glyph) -> bool:
    """Put a detached accent onto the letter it is drawn over; False when there is none."""
    middle = (accent.left + accent.right) / 2
    for glyph in reversed(run.glyphs):
        over = glyph.left <= middle <= glyph.right and abs(glyph.baseline - accent.baseline) < glyph.size
        if over and glyph.text.isalpha():
            base = "i" if glyph.text == "\u0131" else glyph.text
            glyph.text = unicodedata.normalize("NFC", base + _ACCENTS[accent.text])
            return True
    return False


def _join_neighbours(runs: list[_Run]) -> list[_Run]:
    """Join runs that lie side by side on one line though the file draws them apart (marks drawn last, for example)."""
    joined: list[_Run] = []
    for run in runs:
        target = next((other for other in reversed(joined[-12:]) if _adjacent(other, run)), None)
        if target is None:
            joined.append(run)
            continue
        for glyph in run.glyphs:
            target.add(glyph)
        target.glyphs.sort(key=lambda glyph: glyph.left)
    return joined


def _adjacent(first: _Run, second: _Run) -> bool:
    if first.glyphs[0].rotated or second.glyphs[0].rotated:
        return False
    if not _on_line(first.baseline, first.size, second.baseline, second.size):
        return False
    size = max(first.size, second.size)
    gap = max(second.left - first.right, first.left - second.right)
    # A mark may lie inside the line (the gap left free for it); whole lines must not overlap.
    inside = len(second.glyphs) <= 4 and second.size < 0.85 * first.size
    return gap < _COLUMN_GAP * 0.6 * size and (gap > -0.3 * size or inside)


def drop_line_numbers(runs: list[_Run]) -> list[_Run]:
    """Return runs without the line numbers that drafts carry in the margin.

    They are small figures at the start of a line (or alone) that count up by one down the page; fewer than six in a
    row are taken for something else.
    """
    numbered = [(run, count) for run in runs if (count := _leading_figures(run))]
    numbered.sort(key=lambda pair: pair[0].baseline)
    values = [int("".join(glyph.text for glyph in run.glyphs[:count])) for run, count in numbered]
    steps = sum(later - earlier == 1 for earlier, later in itertools.pairwise(values))
    if steps < max(5, 0.7 * (len(values) - 1)):
        return runs
    for run, count in numbered:
        del run.glyphs[:count]
    return [run for run in runs if run.glyphs]


def _leading_figures(run: _Run) -> int:
    """Return how many small figures the run begins with; 0 when they are part of its text."""
    count = 0
    for glyph in run.glyphs[:4]:
        if not (glyph.text.isdecimal() and glyph.text.isascii() and glyph.size < 0.75 * max(run.size, 7.0)):
            break
        count += 1
    return count


def _line(run: _Run) -> Line:
    glyphs = run.glyphs
    sizes = Counter(round(glyph.size * 2) / 2 for glyph in glyphs)
    size = sizes.most_common(1)[0][0]
    fonts = Counter(glyph.font for glyph in glyphs)
    return Line(
        text=_text(glyphs, run, marks=False),
        marked=_text(glyphs, run, marks=True),
        left=run.left,
        top=min(glyph.top for glyph in glyphs),
        right=run.right,
        bottom=max(glyph.bottom for glyph in glyphs),
        size=size,
        bold=sum(glyph.bold for glyph in glyphs) * 2 > len(glyphs),
        font=fonts.most_common(1)[0][0],
        rotated=glyphs[0].rotated,
    )


def _text(glyphs: Sequence[Glyph], run: _Run, marks: bool) -> str:
    parts: list[str] = []
    previous: Glyph | None = None
    raised = False
    for glyph in glyphs:
        is_mark = marks and _is_mark(glyph, run)
        if raised and not is_mark:
            parts.append(MARK_CLOSE)
        if previous is not None and _space_between(previous, glyph):
            parts.append(" ")
        if is_mark and not raised:
            parts.append(MARK_OPEN)
        raised = is_mark
        parts.append(glyph.text)
        previous = glyph
    if raised:
        parts.append(MARK_CLOSE)
    return unicodedata.normalize("NFC", "".join(parts)).strip()


def _is_mark(glyph: Glyph, run: _Run) -> bool:
    return glyph.size < 0.85 * run.size and run.baseline - glyph.baseline > 0.15 * run.size


def _space_between(previous: Glyph, glyph: Glyph) -> bool:
    if previous.rotated or glyph.rotated:
        return glyph.space_before
    gap = glyph.left - previous.right
    size = min(previous.size, glyph.size)
    return (glyph.space_before and gap > 0.02 * size) or gap > _WORD_GAP * max(size, 1.0)


def lines_to_json(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Return lines as plain values, empty ones left out."""
    return [line.to_json() for line in lines if line.text]
