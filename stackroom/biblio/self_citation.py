"""The place where a paper says how it wants to be cited: "Cite this article as: …". It names DOI, year and journal."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from stackroom.biblio.title import join_lines
from stackroom.biblio.view import DocumentView, PageView, TextLine

_LABEL = re.compile(
    r"(?:^|\b)(?:(?:please\s+)?cite\s+this\s+(?:article|paper|work|chapter)(?:\s+as)?|how\s+to\s+cite(?:\s+this\s+\w+)?"
    r"|to\s+cite\s+this\s+(?:article|version|document|paper)|(?:recommended|suggested|preferred)\s+citation"
    r"|acm\s+reference\s+format|cite\s+as)\s*[:.]?\s*|^citation\s*:\s*",
    re.IGNORECASE,
)
_NEXT_LABEL = re.compile(
    r"^(?:submit your|editors?\b|academic editor|received|accepted|copyright|©|published\b|funding|keywords|subject"
    r"|permission to|this work is licensed|supplement|competing|author)",
    re.IGNORECASE,
)
_MAX_LINES = 8


@dataclass(frozen=True)
class SelfCitation:
    """What a paper says of how to cite it."""

    text: str
    lines: tuple[TextLine, ...]
    """The lines it was read from; a DOI on the line right before the label is among them."""


def self_citations(view: DocumentView) -> list[SelfCitation]:
    """Return the self-citations on the first pages and the last one."""
    pages = [*view.front, *([view.last] if view.last is not None else [])]
    return [citation for page in pages for citation in _page_citations(page, view)]


def _page_citations(page: PageView, view: DocumentView) -> list[SelfCitation]:
    found = []
    lines = [line for line in page.lines if not line.rotated]
    for index, line in enumerate(lines):
        match = _LABEL.search(line.text)
        if match is None or not _is_label(line.text, match):
            continue
        rest = _following(lines[index + 1 : index + 1 + _MAX_LINES], line)
        text = join_lines([line.text[match.end() :], *(item.text for item in rest)], view)
        before = [item for item in lines[max(0, index - 1) : index] if item.text.lower().startswith("doi")]
        text = " ".join([text, *(item.text for item in before)]).strip()
        found.append(SelfCitation(text, (line, *rest, *before)))
    return found


def _is_label(text: str, match: re.Match[str]) -> bool:
    """Whether the words are a label (at the line's beginning or end, or with a colon) and not part of a sentence."""
    return match.start() <= 25 or match.end() == len(text) or ":" in match.group()


def _following(lines: Sequence[TextLine], first: TextLine) -> list[TextLine]:
    rest: list[TextLine] = []
    previous = first
    for line in lines:
        if line.size > first.size + 1.5 or _NEXT_LABEL.match(line.text) or abs(line.left - first.left) > 80:
            break
        if not -2.0 < line.top - previous.top < 2.6 * max(first.size, 6.0):
            break
        rest.append(line)
        previous = line
    return rest
