"""Writes the sample library, a handbook of Stackroom in ten documents of eight kinds, into ``library/``.

Run it as ``python tools/library/build.py [FOLDER]`` (or ``make sample-library``). The same texts and the same versions
of the libraries give the same bytes. The texts are in ``tools/library/texts``; the formats are chosen so that every way
a document can enter Stackroom is tried: a two-column PDF with a table and a figure, a plain PDF, a scan, a PDF of text
and scanned pages, Word, HTML, Markdown, PowerPoint and Excel. Beside them stands a curated metadata map, which corrects
what the documents do not say themselves.
"""

import json
import sys
import tempfile
from pathlib import Path

from markup import Block, Document, read_document
from office import write_docx, write_pptx, write_xlsx
from pdf import write_pdf
from scan import scanned_pages, write_scan
from web import write_html, write_markdown

LIBRARY = Path(__file__).resolve().parents[2] / "library"


def build(folder: Path) -> list[Path]:
    """Write all documents into ``folder`` and return their paths."""
    for name in ("guides", "reference", "slides"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    write_pdf(read_document("keeping-stores-in-step"), folder / "keeping-stores-in-step.pdf", columns=2)
    write_pdf(read_document("hybrid-retrieval"), folder / "guides" / "hybrid-retrieval.pdf")
    _write_scanned(read_document("damaged-files"), folder / "guides" / "damaged-files.pdf")
    _write_mixed(read_document("reading-pages-by-eye"), folder / "guides" / "reading-pages-by-eye.pdf")
    write_docx(read_document("metadata-map"), folder / "guides" / "metadata-map.docx")
    write_markdown(read_document("chunking"), folder / "guides" / "chunking.md")
    write_html(read_document("filters"), folder / "reference" / "filters.html")
    write_xlsx(read_document("stores"), folder / "reference" / "stores.xlsx")
    write_markdown(read_document("troubleshooting"), folder / "reference" / "troubleshooting.md")
    write_pptx(read_document("operating"), folder / "slides" / "operating.pptx")
    _write_curated_map(folder / "metadata-map.json")
    return sorted(path for path in folder.rglob("*") if path.is_file())


# What no program can know, because the document does not say it where programs look.
CURATED = {
    "guides/chunking.md": ("chunking", ("authors", "year", "keywords")),
    "guides/damaged-files.pdf": ("damaged-files", ("year",)),
    "reference/filters.html": ("filters", ("year",)),
    "reference/troubleshooting.md": ("troubleshooting", ("authors", "year", "keywords")),
}


def _write_curated_map(path: Path) -> None:
    """Write the corrections a person would make after looking at what was extracted."""
    entries = {}
    for source, (name, fields) in CURATED.items():
        document = read_document(name)
        values = {"authors": list(document.authors), "year": document.year, "keywords": list(document.keywords)}
        entries[source] = {"DEFAULT": {field: values[field] for field in fields}}
    path.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _write_scanned(document: Document, path: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        clean = Path(scratch) / "clean.pdf"
        write_pdf(document, clean)
        pages = scanned_pages(clean, [0.8], seed=1)
    write_scan(pages, path, document)


def _write_mixed(document: Document, path: Path) -> None:
    """Write the blocks before the page break as text and those behind it as a scanned page."""
    split = document.blocks.index(Block("page"))
    appendix = Document(
        title=document.blocks[split + 1].text,
        authors=("Keeper of the light",),
        year=1931,
        part=document.part,
        keywords=(),
        abstract="",
    )
    with tempfile.TemporaryDirectory() as scratch:
        clean = Path(scratch) / "clean.pdf"
        write_pdf(appendix, clean, blocks=document.blocks[split + 2 :])
        pages = scanned_pages(clean, [-0.7], seed=2)
    write_pdf(document, path, blocks=document.blocks[:split], scans=pages)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else LIBRARY
    written = build(target)
    for file in written:
        print(f"{file.stat().st_size:>9,}  {file.relative_to(target)}")
    print(f"{sum(file.stat().st_size for file in written):>9,}  in all")
