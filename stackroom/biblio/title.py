"""Candidates for the title: the largest plausible lines of the first pages, metadata that the pages bear out."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stackroom.biblio.candidates import Candidate
from stackroom.biblio.doi_text import ends_open, find_dois
from stackroom.biblio.folding import fold, similarity, squash
from stackroom.biblio.journal_text import journals_in
from stackroom.biblio.junk import SECTION_LABELS, is_junk_title
from stackroom.biblio.names import parse_names
from stackroom.biblio.pdf_lines import MARK_CLOSE, MARK_OPEN
from stackroom.biblio.view import DocumentView, PageView, TextLine

_COVER = re.compile(
    r"multi-disciplinary open access|see discussions, stats, and author profiles|this is (?:the|an) (?:accepted|author)"
    r"|citation for published version|to cite this version|your use of the jstor archive|downloaded from orbit"
    r"|this version is available at|published version of (?:the|this)|please cite the (?:published|original)"
    r"|deposited in|self-archived|repository of|white rose|eprints|provided by core|document version"
    r"|general rights|take down policy|terms of use:? copyright",
    re.IGNORECASE,
)
"""Phrases of the covers that repositories put before a paper."""
_NOTICE = re.compile(
    r"this provisional pdf|will be made available soon|permission to make digital|all rights reserved|creative commons"
    r"|open access article|downloaded (?:from|by)|licensee|copyright|©|received:|accepted:|\bissn\b|https?://|www\.|@"
    r"|^\s*(?:vol(?:ume)?\.?|issue|no\.)\s*\d",
    re.IGNORECASE,
)
_VERSION_NOTE = re.compile(r"\s*\[(?:v\d+|version \d+)\s*;[^\]]*\]?(?P<rest>.*)$", re.IGNORECASE)
"""What open-review platforms add to a title: ``[version 2; peer review: 2 approved]``; on pages read by OCR the authors
may follow in the same paragraph."""
_NOTE_MARK = re.compile(f"\\s*{MARK_OPEN}(?:[^\\w{MARK_CLOSE}]{{1,3}}|[1a]){MARK_CLOSE}\\s*$")
_MAX_LINES = 8


@dataclass(frozen=True)
class TitleBlock:
    """Lines of one size that stand together, with the text they form."""

    text: str
    lines: tuple[TextLine, ...]
    score: float
    rest: str = ""
    """What follows the title in its last line: the authors, where OCR has run them together."""

    @property
    def page(self) -> int:
        """Page number, from 1."""
        return self.lines[0].page

    @property
    def bottom(self) -> float:
        """Lower edge in points."""
        return max(line.bottom for line in self.lines)


def is_cover(page: PageView) -> bool:
    """Whether a page is the cover of a repository and not of the work itself."""
    return page.number == 1 and _COVER.search(page.text) is not None


def title_blocks(view: DocumentView) -> list[TitleBlock]:
    """Return the blocks that may be the title, best first."""
    journals = _journals(view)
    blocks = [
        replace(block, score=block.score - 0.25 * (page.number - 1) * (not is_cover(view.pages[0])))
        for page in view.front[:2]
        for block in _page_blocks(view, page, journals)
    ]
    return sorted(blocks, key=lambda block: -block.score)


def _page_blocks(view: DocumentView, page: PageView, journals: frozenset[str]) -> Iterator[TitleBlock]:
    for lines in _groups(page):
        texts = [*(line.text for line in lines[:-1]), _without_note_mark(lines[-1])]
        whole = join_lines(texts, view)
        note = _VERSION_NOTE.search(whole)
        text, rest = (whole[: note.start()].strip(), note.group("rest").strip()) if note else (whole, "")
        if is_junk_title(text) or _NOTICE.search(text) or _is_number(text):
            continue
        yield TitleBlock(text, tuple(lines), _score(view, page, lines, text) - 1.5 * (squash(text) in journals), rest)


def _without_note_mark(line: TextLine) -> str:
    """Return the last line of a block without the footnote sign that titles often end with."""
    marked = _NOTE_MARK.sub("", line.marked)
    text = line.text if marked == line.marked else marked.replace(MARK_OPEN, "").replace(MARK_CLOSE, "")
    return text.rstrip("*\u2217†‡ ")


def _groups(page: PageView) -> list[list[TextLine]]:
    """Put lines of one size that follow one another closely into groups."""
    groups: list[list[TextLine]] = []
    upright = [line for line in page.lines if not line.rotated and not line.running and squash(line.text)]
    for line in sorted(upright, key=lambda line: (line.top, line.left)):
        if squash(line.text) in SECTION_LABELS:
            continue
        follows = _follows_paragraph if page.converted else _follows
        group = next((group for group in reversed(groups[-25:]) if follows(group, line)), None)
        if group is None:
            groups.append([line])
        else:
            group.append(line)
    return [group for group in groups if len(group) <= _MAX_LINES]


def _follows(group: Sequence[TextLine], line: TextLine) -> bool:
    last = group[-1]
    if abs(last.size - line.size) > 0.6 or last.bold != line.bold:
        return False
    if not -0.2 * line.size < line.top - last.top < 2.0 * line.size:
        return False
    overlap = min(max(item.right for item in group), line.right) - max(min(item.left for item in group), line.left)
    return overlap > 0 or abs(line.top - last.top) < 0.2 * line.size


def _follows_paragraph(group: Sequence[TextLine], line: TextLine) -> bool:
    """Whether a paragraph of a converted page goes on a group: its size is an estimate, so its first letter decides."""
    last = group[-1]
    close = -0.3 * line.size < line.top - last.bottom < 0.8 * line.size
    return close and line.text[:1].islower() and 0.75 < line.size / max(last.size, 1.0) < 1.25


def join_lines(texts: Sequence[str], view: DocumentView | None = None) -> str:
    """Return lines as one text. A hyphen at a line's end stays if the word is written with it elsewhere."""
    joined = ""
    for text in texts:
        if joined.endswith("-") and text[:1].islower():
            head, tail = joined.rsplit(" ", 1)[-1], text.split(" ", 1)[0]
            joined = joined + text if _is_hyphenated(head, tail, view) else joined[:-1] + text
        elif joined.endswith(("-", "\u2010")) or _ends_in_open_doi(joined):
            joined += text
        else:
            joined = f"{joined} {text}".strip()
    return " ".join(joined.split())


def _ends_in_open_doi(text: str) -> bool:
    """Whether a text ends with a DOI that its next line is likely to go on: ``10.1371/journal.pone.``."""
    last = text.rsplit(" ", 1)[-1]
    return "10." in last and any(True for _ in find_dois(last)) and ends_open(last)


def _is_hyphenated(head: str, tail: str, view: DocumentView | None) -> bool:
    text = "" if view is None else " ".join(page.text for page in view.pages).casefold()
    whole = re.sub(r"\W+$", "", head[:-1] + tail).casefold()
    return whole not in text


def _is_number(text: str) -> bool:
    return sum(char.isalpha() for char in text) < 0.5 * len(text.replace(" ", ""))


def _score(view: DocumentView, page: PageView, lines: Sequence[TextLine], text: str) -> float:
    """Say how much a block looks like a title: size first, then length, place, weight and what follows it."""
    size = max(line.size for line in lines)
    score = 2.5 * math.log(max(size, 1.0) / max(view.body_size, 1.0))
    score += _length_score(text)
    top = lines[0].top / page.height
    score -= 0.8 * max(0.0, top - 0.45)
    if lines[0].bold:
        score += 0.15
    if text.endswith(".") and len(text) > 60:
        score -= 0.4
    if _is_running(view, text):
        score -= 0.5
    followed = _authors_follow(page, lines)
    if followed:
        # A journal's nameplate is short, and what follows it may read as a name by chance.
        score += 0.6 if len(fold(text).split()) > 3 else 0.2
    elif size < 1.08 * view.body_size and not lines[0].bold:
        score -= 1.0  # set like the text around it: the beginning of a letter, a column of a magazine
    return score


def _length_score(text: str) -> float:
    """Return what a text's length says against it as a title: too short, too long, the end of a sentence."""
    words = len(fold(text).split())
    if words <= 3 and text[:1].islower():
        return -1.5
    if words <= 3:
        return (-1.2, -1.0, -0.6, -0.25)[words]
    return 0.0 if words <= 30 else -0.05 * (words - 30)


def _is_running(view: DocumentView, text: str) -> bool:
    """Whether a text is part of a running header that also names other things: a journal, most likely."""
    squashed = squash(text)
    return any(squashed in squash(str(row["text"])) for row in view.repeated) and len(fold(text).split()) <= 5


def _journals(view: DocumentView) -> frozenset[str]:
    """Return the journals that running lines and the first page name, squashed: a nameplate is not a title."""
    texts = [str(row["text"]) for row in view.repeated]
    texts += [line.text for page in view.front[:1] for line in page.lines if len(line.text) < 160]
    return frozenset(squash(name) for text in texts for name in journals_in(text))


def _authors_follow(page: PageView, lines: Sequence[TextLine]) -> bool:
    bottom = max(line.bottom for line in lines)
    size = lines[0].size
    below = [line for line in page.lines if not line.rotated and bottom - 2 <= line.top < bottom + 3.5 * size]
    below.sort(key=lambda line: (line.top, line.left))
    return any(parse_names(line.marked) for line in below[:4] if line.size <= size)


def title_candidates(view: DocumentView, stem: str, blocks: Sequence[TitleBlock] | None = None) -> list[Candidate]:
    """Return the candidates for the title.

    Args:
        view: the document.
        stem: the file's name without suffix.
        blocks: of :func:`title_blocks`, where the caller has them.
    """
    blocks = title_blocks(view) if blocks is None else blocks
    candidates = [*_metadata_titles(view, stem), *_docling_titles(view, stem)]
    for rank, block in enumerate(blocks[:4]):
        confidence = max(0.2, min(0.86, 0.62 + 0.14 * block.score) - 0.15 * rank)
        candidates.append(Candidate(block.text, "layout", block.lines[0].where, confidence))
    return _agreement(candidates)


def _metadata_titles(view: DocumentView, stem: str) -> Iterator[Candidate]:
    found = [("pdf-info", "Title", (view.pdf.get("info") or {}).get("Title"))]
    found += [
        ("xmp", "dc:title", value) for packet in view.pdf.get("xmp") or () for value in packet.get("dc:title", ())
    ]
    found += [("embedded", "title", value) for value in view.embedded.get("title", ())[:3]]
    for source, key, value in found:
        if not value:
            continue
        where = {"key": key}
        if is_junk_title(value, stem):
            yield Candidate(value, source, where, 0.1, "not a title")
        elif view.shows(value):
            yield Candidate(value, source, where, 0.92, "also printed")
        elif source == "embedded" and view.embedded_is_published:
            yield Candidate(value, source, where, 0.8)
        elif view.front_squashed:
            yield Candidate(
                value, source, where, 0.45 if source == "embedded" else 0.35, "not printed on the first pages"
            )
        else:
            yield Candidate(value, source, where, 0.7)


def _docling_titles(view: DocumentView, stem: str) -> Iterator[Candidate]:
    for label, base in (("titles", 0.75), ("headers", 0.45)):
        for item in (view.docling.get(label) or ())[:3]:
            text = item["text"]
            if is_junk_title(text, stem) or item.get("page", 1) > 2:
                continue
            where = {"page": item["page"], "box": item.get("box")} if "page" in item else {"key": label}
            yield Candidate(text, "docling", where, base)


def _agreement(candidates: list[Candidate]) -> list[Candidate]:
    """Raise what several sources say, and let the best-spaced of the same readings stand for all of them."""
    raised = []
    for candidate in candidates:
        others = {other.source for other in candidates if _same(candidate, other)} - {candidate.source}
        confidence = min(0.97, candidate.confidence + 0.08 * len(others)) if candidate.confidence > 0.15 else 0.1
        raised.append(replace(candidate, confidence=confidence))
    return [replace(candidate, value=_best_spaced(candidate, raised)) for candidate in raised]


def _same(first: Candidate, second: Candidate) -> bool:
    return similarity(str(first.value), str(second.value)) > 0.93


def _best_spaced(candidate: Candidate, candidates: Sequence[Candidate]) -> str:
    """Return the printed form of the same letters where it has more word breaks ("BetweenSoftware")."""
    squashed = squash(candidate.value)
    forms = [str(other.value) for other in candidates if other.source == "layout" and squash(other.value) == squashed]
    return max([str(candidate.value), *forms], key=lambda form: len(fold(form).split()))
