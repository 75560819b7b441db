"""Every file of a collection of hard cases through the converter, and the table of what became of each.

    python benchmarks/robustness.py COLLECTION [--write docs/robustness.md]

COLLECTION holds the folders `hard`, `scans`, `office` and `papers`, a `SOURCES.tsv` with a note per file, and
`scans-truth.json` with the true text of some scans. All files go through one converter in one run.
"""

import argparse
import csv
import hashlib
import json
import re
import statistics
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pypdfium2 as pdfium

from stackroom.config import ConversionSettings, EmbedderSettings, LimitSettings, OcrSettings
from stackroom.conversion import Conversion, ConversionOptions, ConversionRequest, open_converter
from stackroom.embedding.tokenizer import open_tokenizer
from stackroom.outcome import Failed

FOLDERS = ("hard", "scans", "office", "papers")
LEAST_DPI = {"raster-bogner2019-100dpi.pdf": 100}
"""Scans below 150 dpi; the recall asked for is that of the others."""
NOT_LATIN = {"ocrd-kant-1784-0017.pdf"}
"""Fraktur: the recognition models have not learnt it."""


@dataclass
class Row:
    """What became of a file."""

    path: Path
    outcome: Conversion | Failed
    seconds: float

    @property
    def state(self):
        """Return searchable, partial or quarantined."""
        if isinstance(self.outcome, Failed):
            return "quarantined"
        return "searchable" if self.outcome.report.state == "complete" else "partial"

    @property
    def text(self):
        """Return the text of all chunks."""
        return "\n".join("\n".join([*chunk.headings, chunk.text]) for chunk in self.outcome.chunks)


class Watch:
    """Samples the memory of this process and of its worker processes."""

    def __init__(self):
        self.parent = self.workers = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        self._thread.join()

    def _sample(self):
        me = psutil.Process()
        while not self._over.wait(0.5):
            self.parent = max(self.parent, me.memory_info().rss / 1e6)
            total = 0.0
            for child in me.children():
                try:
                    total += child.memory_info().rss / 1e6
                except psutil.Error:
                    continue
            self.workers = max(self.workers, total)


def run(files, options):
    with tempfile.TemporaryDirectory() as cache, open_converter(options, Path(cache)) as converter, Watch() as watch:

        def convert(path):
            started = time.perf_counter()
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            request = ConversionRequest(path, path.name, digest)
            outcome = classified = converter.classify(request)
            if not isinstance(classified, Failed):  # as the stages do it: one after the other
                outcome = converter.convert(replace(request, classification=classified))
            return Row(path, outcome, time.perf_counter() - started)

        with ThreadPoolExecutor(converter.workers) as executor:
            return list(executor.map(convert, files)), watch


def words(text):
    return Counter(re.findall(r"\w+", text.casefold()))


def true_text(path):
    if path.suffix != ".pdf":
        return path.read_text(encoding="utf-8", errors="replace")
    with pdfium.PdfDocument(path) as document:
        return document[0].get_textpage().get_text_bounded()


def recalls(rows, collection):
    """Return name and word recall of every scan whose true text is known."""
    truth = json.loads((collection / "scans-truth.json").read_text(encoding="utf-8"))
    found = {}
    for row in rows:
        known = truth.get(row.path.name, {})
        if "truth" not in known or isinstance(row.outcome, Failed):
            continue
        wanted = words(true_text(row.path.parent / known["truth"]))
        if "each of" in known.get("kind", ""):
            wanted = Counter({word: count * known["pages"] for word, count in wanted.items()})
        held = words(row.text)
        found[row.path.name] = (wanted & held).total() / wanted.total()
    return found


def notes(collection):
    with (collection / "SOURCES.tsv").open(encoding="utf-8", newline="") as handle:
        return {line["local_path"]: line["note"] for line in csv.DictReader(handle, delimiter="\t")}


def counted(counter):
    return ", ".join(f"{count} {name}" for name, count in counter.most_common())


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def table(rows, known):
    lines = ["| file | state | what happened | pages | OCR | note on the file |", "|---|---|---|---:|---:|---|"]
    for row in rows:
        if isinstance(row.outcome, Failed):
            told, pages, ocr = f"`{row.outcome.reason}`: {row.outcome.message}", "", ""
        else:
            report = row.outcome.report
            told = f"{len(row.outcome.chunks)} chunks, {report.lost_text_ratio:.1%} of the words lost"
            told += f"; pages {list(report.missing_pages)} unreadable" if report.missing_pages else ""
            told += f"; {report.wrong_type}" if report.wrong_type else ""
            pages, ocr = report.pages or "", len(report.ocr_pages) or ""
        note = known.get(f"{row.path.parent.name}/{row.path.name}", "")
        lines.append(f"| {cell(row.path.name)} | {row.state} | {cell(told)} | {pages} | {ocr} | {cell(note)} |")
    return lines


def page(rows, watch, seconds, collection):
    states = Counter(row.state for row in rows)
    reasons = Counter(row.outcome.reason.value for row in rows if isinstance(row.outcome, Failed))
    lost = [
        row.outcome.report.lost_text_ratio
        for row in rows
        if row.path.parent.name == "papers" and isinstance(row.outcome, Conversion)
    ]
    recall = recalls([row for row in rows if row.path.parent.name == "scans"], collection)
    judged = [value for name, value in recall.items() if name not in LEAST_DPI and name not in NOT_LATIN]
    longest = max(
        (chunk.token_count for row in rows if isinstance(row.outcome, Conversion) for chunk in row.outcome.chunks),
    )
    known = notes(collection)
    head = f"""# Robustness

What becomes of files that are damaged, encrypted, lying, huge or odd. Made by
`python benchmarks/robustness.py COLLECTION --write docs/robustness.md`; no passwords were given.

- {len(rows)} files in one run of {seconds / 60:.0f} minutes: {counted(states)} ({counted(reasons)}).
- Memory: {watch.parent:.0f} MB in the parent at most, {watch.workers:.0f} MB in all worker processes.
- Papers: {statistics.median(lost):.2%} of the words lost in the median, {max(lost):.2%} at most; longest chunk of all
  files {longest} tokens.
- OCR: mean word recall {statistics.mean(judged):.3f} over {len(judged)} scans in Latin script of 150 dpi or more.
"""
    lines = [*head.splitlines(), ""]
    for folder in FOLDERS:
        lines += [f"## {folder}", "", *table([row for row in rows if row.path.parent.name == folder], known), ""]
    lines += ["## Word recall of OCR", "", "| scan | recall |", "|---|---:|"]
    lines += [f"| {name} | {value:.3f} |" for name, value in recall.items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--write", type=Path, help="file to write; without it the page is printed")
    arguments = parser.parse_args()
    files = [
        path
        for folder in FOLDERS
        for path in sorted((arguments.collection / folder).iterdir())
        if path.is_file() and not (folder == "scans" and ("truth" in path.name or path.suffix in (".txt", ".md")))
    ]
    tokenizer = open_tokenizer(EmbedderSettings())
    options = ConversionOptions(
        ConversionSettings(layout="bundled"), OcrSettings(), LimitSettings(), tokenizer.file, tokenizer.max_tokens
    )
    started = time.perf_counter()
    rows, watch = run(files, options)
    text = page(rows, watch, time.perf_counter() - started, arguments.collection)
    if arguments.write:
        arguments.write.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
