"""Candidates for the authors: the lines below the title that read as names, and metadata that the pages bear out."""

import re
from collections.abc import Iterator, Sequence

from stackroom.biblio.byline import bylines
from stackroom.biblio.candidates import Candidate
from stackroom.biblio.folding import squash
from stackroom.biblio.junk import is_junk_author
from stackroom.biblio.names import (
    PARTICLES,
    as_written,
    clean_name,
    is_name,
    is_open_name,
    parse_names,
    split_names,
    surname,
)
from stackroom.biblio.packets import packets
from stackroom.biblio.pdf_lines import MARK_CLOSE
from stackroom.biblio.title import TitleBlock
from stackroom.biblio.view import DocumentView, PageView, TextLine

_STOP = re.compile(
    r"^\W*(?:abstract|summary|introduction|background|keywords?|key words|index terms|received|accepted"
    r"|contents|highlights|objectives?)\b",
    re.IGNORECASE,
)
_CONTACT = re.compile(r"@|correspond|e-?mail|orcid|equal(?:ly)? contribut", re.IGNORECASE)


def author_candidates(view: DocumentView, title: TitleBlock | None) -> list[Candidate]:
    """Return the candidates for the list of authors.

    Args:
        view: the document.
        title: where the title stands, if it was found on a page.
    """
    printed = list(_printed(view, title))
    given = list(_given(view))
    complete = [_completed(candidate, printed) for candidate in given]
    return [*complete, *(_supported(candidate, given) for candidate in printed), *_signed(view)]


def _signed(view: DocumentView) -> Iterator[Candidate]:
    """Yield the authors that a byline names."""
    for line in bylines(view):
        if line.names:
            yield Candidate(list(line.names), "docling", {"key": "first", "item": line.item}, 0.8, "byline")


def _given(view: DocumentView) -> Iterator[Candidate]:
    """Yield the authors that metadata gives, with the confidence that the pages lend them."""
    info = view.pdf.get("info") or {}
    if info.get("Author"):
        yield _judged(view, split_author_text(info["Author"]), "pdf-info", "Author", 1.0)
    for packet in packets(view):
        creators = packet.get("dc:creator")
        if creators:
            names = [name for value in creators for name in split_author_text(value)]
            yield _judged(view, names, "xmp", "dc:creator", packet.trust)
    if view.embedded.get("authors"):
        names = [name for value in view.embedded["authors"] for name in split_author_text(value)]
        yield _judged(view, names, "embedded", "authors", 1.0)


def split_author_text(text: str) -> list[str]:
    """Return the names in an author entry: at semicolons where there are any, else at commas and "and"."""
    if ";" in text:
        parts = re.split(r"\s*;\s*", text)
    else:
        parts = re.split(r"\s*,\s*|\s+and\s+|\s*&\s*", text)
        if len(parts) == 2 and all(len(part.split()) == 1 for part in parts):
            parts = [f"{parts[1]} {parts[0]}"]  # "Ruiz, Ana"
    names = [clean_name(_given_first(part)) for part in parts]
    return [name for name in names if name]


def _given_first(name: str) -> str:
    if "," in name:
        last, _, first = name.partition(",")
        return f"{first.strip()} {last.strip()}".strip()
    return name


def _judged(view: DocumentView, names: Sequence[str], source: str, key: str, trust: float) -> Candidate:
    good = [as_written(name) for name in names if not is_junk_author(name)]
    where = {"key": key}
    if not good:
        return Candidate(list(names), source, where, 0.05, "not names of people")
    if source == "embedded" and view.embedded_is_published:
        return Candidate(good, source, where, 0.85)
    if not view.front_squashed:
        return Candidate(good, source, where, 0.6)
    shown = sum(squash(surname(name)) in view.front_squashed for name in good)
    if shown == len(good):
        # A single name is often only the first author, or whoever saved the file; a single word is an account.
        confidence = 0.9 if len(good) > 1 else 0.6 if " " in good[0] else 0.4
        return Candidate(good, source, where, confidence * max(trust, 0.6), "all printed")
    return Candidate(good, source, where, 0.4 * shown / len(good), f"{shown} of {len(good)} printed")


def _completed(candidate: Candidate, printed: Sequence[Candidate]) -> Candidate:
    """Lower a given list of which a longer printed list holds every name: it is incomplete."""
    names = {squash(surname(name)) for name in candidate.value}
    for other in printed:
        theirs = [squash(surname(name)) for name in other.value]
        if len(theirs) > len(names) and names <= set(theirs) and other.confidence >= 0.6:
            return Candidate(candidate.value, candidate.source, candidate.where, 0.45, "a longer list is printed")
    return candidate


def _supported(candidate: Candidate, given: Sequence[Candidate]) -> Candidate:
    """Raise a printed list when metadata gives the same surnames, or some of them."""
    names = [squash(surname(name)) for name in candidate.value]
    for other in given:
        theirs = {squash(surname(name)) for name in other.value}
        if other.confidence >= 0.3 and theirs and theirs <= set(names):
            confidence = min(0.96, candidate.confidence + 0.12)
            return Candidate(candidate.value, candidate.source, candidate.where, confidence, "metadata agrees")
    return candidate


def _printed(view: DocumentView, title: TitleBlock | None) -> Iterator[Candidate]:
    if title is None:
        return
    page = next(page for page in view.pages if page.number == title.page)
    region = _region(page, title)
    lines = _best_lines(region)
    names = _names_of(lines)
    following = parse_names(title.rest) if title.rest else None
    if following:
        lines, names = list(title.lines[-1:]), following
    elif page.converted and not names:
        lines = region[:1]
        names = _leading_names(region[0]) if region else []
    if names:
        confidence = 0.8 if len(names) > 1 else 0.7
        if not view.reads_like_a_paper:
            confidence -= 0.35
        if (
            page.converted
            and not following
            and lines[0] is region[0]
            and len(split_names(lines[0].marked)) > len(names)
        ):
            confidence -= 0.15  # cut out of a longer paragraph, perhaps too short
        yield Candidate([as_written(name) for name in names], "layout", lines[0].where, confidence)


def _region(page: PageView, title: TitleBlock) -> list[TextLine]:
    """Return the lines below the title, top to bottom, until the abstract or the text begins."""
    left = min(line.left for line in title.lines)
    right = max(line.right for line in title.lines)
    below = [
        line
        for line in page.lines
        if not line.rotated
        and line not in title.lines
        and line.top >= title.bottom - 0.35 * title.lines[-1].size
        and line.top < title.bottom + 0.45 * page.height
        and _is_below(line, left, right, page.width)
    ]
    below.sort(key=lambda line: (round(line.top / 3), line.left))
    region = []
    for line in below:
        if _STOP.match(line.text):
            break
        region.append(line)
    return region


def _is_below(line: TextLine, left: float, right: float, page_width: float) -> bool:
    """Whether a line stands below the title; boxes in the margin stand beside it, grids of authors may be wider."""
    if line.right <= left - 0.12 * page_width:
        return False
    overlaps = line.right > left + 5 and line.left < right + 5
    return overlaps or abs((line.left + line.right) / 2 - (left + right) / 2) < page_width / 2.6


def _best_lines(region: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines that hold the authors: the first that read as names, unless that is one and others are many."""
    starts = [line for line in region if _reads_as_names(line)]
    if not starts:
        return []
    first = _name_lines(region, starts[0])
    for start in starts[1:8]:
        other = _name_lines(region, start)
        if len(_names_of(first)) == 1 and len(_names_of(other)) > 2:
            return other
    return first


def _name_lines(region: Sequence[TextLine], first: TextLine) -> list[TextLine]:
    """Return the lines of names that begin with a line, those set in the same way."""
    same = [line for line in region if abs(line.size - first.size) <= 0.3 and line.bold == first.bold]
    same = same[same.index(first) :]
    distinct = any(line.size != first.size or line.bold != first.bold for line in region[:12])
    kept: list[TextLine] = []
    previous = first
    for line in same:
        if line.top - previous.top > (12 if distinct else 3.2) * max(line.size, 6):
            break
        if _reads_as_names(line) or (kept and _continues(kept[-1], line)):
            kept.append(line)
        elif _is_sentence(line) or (not distinct and not _CONTACT.search(line.text)):
            break
        previous = line
    return kept


def _is_sentence(line: TextLine) -> bool:
    words = line.text.split()
    return len(words) > 9 and sum(word[:1].islower() for word in words) > 0.6 * len(words)


def _reads_as_names(line: TextLine) -> bool:
    pieces = _pieces(line)
    names = [piece for piece in pieces if is_name(piece) or is_open_name(piece)]
    return bool(names) and 2 * len(names) > len(pieces)


def _pieces(line: TextLine) -> list[str]:
    """Return the pieces of a line; of "NAME, affiliation" only the name."""
    pieces = [clean_name(piece) for piece in split_names(line.marked)]
    if len(pieces) > 1 and is_name(pieces[0]) and not (is_name(pieces[1]) or is_open_name(pieces[1])):
        return pieces[:1]
    return [piece for piece in pieces if piece]


def _continues(previous: TextLine, line: TextLine) -> bool:
    """Whether a line holds the rest of a name that the line before it began."""
    if _CONTACT.search(line.text):
        return False
    last = _pieces(previous)[-1:] or [""]
    open_end = last[0].split()[-1:] and (last[0].split()[-1] in PARTICLES or len(last[0].split()) == 1)
    first = (_pieces(line) or [""])[0]
    return bool(open_end) or (len(first.split()) == 1 and first[:1].isupper())


def _leading_names(paragraph: TextLine) -> list[str]:
    """Return the names with which a paragraph begins: OCR may put authors and affiliations into one."""
    pieces = [clean_name(piece) for piece in split_names(paragraph.marked)]
    count = next((number for number, piece in enumerate(pieces) if not is_name(piece)), len(pieces))
    return pieces[:count]


def _names_of(lines: Sequence[TextLine]) -> list[str]:
    """Return the names in the lines, those broken over two lines joined."""
    pieces: list[str] = []
    ended = True
    for line in lines:
        own = _pieces(line)
        if not own:
            continue
        if (pieces and not ended and not is_name(own[0])) or (pieces and pieces[-1].split()[-1] in PARTICLES):
            own = [f"{pieces.pop()} {own[0]}", *own[1:]]
        pieces += own
        ended = line.marked.rstrip().endswith((",", ";", MARK_CLOSE, "*", "and"))
    names = [name for name in pieces if is_name(name)]
    return list(dict.fromkeys(names))
