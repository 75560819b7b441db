"""Journals in text: a name followed (or preceded) by volume, issue, pages or year in one of the usual forms."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackroom.biblio.folding import fold, squash
from stackroom.biblio.junk import SECTION_LABELS

_NAME = r"(?P<name>(?:[A-Z]|[em](?=[A-Z]))[\w&\u2019':.,\- ]{1,85}?[\w)]\.?)"
_YEAR = r"(?P<year>(?:18|19|20)\d{2})"
_PAGE = r"(?:pp?\.?\s*)?[A-Za-z]{0,2}\d+"
_ISSUE = r"(?:\s*\(\w[\w\s\u2013-]{0,9}\))?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"

_FORMS = tuple(
    re.compile(pattern)
    for pattern in (
        # Journal of Things 2010, 4:1 · Journal (2023) 28:132 · Pract Exper. 2023;53:790 · Reports | (2020) 10:1234
        rf"{_NAME},?\s*\|?\s*\(?{_YEAR}\)?\s*[,;:.]?\s*\d{{1,4}}{_ISSUE}\s*[:,.]\s*{_PAGE}",
        # Nucleic Acids Research, 2014, Vol. 42, Database issue · Journal of X 2020, Vol. 34(2) 123
        rf"{_NAME},?\s*\(?{_YEAR}\)?,?\s*(?i:vol(?:ume)?\.?)\s*\d{{1,4}}",
        # BioMed Research International Volume 2014, Article ID 123456
        rf"{_NAME},?\s*(?i:volume)\s+{_YEAR},\s*(?i:article)",
        # Journal of Cleaner Production 263 (2020) 121414
        rf"{_NAME},?\s+\d{{1,4}}\s*\({_YEAR}\)\s*{_PAGE}",
        # PHYSICAL REVIEW D 98, 123456 (2018)
        rf"{_NAME},?\s+\d{{1,4}},\s*{_PAGE}\s*\({_YEAR}\)",
        # Bioinformatics, 34(13), 2018 · Biogeosciences, 11, 1234-1250, 2014
        rf"{_NAME},\s+\d{{1,4}}(?:\s*\(\d[\w\s-]{{0,8}}\)|,\s*\d+\s*[-\u2013]\s*\d+),\s*{_YEAR}\b",
        # IEEE TRANSACTIONS ON THINGS, VOL. 45, NO. 3, MARCH 2019 · Proc. ACM Interact., Vol. 4, No. CSCW1
        rf"{_NAME},?\s+(?i:vol\.?)\s*\d{{1,4}},\s*(?i:no\.?)\s*\w+(?:,\s*(?i:{_MONTH})\s+{_YEAR})?",
        # PLoS ONE 9(12): e115884 · R. Soc. open sci. 2: 150395 · REPORTS | 5:12345 · Software, 5(45), 1234
        rf"{_NAME},?\s+(?:\|\s*)?(?:vol\.?\s*)?\d{{1,4}}\s*(?:\(\d[\w\s-]{{0,8}}\)\s*[:,.]|:)\s*{_PAGE}",
        # Frontiers in Psychology | www.frontiersin.org 1 March 2020 | Volume 11
        rf"^{_NAME}\s*\|\s*(?:www\.|(?i:volume)\s)",
    )
)
_OWN_FORMS = (
    re.compile(r"\bet al\.? \((?P<year>\d{4})\),\s*(?P<name>[A-Z][\w&:.\- ]{2,60}?),\s*(?i:doi)\b"),
    re.compile(r"(?i:the authors?|author\(s\))\.\s+(?P<name>[A-Z][\w&:,\- ]{3,80}?)\s+published by"),
)
_ET_AL = re.compile(r"^.*?\bet al\.?,?\s*(?:\(\d{4}\)\s*[.,]?)?\s*", re.IGNORECASE)
_NOT_JOURNALS = re.compile(
    r"^(?:proceedings|conference|arxiv|biorxiv|medrxiv|published|received|accepted|submitted|page|pages|copyright|vol"
    r"|volume|issue|figure|fig|table|section|chapter|doi|http|www|citation|and|in|the authors?|isbn|issn|lncs|pp"
    r"|version|article|tel|fax|phone|email|revised|available|permission|grant|contract|id|no)\b|workshop|symposium"
    rf"|\bconference\b|@|\bvol\b|licen[cs]ed|stra(?:ss|ß)e|(?:^|[\s:,]){_MONTH}\.?$|^{_MONTH}\.?\b|\beds?\b",
    re.IGNORECASE,
)
_KEPT_CAPITALS = frozenset({"IEEE", "ACM", "BMC", "BMJ", "PNAS", "PLOS", "AIP", "SIAM", "JAMA", "RSC", "EMBO"})
_SMALL = frozenset("of and in on the for a an to with".split())  # noqa: SIM905


@dataclass(frozen=True)
class Mention:
    """A journal as a text names it, and the year beside it if there is one."""

    name: str
    year: int | None = None


def mentions(text: str) -> Iterator[Mention]:
    """Yield the journals that a text names together with a volume, pages or the like; at most two."""
    for form in _OWN_FORMS:
        match = form.search(text)
        if match:
            yield Mention(match.group("name").strip(), _year(match))
    rest = _ET_AL.sub("", text)
    for form in _FORMS:
        match = form.search(rest)
        name = _clean(match.group("name")) if match else ""
        if match and name:
            yield Mention(name, _year(match))
            return


def journals_in(text: str) -> Iterator[str]:
    """Yield the names of the journals in a text."""
    return (mention.name for mention in mentions(text))


def _year(match: re.Match[str]) -> int | None:
    year = match.groupdict().get("year")
    return int(year) if year else None


def is_journal_name(name: str) -> bool:
    """Whether a text can be the name of a journal: not a label, a month, a conference, a notice."""
    words = fold(name).split()
    if not words or len(words) > 10 or squash(name) in SECTION_LABELS or _NOT_JOURNALS.search(name):
        return False
    return sum(char.isalpha() for char in name) >= 3


def _clean(name: str) -> str:
    """Return a journal's name without what stood before it: the end of a title, a label; empty when it is none."""
    name = re.split(r"(?<=[a-z)?!])\.\s*(?=[A-Z])|[?!]\s+", name)[-1] if not _is_abbreviated(name) else name
    name = name.strip(" ,;:-").removeprefix("In ").strip()
    if name.endswith(".") and "." not in name[:-1]:
        name = name[:-1]
    return _in_small_letters(name) if is_journal_name(name) else ""


def _is_abbreviated(name: str) -> bool:
    """Whether full stops in a name belong to abbreviated words: "R. Soc. open sci.", "PeerJ Comput. Sci."."""
    words = name.split()
    return 2 * sum(word.endswith(".") for word in words) >= len(words)


def _in_small_letters(name: str) -> str:
    """Return a name in capitals as one writes it; names of up to five letters stay ("PNAS")."""
    if name != name.upper() or len(name) <= 5:
        return name
    words = [word if word in _KEPT_CAPITALS else word.capitalize() for word in name.split()]
    return " ".join(word.lower() if number and word.lower() in _SMALL else word for number, word in enumerate(words))
