"""The small markup in which the handbook's texts are written: a header of ``key: value`` lines, then blocks.

Blocks are separated by blank lines: ``# heading``, ``## heading``, paragraphs, ``- list`` lines, fenced code,
``Table: caption`` followed by ``| cell |`` lines, ``Figure: name: caption``, and ``---`` for a new page. Inside a
paragraph, `` `code` `` and ``*emphasis*`` are marked. Knows nothing of any output format.
"""

import datetime as dt
import re
from dataclasses import dataclass, field
from pathlib import Path

TEXTS = Path(__file__).resolve().parent / "texts"


@dataclass(frozen=True)
class Block:
    """One piece of a document; ``kind`` is heading, paragraph, list, code, table, figure or page."""

    kind: str
    text: str = ""
    level: int = 0
    items: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Document:
    """A text of the handbook with its bibliographic header."""

    title: str
    authors: tuple[str, ...]
    year: int
    part: str
    keywords: tuple[str, ...]
    abstract: str
    blocks: tuple[Block, ...] = field(default_factory=tuple)

    @property
    def byline(self) -> str:
        """Authors in one line."""
        return " and ".join(self.authors)

    @property
    def seconds(self) -> int:
        """When the document counts as made: the first of January of its year, in seconds since 1970."""
        return int(dt.datetime(self.year, 1, 1, 12, tzinfo=dt.UTC).timestamp())


def read_document(name: str) -> Document:
    """Read ``texts/<name>.md``."""
    header, _, body = (TEXTS / f"{name}.md").read_text(encoding="utf-8").partition("\n\n")
    values = dict(re.split(r":\s*", line, maxsplit=1) for line in header.splitlines())
    return Document(
        title=values["title"],
        authors=tuple(part.strip() for part in values["authors"].split(";")),
        year=int(values["year"]),
        part=values["part"],
        keywords=tuple(part.strip() for part in values["keywords"].split(";")),
        abstract=values["abstract"],
        blocks=tuple(_blocks(body)),
    )


def _blocks(body: str):
    lines = iter(body.splitlines())
    for line in lines:
        if line.startswith("```"):
            yield Block("code", text="\n".join(iter(lambda: next(lines), "```")))
        elif line.startswith("#"):
            marks, _, text = line.partition(" ")
            yield Block("heading", text=text, level=len(marks))
        elif line == "---":
            yield Block("page")
        elif line.startswith("Table: "):
            yield Block("table", text=line.removeprefix("Table: "), rows=tuple(_rows(lines)))
        elif line.startswith("Figure: "):
            _, name, caption = line.split(": ", 2)
            yield Block("figure", text=caption, items=(name,))
        elif line.startswith("- "):
            yield Block("list", items=(line[2:], *(item[2:] for item in _until_blank(lines))))
        elif line.strip():
            yield Block("paragraph", text=line)


def _until_blank(lines):
    for line in lines:
        if not line.strip():
            return
        yield line


def _rows(lines):
    for line in _until_blank(lines):
        yield tuple(cell.strip() for cell in line.strip("|").split("|"))


def spans(text: str) -> list[tuple[str, str]]:
    """Split a paragraph into (style, text) pairs; style is plain, code or emphasis."""
    pairs = []
    for part in re.split(r"(`[^`]+`|\*[^*]+\*)", text):
        if part.startswith("`"):
            pairs.append(("code", part[1:-1]))
        elif part.startswith("*") and len(part) > 1:
            pairs.append(("emphasis", part[1:-1]))
        elif part:
            pairs.append(("plain", part))
    return pairs
