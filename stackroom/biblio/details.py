"""Candidates for what stands around the main fields: keywords, arXiv id, abstract, addresses."""

import re
from collections.abc import Iterator, Sequence

from stackroom.biblio.candidates import Candidate
from stackroom.biblio.folding import squash
from stackroom.biblio.packets import packets
from stackroom.biblio.patterns import extract_regex_metadata
from stackroom.biblio.title import join_lines
from stackroom.biblio.view import DocumentView, PageView, TextLine

_ARXIV = re.compile(r"\barxiv\s*:\s*((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?)", re.IGNORECASE)
_KEYWORDS_LABEL = re.compile(
    r"^\W*(?:additional\s+)?(?:key\s?-?words?(?:\s+and\s+phrases?)?|key\s+terms?|index\s+terms?)\b\s*[:—–.-]*\s*",  # noqa: RUF001
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?:are|were|is|was|have|had|can|may|must|should|from|of|for|in|and|used|that|which|to)\b")
"""How a sentence about keywords goes on, in contrast to a list of them."""
_KEYWORDS_END = re.compile(
    r"^(?:\d+\.?\s+)?(?:introduction|background|abstract|acm reference|ccs concepts|received|correspond|©|permission"
    r"|contents|author for|electronic supp|jel\b|msc\b|pacs\b|abbreviations)",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"\s*[,;·•|]\s*|\s+[-–—]\s+")  # noqa: RUF001
_ABSTRACT_LABEL = re.compile(r"^\s*(?:abstract|summary)\b\s*[:.—–-]*\s*", re.IGNORECASE)  # noqa: RUF001
_ABSTRACT_END = re.compile(
    r"^\W*(?:\d+\.?\s*|[ivx]+\.\s*)?(?:introduction\b|background\s*$|key\s?words?|index terms|ccs concepts"
    r"|categories and subject)",
    re.IGNORECASE,
)
_MAX_KEYWORD_WORDS = 8


def keyword_candidates(view: DocumentView) -> list[Candidate]:
    """Return the candidates for the keywords."""
    candidates = []
    value = (view.pdf.get("info") or {}).get("Keywords")
    if value and split_keywords(value):
        candidates.append(Candidate(split_keywords(value), "pdf-info", {"key": "Keywords"}, 0.85))
    for packet in packets(view):
        for key in ("dc:subject", "pdf:Keywords"):
            words = [word for text in packet.get(key) for word in split_keywords(text)]
            if words:
                candidates.append(Candidate(words, "xmp", {"key": key}, 0.8 if packet.trust else 0.3))
    if view.embedded.get("keywords"):
        words = [word for text in view.embedded["keywords"] for word in split_keywords(text)]
        candidates.append(Candidate(words, "embedded", {"key": "keywords"}, 0.8))
    for page in view.front:
        for line, words in _printed_keywords(page, view):
            candidates.append(Candidate(words, "layout", line.where, 0.75))
    if not candidates:
        words = extract_regex_metadata(str(view.docling.get("head", ""))).get("keywords", [])
        if words:
            candidates.append(Candidate(words, "pattern", {"key": "head"}, 0.6))
    return candidates


def split_keywords(text: str) -> list[str]:
    """Return the keywords in a list of them, in order, without repetition; sentences are left out."""
    words = [word.strip(" .:\t") for word in _SPLIT.split(text)]
    kept = [word for word in words if word and len(word.split()) <= _MAX_KEYWORD_WORDS]
    return list(dict.fromkeys(kept))


def _printed_keywords(page: PageView, view: DocumentView) -> Iterator[tuple[TextLine, list[str]]]:
    lines = [line for line in page.lines if not line.rotated]
    for index, line in enumerate(lines):
        match = _KEYWORDS_LABEL.match(line.text)
        if match is None:
            continue
        rest = line.text[match.end() :]
        if _SENTENCE.match(rest) and ":" not in match.group():
            continue
        following = [] if page.converted else _same_paragraph(lines[index + 1 : index + 6], line)
        words = split_keywords(join_lines([rest, *(item.text for item in following)], view))
        if words:
            yield line, words
            return


def _same_paragraph(lines: Sequence[TextLine], first: TextLine) -> list[TextLine]:
    rest: list[TextLine] = []
    previous = first
    for line in lines:
        # A label on a line of its own may be larger than the list below it.
        same_size = abs(line.size - first.size) < 0.7 or (not rest and line.size < first.size)
        near = -2 < line.top - previous.top < 2.2 * max(first.size, line.size)
        if not (same_size and near and line.left < first.left + 40) or _KEYWORDS_END.match(line.text):
            break
        rest.append(line)
        previous = line
    return rest


def arxiv_candidates(view: DocumentView) -> list[Candidate]:
    """Return the candidates for the document's own arXiv id: stamped on the first page, or standing in its margins."""
    candidates = []
    for page in view.pages[:1]:
        for line in page.lines:
            match = _ARXIV.search(line.text)
            margin = line.top < 0.08 * page.height or line.bottom > 0.92 * page.height
            if match and (line.rotated or margin):
                candidates.append(Candidate(match.group(1), "layout", line.where, 0.95 if line.rotated else 0.7))
    for item in [*(view.docling.get("furniture") or ()), *(view.docling.get("first") or ())][:60]:
        match = _ARXIV.match(item["text"].strip())
        if match and item.get("page", 1) == 1 and not candidates:
            candidates.append(Candidate(match.group(1), "docling", {"page": 1, "box": item.get("box")}, 0.8))
    return candidates


def abstract_candidates(view: DocumentView) -> list[Candidate]:
    """Return the candidates for the abstract: the text between its heading and the next."""
    candidates = [Candidate(value, "embedded", {"key": "abstract"}, 0.8) for value in view.embedded.get("abstract", ())]
    items = [item for item in view.docling.get("first") or () if item.get("page", 1) <= 3]
    for index, item in enumerate(items):
        match = _ABSTRACT_LABEL.match(item["text"])
        if match is None:
            continue
        parts = [item["text"][match.end() :]]
        for other in items[index + 1 : index + 12]:
            if other["label"] == "section_header" or _ABSTRACT_END.match(other["text"]):
                break
            parts.append(other["text"])
            if len(" ".join(parts)) > 600:
                break
        text = " ".join(part for part in parts if part).strip()
        if len(text) >= 100:
            where = {"page": item.get("page", 1), "box": item.get("box")}
            candidates.append(Candidate(text, "docling", where, 0.7))
            break
    return candidates


def url_candidates(view: DocumentView) -> list[Candidate]:
    """Return the candidates for the address of the work: labelled in the text, or named as canonical by a web page."""
    candidates = [Candidate(value, "embedded", {"key": "url"}, 0.8) for value in view.embedded.get("url", ())]
    found = extract_regex_metadata(str(view.docling.get("head", ""))).get("url")
    if found:
        candidates.append(Candidate(found, "pattern", {"key": "head"}, 0.6))
    return candidates


def chunk_heading_title(headings_per_chunk: Sequence[Sequence[str]]) -> str | None:
    """Return the first heading of the first chunk whose heading is a title and not a label like "Abstract".

    Args:
        headings_per_chunk: heading chains in the order of the chunks.
    """
    for chain in headings_per_chunk:
        heading = chain[0].strip() if chain else ""
        if heading and squash(heading) not in _LABEL_HEADINGS:
            return heading
    return None


_LABEL_HEADINGS = frozenset(
    squash(label)
    for label in (
        "review", "research", "research article", "highlights", "abstract", "author summary", "summary",
        "introduction", "doi", "editorial", "front matter", "correspondence", "for correspondence",
    )
)  # fmt: skip
