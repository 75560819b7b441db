"""Values that stand where metadata should and are none: file names, template text, names of software."""

import re

from stackroom.biblio.folding import fold, squash

_EMPTY_TITLES = frozenset(
    """
    untitled|untitled document|untitled 1|no title|notitle|title|unknown|document|document 1|document1|doc1|print|blank
    |paper|paper title|paper title use style paper title|article|manuscript|main|draft|preprint|template|full paper|word
    |title page|cover|cover page|your title here|insert title here|the title of the paper|type the document title
    |powerpoint presentation|presentation|slide 1|sheet1|book1|scan|scanned document|scanned image|binder1|rs|pii|none
    |n a|null|test|microsoft word|latex|the document title|instructions for authors|author guidelines
    """.replace("\n", "")
    .strip()
    .split("|")
)
EMPTY_TITLES = frozenset(title.strip() for title in _EMPTY_TITLES)

SECTION_LABELS = frozenset(
    squash(label)
    for label in """
    review|reviews|review article|research|research article|research paper|research articles|original
    article|original |original research|original paper|original investigation|highlights|abstract |
    author summary|summary|introduction |background|doi|editorial|front matter|correspondence|for
    correspondence|article|articles|letter|letters|letter to the editor|short report|short
    communication|brief report|brief communication|case report|case study|methodology |methodology
    article|method|methods article|software|software article|database|study protocol|protocol |
    commentary |perspective|opinion|open access|open|open peer review|technical note|technical report
   |report|conference paper |full paper|research note|data descriptor|data note|data paper |
    systematic review|meta analysis|poster|proceedings |keywords|contents|table of contents |
    acknowledgements|references|provisional|accepted manuscript|author manuscript |accepted article |
    early view|in press|draft|preprint|working paper|discussion paper|special issue|feature article  |
    news|book review|erratum|corrigendum|correction|debate|viewpoint|essay|hypothesis|rapid
    communication|regular article |invited review|mini review|minireview|tutorial|survey|chapter |
    overview
    """.replace("\n", " ").split("|")
)
"""Labels of kinds and parts of articles, squashed (publishers print them letter-spaced)."""

_FILE_NAME = re.compile(
    r"\.(?:pdf|docx?|dotx?|rtf|tex|dvi|ps|eps|indd|qxd|qxp|fm|pptx?|xlsx?|odt|html?|xml|txt|md|pages|key|tmp|p65|wpd)"
    r"(?:\b|$)",
    re.IGNORECASE,
)
_MADE_BY = re.compile(
    r"^(?:microsoft (?:word|powerpoint|excel)|powerpoint presentation|adobe \w+|layout 1)\b", re.IGNORECASE
)
_PAGE_RANGE = re.compile(r"^\S*\s*\d+\s*\.\.\s*\d+$")
"""What one typesetting system writes as title: ``pone.0115884 1..14``."""
_CODE = re.compile(r"^[\w.:/()\[\]#-]*\d[\w.:/()\[\]#-]*$")
_SOFTWARE = re.compile(
    r"\b(?:latex|pdftex|miktex|ghostscript|acrobat|distiller|itext\w*|microsoft|word|excel|powerpoint|openoffice"
    r"|libreoffice|writer|indesign|quark\w*|framemaker|arbortext|wkhtmltopdf|quartz|tcpdf|reportlab|pdfresizer|fop"
    r"|python[- ]?docx|pdf|printer|scanner|adobe|prince|antenna house|pandoc|typst|elsevier|springer|wiley"
    r"|administrator|admin|user|owner|root|author|authors|anonymous|unknown|default|dell|hp|lenovo|acer|toshiba|asus"
    r"|staff|office user|windows user|test|none|null|n/a)\b",
    re.IGNORECASE,
)


def is_junk_title(title: str, stem: str = "") -> bool:
    """Whether a title says nothing about the work: a file name, a page range, template text, a label.

    Args:
        title: the title.
        stem: the file's name without suffix; a title equal to it is no title.
    """
    folded = fold(title)
    squashed = folded.replace(" ", "")
    if sum(char.isalpha() for char in folded) < 3 or folded in EMPTY_TITLES or squashed in SECTION_LABELS:
        return True
    if stem and squashed == squash(stem):
        return True
    one_word = " " not in title.strip()
    return bool(
        _MADE_BY.search(title)
        or _PAGE_RANGE.match(title.strip())
        or (_FILE_NAME.search(title) and len(folded.split()) <= 6)
        or (one_word and _CODE.match(title.strip()))
    )


def is_junk_author(name: str) -> bool:
    """Whether an author entry names software, a computer account or nobody."""
    folded = fold(name)
    if sum(char.isalpha() for char in folded) < 2 or "@" in name or "://" in name or "www." in name.lower():
        return True
    return bool(_SOFTWARE.search(name)) or bool(re.search(r"\d", name)) or len(folded.split()) > 8
