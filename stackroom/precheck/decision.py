"""From evidence to decision: which pages keep their text layer, which are read by OCR, and why, in words.

Pure functions; the evidence comes from :mod:`stackroom.precheck.page`. Where the evidence is weak the answer is OCR: it
costs seconds, a lost page costs the reader.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stackroom.config import OcrSettings
from stackroom.precheck.result import Decision, PageStatistics, PdfClassification
from stackroom.precheck.words import TextQuality

_FULL_PAGE = 0.65
"""Coverage from which a picture is the page. Scans with margins cut cover 0.75 and more; the largest figure of 26
papers that stands beside running text covers 0.56."""
_STAMP_LINES = 6
"""Lines a stamp or download notice takes at most; a page with more is a designed page on a picture, such as a slide."""
_SMALL_PICTURE = 0.02
"""Coverage of a logo or bullet, not worth OCR by itself."""
_FEW_LINES = 4
"""Drawn lines that are rules and frames, not letters drawn as outlines."""
_MAX_ODD_SHARE = 0.3
_MAX_SIGN_SHARE = 0.8
"""A page of boxes or question marks in place of letters has 1; the most in the papers is 0.2."""
_UNMAPPED = 0.5
"""Share of characters without font mapping from which the text is suspect. Measured: 0.94 and more on garbled pages,
0.13 at most on readable pages of the papers. Some fonts are readable all the same: then the words say so."""
_SUSPECT_IMPLAUSIBLE_SHARE = 0.15
_DOUBLED = 0.3
"""Share of characters that come twice even after PDFium has taken out the copies it recognises; a text that is doubled
throughout has 0.5, the most in the papers is 0.01."""
_WORTH_A_NOTE = 0.05


@dataclass(frozen=True)
class PageEvidence:
    """What was measured on one page."""

    page: int
    quality: TextQuality
    lines: int = 0
    unmapped_share: float = 0.0
    repeated_share: float = 0.0
    """Characters that come twice in the extracted text."""
    duplicated_share: float = 0.0
    """Pieces of text drawn twice; PDFium takes the copies out of the text."""
    invisible_share: float = 0.0
    rotation: int = 0
    image_coverage: float = 0.0
    text_objects: int = 0
    drawn_lines: int = 0
    other_marks: int = 0
    """Shadings and annotations that show something."""
    ink: bool = True
    """False when the page was drawn and shows nothing."""
    readable: bool = True

    @property
    def text_only(self) -> bool:
        """Whether nothing is drawn that OCR could find beyond the text layer."""
        return (
            self.image_coverage < _SMALL_PICTURE
            and self.drawn_lines <= (_FEW_LINES if self.quality.characters else 0)
            and self.other_marks == 0
            and self.text_objects <= self.quality.characters
        )


def decide_page(evidence: PageEvidence, settings: OcrSettings) -> PageStatistics:
    """Decide about one page."""
    garble = _garbled(evidence, settings)
    few = evidence.quality.characters < settings.min_page_characters
    stamped = not few and not garble and _is_stamped_scan(evidence, settings)
    decision, reason = _automatic(evidence, settings, garble, stamped)
    if evidence.readable and settings.mode != "auto":
        decision, reason = _forced(decision, reason, settings)
    quality = evidence.quality
    return PageStatistics(
        page=evidence.page,
        characters=quality.characters,
        image_coverage=round(evidence.image_coverage, 3),
        odd_share=round(quality.odd_share, 3),
        implausible_share=round(quality.implausible_share, 3),
        unmapped_share=round(evidence.unmapped_share, 3),
        duplicated_share=round(max(evidence.duplicated_share, evidence.repeated_share), 3),
        invisible_share=round(evidence.invisible_share, 3),
        rotation=evidence.rotation,
        decision=decision,
        reason=reason,
        image_page=few or stamped,
        garbled=garble is not None and not few,
        readable=evidence.readable,
    )


def classify_pages(pages: Sequence[PageStatistics], settings: OcrSettings) -> PdfClassification:
    """Sum the pages up. A file of no pages needs OCR, by the rule that OCR is the safe side."""
    image_pages = sum(page.image_page for page in pages)
    garbled_pages = sum(page.garbled for page in pages)
    scanned = not pages or (image_pages + garbled_pages) / len(pages) >= settings.image_page_fraction
    needs_ocr = {"auto": scanned, "always": True, "never": False}[settings.mode]
    return PdfClassification(
        pages=len(pages),
        image_pages=image_pages,
        garbled_pages=garbled_pages,
        total_chars=sum(page.characters for page in pages),
        needs_ocr=needs_ocr,
        reason=_sum_up(pages, image_pages, garbled_pages),
        page_statistics=tuple(pages),
    )


def with_attachments(classification: PdfClassification, attachments: int) -> PdfClassification:
    """Add to the reason that a PDF carries attached documents, which are not read (a portfolio)."""
    if not attachments:
        return classification
    said = f"{classification.reason}; {_count(attachments, 'attached document')} inside the PDF not read"
    return replace(classification, reason=said)


def _automatic(
    evidence: PageEvidence, settings: OcrSettings, garble: str | None, stamped: bool
) -> tuple[Decision, str]:
    characters = evidence.quality.characters
    if not evidence.readable:
        return "ocr", "the page cannot be loaded"
    if garble is not None:
        return "ocr", f"text layer of {_count(characters, 'character')} is unreadable: {garble}"
    if stamped:
        return "ocr", f"{_count(characters, 'character')} (a stamp) on a picture over {_cover(evidence)} of the page"
    if characters >= settings.min_page_characters:
        return "text", _text_reason(evidence)
    return _few_characters(evidence)


def _few_characters(evidence: PageEvidence) -> tuple[Decision, str]:
    characters = evidence.quality.characters
    said = _count(characters, "character") if characters else "no text"
    if not evidence.ink:
        if characters:
            return "text", f"{said}; nothing can be seen on the page"
        lost = (
            f" ({_count(evidence.text_objects, 'piece')} of text that cannot be drawn)" if evidence.text_objects else ""
        )
        return "blank", f"nothing can be seen on the page{lost}"
    if evidence.text_only:
        return ("text", f"{said} and nothing else on the page") if characters else ("blank", "nothing on the page")
    if evidence.image_coverage >= _SMALL_PICTURE:
        return "ocr", f"{said}; a picture covers {_cover(evidence)} of the page"
    return "ocr", f"{said}; the page shows something that is not text"


def _text_reason(evidence: PageEvidence) -> str:
    quality = evidence.quality
    notes = []
    if evidence.invisible_share >= 0.5:
        notes.append(f"an OCR layer (not painted) that reads as language, {_cover(evidence)} picture")
    if evidence.duplicated_share >= _WORTH_A_NOTE:
        notes.append(f"{evidence.duplicated_share:.0%} of it drawn twice (fake bold)")
    if quality.implausible_words:
        notes.append(f"{quality.implausible_share:.1%} of words implausible")
    return "; ".join([f"text layer of {_count(quality.characters, 'character')}", *notes])


def _garbled(evidence: PageEvidence, settings: OcrSettings) -> str | None:
    """Return why a text layer does not read as language, or None when it does (or there is none)."""
    quality = evidence.quality
    if quality.characters == 0:
        return None
    if quality.odd_share > _MAX_ODD_SHARE:
        return f"{quality.odd_share:.0%} of characters are control or private-use characters"
    if quality.sign_share > _MAX_SIGN_SHARE:
        return f"{quality.sign_share:.0%} of characters are signs, not letters or digits"
    if quality.implausible_share > settings.max_garbled_fraction:
        return f"{quality.implausible_share:.0%} of words are implausible"
    mostly_latin = quality.latin_share > 0.5
    if mostly_latin and quality.rhythm.natural is False:
        return "vowels and consonants do not alternate as in any language"
    suspect = quality.implausible_share > _SUSPECT_IMPLAUSIBLE_SHARE or not mostly_latin
    if evidence.unmapped_share > _UNMAPPED and suspect:
        return f"the fonts do not say what {evidence.unmapped_share:.0%} of the characters mean"
    if evidence.repeated_share > _DOUBLED:
        return f"{evidence.repeated_share:.0%} of the characters come twice in the same place"
    return None


def _is_stamped_scan(evidence: PageEvidence, settings: OcrSettings) -> bool:
    return (
        evidence.image_coverage >= _FULL_PAGE
        and evidence.quality.characters < settings.max_stamp_characters
        and evidence.lines <= _STAMP_LINES
        and evidence.invisible_share < 0.5
    )


def _forced(decision: Decision, reason: str, settings: OcrSettings) -> tuple[Decision, str]:
    if settings.mode == "always":
        return (decision, reason) if decision == "blank" else ("ocr", f"OCR is set to always ({reason})")
    return (decision, reason) if decision != "ocr" else ("text", f"OCR is set to never ({reason})")


def _sum_up(pages: Sequence[PageStatistics], image_pages: int, garbled_pages: int) -> str:
    if not pages:
        return "no pages"
    decisions = Counter(page.decision for page in pages)
    parts = [f"{_count(len(pages), 'page')}: {decisions['text']} with text, {decisions['ocr']} for OCR"]
    if decisions["blank"]:
        parts.append(f"{decisions['blank']} blank")
    if image_pages:
        parts.append(f"{_count(image_pages, 'image page')}")
    if garbled_pages:
        parts.append(f"{garbled_pages} with an unreadable text layer")
    unreadable = sum(not page.readable for page in pages)
    if unreadable:
        parts.append(f"{unreadable} that cannot be loaded")
    return ", ".join(parts)


def _cover(evidence: PageEvidence) -> str:
    return f"{evidence.image_coverage:.0%}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
