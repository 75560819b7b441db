"""How well bibliographic metadata is found: right values per field against a file of true ones, each miss listed.

    python benchmarks/metadata.py FOLDER --truth FILE [--cache DIR] [--text-layer-only] [--json]

The truth is a JSON object: file name to ``title, authors, year, journal, doi`` as printed in the file, null for what
is not printed. A field counts as right when it is equal after folding of case, punctuation and white space (authors:
the same surnames in the same order), or rightly empty. A DOI that belongs to another work is counted apart.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from stackroom.biblio.doi_text import doi_key
from stackroom.biblio.extract import extract_entry
from stackroom.biblio.folding import fold, squash
from stackroom.biblio.names import surname
from stackroom.biblio.signals import collect_signals
from stackroom.config import ConversionSettings, EmbedderSettings, LimitSettings, MetadataSettings, OcrSettings
from stackroom.outcome import Failed
from stackroom.sources import content_hash

Signals = dict[str, Any]


def _surnames(names: Any) -> list[str]:
    return [squash(surname(str(name))) for name in names or ()]


RULES: dict[str, Callable[[Any, Any], bool]] = {
    "title": lambda found, true: fold(str(found or "")) == fold(str(true or "")),
    "authors": lambda found, true: _surnames(found) == _surnames(true),
    "year": lambda found, true: found == true,
    "journal": lambda found, true: fold(str(found or "")) == fold(str(true or "")),
    "doi": lambda found, true: doi_key(str(found or "")) == doi_key(str(true or "")),
}
PRINTED_ONLY = frozenset({"journal"})
"""Fields judged only where the truth has a value: what takes the place of a journal is not agreed on."""


def signals_by_conversion(files: list[Path], cache: Path) -> dict[Path, Signals]:
    """Return the signals of files as the product gathers them: in its worker processes, with OCR where needed."""
    from stackroom.conversion import ConversionOptions, ConversionRequest, open_converter
    from stackroom.embedding.tokenizer import open_tokenizer

    tokenizer = open_tokenizer(EmbedderSettings())
    options = ConversionOptions(
        ConversionSettings(), OcrSettings(), LimitSettings(), tokenizer.file, tokenizer.max_tokens
    )
    with open_converter(options, cache) as converter:

        def convert(file: Path) -> Signals:
            request = ConversionRequest(file, file.name, content_hash(file))
            conversion = converter.convert(request)
            if isinstance(conversion, Failed):
                print(f"{file.name}: not converted: {conversion.message}", file=sys.stderr)
                return collect_signals(file, None, "pdf")
            return conversion.signals

        with ThreadPoolExecutor(converter.workers) as pool:
            return dict(zip(files, pool.map(convert, files), strict=True))


def judge(entries: dict[str, dict[str, Any]], truth: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return right and total per field, the misses, and the DOIs of other works that were taken."""
    report: dict[str, Any] = {"fields": {}, "misses": [], "foreign_dois": []}
    for field, is_right in RULES.items():
        judged = [name for name in truth if name in entries and (field not in PRINTED_ONLY or truth[name].get(field))]
        wrong = [name for name in judged if not is_right(entries[name].get(field), truth[name].get(field))]
        report["fields"][field] = {"right": len(judged) - len(wrong), "total": len(judged)}
        report["misses"] += [
            {"field": field, "file": name, "found": entries[name].get(field), "true": truth[name].get(field)}
            for name in wrong
        ]
    report["foreign_dois"] = [
        miss["file"] for miss in report["misses"] if miss["field"] == "doi" and miss["found"] is not None
    ]
    return report


def main() -> int:
    """Run the benchmark and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="folder of converted documents, kept from run to run")
    parser.add_argument("--text-layer-only", action="store_true", help="skip conversion and OCR; faster, finds less")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    truth = json.loads(arguments.truth.read_text(encoding="utf-8"))
    files = [path for name in truth if (path := arguments.folder / name).is_file()]
    if not files:
        print(f"none of the {len(truth)} files of {arguments.truth} is in {arguments.folder}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        if arguments.text_layer_only:
            signals = {file: collect_signals(file, None, "pdf") for file in files}
        else:
            signals = signals_by_conversion(files, arguments.cache or Path(temporary))
    # A neutral source id: the file's name must not help.
    found = {
        file.name: dict(extract_entry(signals[file], f"source-{number}.pdf", MetadataSettings()).entry)
        for number, file in enumerate(files)
    }
    report = judge(found, truth)
    print(json.dumps(report, ensure_ascii=False, indent=1) if arguments.json else as_text(report))
    return 0


def as_text(report: dict[str, Any]) -> str:
    """Return the report in words."""
    lines = [f"{field:8} {row['right']:4} of {row['total']}" for field, row in report["fields"].items()]
    lines.append(f"DOIs of other works taken: {len(report['foreign_dois'])}")
    for miss in report["misses"]:
        lines += [f"- {miss['field']}: {miss['file']}", f"    found {miss['found']!r}", f"    true  {miss['true']!r}"]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
