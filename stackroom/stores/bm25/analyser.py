"""Text to index terms: the one analyser for corpora and queries.

Words are folded (NFKC, case), stop words set apart, English words stemmed. A compound such as ``IL-6``, ``v1.2`` or
``COVID19`` is kept whole and also split, so that it is found however it was written. Scripts without spaces between
words become bigrams. Everything that changes what comes out is part of :attr:`Analyser.identity`, which is stored with
every corpus file and every index and compared when they are opened.
"""

import hashlib
import itertools
import re
import threading
import unicodedata

import Stemmer

from stackroom.config import Bm25Settings
from stackroom.stores.bm25.characters import CONNECTORS, patterns

ANALYSER_VERSION = 1
"""Raised whenever the same text would give other terms."""

STOP_MARK = "~"
"""Prefix of stop words in an index: kept apart from other terms, searched only when a query has nothing else."""

_STOP_WORDS = """
    a about above after again against all am an and any are as at be because been before being below between both
    but by can could did do does doing down during each few for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off on once
    only or other our ours ourselves out over own same she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up very was we were what when where which
    while who whom why will with would you your yours yourself yourselves
"""
ENGLISH_STOP_WORDS = frozenset(_STOP_WORDS.split())

_LONGEST_TERM = 64
"""Characters; longer "words" are base64, sequences or ruins of tables, and only their pieces are indexed."""
_CACHED_WORDS = 200_000
_SEPARATORS = re.compile(f"[{re.escape(CONNECTORS)}+#]+")
_GROUPED_DIGITS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


class Analyser:
    """Turns text into terms. Safe to share between threads."""

    def __init__(self, language: str = "english") -> None:
        """Open the analyser.

        Args:
            language: ``english`` (stop words and stemming) or ``none`` (neither).
        """
        english = language == "english"
        self._stop_words = ENGLISH_STOP_WORDS if english else frozenset()
        self._stemmer = Stemmer.Stemmer("english") if english else None
        self._words: dict[tuple[str, bool], tuple[str, ...]] = {}
        self._lock = threading.Lock()
        stop = hashlib.sha256(" ".join(sorted(self._stop_words)).encode()).hexdigest()[:8]
        stemmer = f"snowball-{Stemmer.version()}" if english else "none"
        self.identity = (
            f"stackroom-{ANALYSER_VERSION} language={language} stop={stop} stemmer={stemmer} "
            f"unicode={unicodedata.unidata_version}"
        )

    def tokens(self, text: str) -> list[str]:
        """Return the index terms of a text in reading order, without stop words."""
        return [term for term in self.all_tokens(text) if not term.startswith(STOP_MARK)]

    def all_tokens(self, text: str) -> list[str]:
        """Return the index terms of a text in reading order; stop words are among them, under :data:`STOP_MARK`."""
        return self._analyse(text, query=False)

    def query_tokens(self, text: str) -> list[str]:
        """Return the terms to search for: no stop words, unless the query consists of nothing else.

        A run of a script without spaces gives bigrams only (a corpus holds its single characters as well, so that a
        query of one character finds it).
        """
        terms = self._analyse(text, query=True)
        return [term for term in terms if not term.startswith(STOP_MARK)] or terms

    def _analyse(self, text: str, query: bool) -> list[str]:
        terms: list[str] = []
        for match in patterns().compound.finditer(self._fold(text)):
            key = (match.group(), query)
            known = self._words.get(key)
            terms.extend(self._remember(key) if known is None else known)
        return terms

    def _fold(self, text: str) -> str:
        folded = unicodedata.normalize("NFKC", text).casefold()
        folded = unicodedata.normalize("NFKC", folded).replace("\u2019", "'").replace("\u2010", "-")
        return _GROUPED_DIGITS.sub("", patterns().ignorable.sub("", folded))

    def _remember(self, key: tuple[str, bool]) -> tuple[str, ...]:
        word, query = key
        with self._lock:
            run = patterns().cluster.findall(word)
            terms = tuple(_bigrams(run, with_singles=not query) if run else self._compound(word))
            if len(self._words) >= _CACHED_WORDS:
                self._words.clear()
            self._words[key] = terms
        return terms

    def _compound(self, word: str) -> list[str]:
        """Return the terms of one compound: itself, its parts, and the letter and digit runs of the parts."""
        word = word.removesuffix("'s")
        parts = [part for part in _SEPARATORS.split(word) if part]
        if len(parts) == 1 and word == parts[0]:
            return self._part(word)
        terms = [word] if len(word) <= _LONGEST_TERM else []
        if all(part.isdecimal() for part in parts) and parts != [word.rstrip("+#")]:
            return terms or [part[:_LONGEST_TERM] for part in parts]  # a number: its digits alone mean nothing
        for part in parts:
            terms.extend(self._part(part))
        return terms

    def _part(self, part: str) -> list[str]:
        runs = patterns().part.findall(part)
        if len(runs) <= 1:
            return self._simple(part[:_LONGEST_TERM])
        whole = [part] if len(part) <= _LONGEST_TERM else []
        return whole + [term for run in runs for term in self._simple(run[:_LONGEST_TERM])]

    def _simple(self, word: str) -> list[str]:
        """Return the term of one plain word; a Latin word with accents is indexed without them as well."""
        if word in self._stop_words:
            return [STOP_MARK + word]
        if word.isascii():
            return [self._stemmer.stemWord(word) if self._stemmer and word.isalpha() else word]
        bare = "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
        return [word, *self._simple(bare)] if bare.isascii() and bare else [word]


def open_analyser(settings: Bm25Settings) -> Analyser:
    """Return the analyser for the settings of a corpus."""
    return Analyser(settings.language)


def _bigrams(run: list[str], with_singles: bool) -> list[str]:
    if len(run) == 1:
        return run
    pairs = [first + second for first, second in itertools.pairwise(run)]
    return pairs + run if with_singles else pairs
