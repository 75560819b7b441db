"""Words that a PDF's text layer broke around an f-ligature ("veri fi cation"), put together again.

Some fonts draw fi, fl, ff, ffi and ffl as one glyph with blanks of its own, and the text layer repeats those blanks.
Only blanks are removed here, never a letter. Whether the piece left or right of the ligature belongs to the same word
is decided without a dictionary, from what English words can begin and end with; where that is not clear the pieces
stay apart. Other languages profit where the same endings occur.
"""

import re
from dataclasses import dataclass

_GLYPHS = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"}
_LETTERS = "[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]"  # Latin; other scripts have no such ligatures
_BROKEN = re.compile(
    rf"(?:(?P<before>(?<![\w-]){_LETTERS}+)(?P<gap_before> ?))?"
    rf"(?:(?P<glyph>[\ufb00-\ufb04])|(?<![^\W_])(?P<letters>ffi|ffl|ff|fi|fl)(?![^\W_]))"
    rf"(?P<gap_after> ?)(?P<after>{_LETTERS}*)"
)

_SUSPECT = re.compile(r"[\ufb00-\ufb04]|(?<![^\W_])f(?:f[il]?|[il])(?![^\W_])")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FREE_WORDS = _words(
    """
    a about all also an and any are as at be been both but by can could did do does each few for from had has have he
    her his how i if in into is it its many may might more most must no not now of on one only or other our out over
    same several she should so some such than that the their them then there these they this those three to too two
    under up very was we were what when where which while who will with would you your
    """
)
"""Short words that stand alone: what follows them is a word of its own."""

_JOINED_TO_FREE_WORD = {
    "in": ("uenc", "uent", "uenz", "am", "at", "ux", "ict", "ect", "ex", "nit", "ltr", "rm", "del"),
    "of": ("ce", "ci", "ine"),
    "be": ("t",),
    "over": ("ow",),
    "out": ("ow", "t"),
    "under": ("ow",),
}
"""For some of them, the pieces after the ligature with which they do make one word ("in fl uence", "of fi ce")."""

_FI_WORDS = tuple(
    _words(
        """
        fiasco fiat fib ficti fiddl fidel fiduc field fiend fierc fiest fifteen fifth fifty fight figment figur filam
        filar filed files filing fill film filt final financ find fine finger finish finit finland finn fire fired
        firing firm first fiscal fish fission fissur fist fitn fitt five fixat fixed fixing fixtur fjord
        flagell flagged flagship flake flame flammab flank flap flare flash flask flat flavo flaw flax flea fled flee
        flesh flew flex flick flies flight flint flip float flock flood floor flor flour flow flown fluctu fluenc
        fluent fluid fluor fluox flush flutic flux fly
        """
    )
)
_FI_WHOLE_WORDS = _words("fide fig figs file fin fins fir firs fit fits fix flag flags flu")
"""How English words begin with fi or fl; a piece that begins otherwise must be the end of a broken word."""

_BOUND = _words(
    """
    af auto bene bio brie butter chie circum cof con cruci de discon dragon epi ful grif immuno inde iso mis misde muf
    myo neuro paraf pre pro puf re rea recon rede retro suf super trans un uncon unde zebra
    """
)
"""Beginnings that go on even with something that could be a word: "de fi ned", "pro fi le", "con fi rm"."""

_FF_ENDS = _words(
    """
    bli blu bu cli cuto cu dandru du fallo handcu kicko kno layo lifto o payo pla playo pu rollo ru runo sherri shuto
    sni spino sta standb sti stu takeo tari tradeo turno wa
    """
)
"""What can stand before a final ff: "staff and" is two words, "di ff erent" one."""

_AFTER_FF = _words(
    """
    ed er ered erent erence erences erential ering erings ers et ets ice ices icer icers icial icially icult iculty
    ident iliat ing le led les line ly ness s set sets shoot shoots shore side spring springs usion use used uses usive
    y
    """
)
"""What goes on after such an ff within the same word."""

_ALONE_AFTER = frozenset({"hi", "lo", "sci", "semper", "wi"})
"""Wi Fi, sci fi and their kind are written apart on purpose."""


@dataclass(frozen=True)
class _Break:
    """A ligature with its neighbours; ``before`` and ``after`` are the letters next to it, perhaps behind a blank."""

    before: str
    after: str
    letters: str
    is_glyph: bool
    gap_before: bool
    gap_after: bool

    @property
    def starts_a_word(self) -> bool:
        whole = (self.letters + self.after).lower()
        return whole in _FI_WHOLE_WORDS or whole.startswith(_FI_WORDS)


def join_split_ligatures(text: str) -> tuple[str, int]:
    """Join words that were broken around an f-ligature.

    Args:
        text: any text; the ligature may be a glyph of its own (U+FB00 to U+FB04) or plain letters standing alone.

    Returns:
        The text without the blanks that broke words, and how many words were joined.
    """
    if not _SUSPECT.search(text):
        return text, 0
    joined = 0

    def join(match: re.Match[str]) -> str:
        nonlocal joined
        found = _Break(
            before=match["before"] or "",
            after=match["after"],
            letters=_GLYPHS.get(match["glyph"] or "", match["letters"] or ""),
            is_glyph=bool(match["glyph"]),
            gap_before=bool(match["gap_before"]),
            gap_after=bool(match["gap_after"]),
        )
        close_left = found.gap_before and _belongs_left(found)
        close_right = found.gap_after and _belongs_right(found, close_left or not found.gap_before)
        joined += close_left or close_right
        left = found.before + (match["gap_before"] or "" if not close_left else "")
        return left + (match["glyph"] or match["letters"]) + ("" if close_right else match["gap_after"]) + found.after

    return _BROKEN.sub(join, text), joined


def _belongs_left(found: _Break) -> bool:
    """Tell whether the piece before the blank and the ligature are one word."""
    before = found.before.lower()
    if not before or before in _ALONE_AFTER or not (found.after[:1].islower() or found.letters == "ff"):
        return False
    if found.letters.startswith("ff"):  # no word begins so
        return bool(found.after) or before in _FF_ENDS
    if before in _FREE_WORDS:
        return found.after.startswith(_JOINED_TO_FREE_WORD.get(before, ("\0",)))
    return before in _BOUND or not found.starts_a_word


def _belongs_right(found: _Break, has_beginning: bool) -> bool:
    """Tell whether the ligature and the piece after the blank are one word.

    Args:
        found: the ligature and its neighbours.
        has_beginning: the piece before, if any, is part of the same word.
    """
    before = found.before.lower()
    if not found.after[:1].islower() or before in _ALONE_AFTER:
        return False
    if found.letters == "ff" and before in _FF_ENDS:
        return found.after in _AFTER_FF
    if before and has_beginning:
        return True
    return found.starts_a_word
