"""Pages per second of the product against a plain docling script with the same models, on the same files, in one run.

    python benchmarks/conversion.py FOLDER [--files 8] [--repeat 100]

The plain script is what anyone would write: one process, one `DocumentConverter`, file after file, with docling's own
thread settings. The product does more in its time: it classifies pages, chunks, and collects bibliographic signals.
Both are timed from the first file to the last, start-up left out. Then one file is converted `--repeat` times, past the
cache, to see whether the parent's memory grows.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil

from stackroom.config import ConversionSettings, EmbedderSettings, LimitSettings, OcrSettings
from stackroom.conversion import ConversionOptions, ConversionRequest, open_converter
from stackroom.embedding.tokenizer import open_tokenizer
from stackroom.outcome import Failed

PLAIN = """
import json, sys, time
from pathlib import Path
from docling.datamodel.base_models import InputFormat
from docling.datamodel.pipeline_options import ThreadedPdfPipelineOptions
from docling.document_converter import DocumentConverter, PdfFormatOption
from stackroom.conversion.layout_plugin import RapidLayoutOptions
from stackroom.conversion.table_plugin import RapidTableOptions

options = ThreadedPdfPipelineOptions(
    do_ocr=False,
    allow_external_plugins=True,
    layout_options=RapidLayoutOptions(),
    table_structure_options=RapidTableOptions(),
)
converter = DocumentConverter(format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)})
converter.initialize_pipeline(InputFormat.PDF)
started = time.perf_counter()
pages = sum(len(converter.convert(Path(name)).document.pages) for name in sys.argv[1:])
print(json.dumps({"pages": pages, "seconds": time.perf_counter() - started}))
"""


def plain(files):
    """Convert the files with plain docling in a process of its own."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", PLAIN, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def request_for(path):
    return ConversionRequest(path, path.name, hashlib.sha256(path.read_bytes()).hexdigest())


def product(files, options):
    """Convert the files with the product, as many at once as it has workers."""
    with tempfile.TemporaryDirectory() as cache, open_converter(options, Path(cache)) as converter:
        started = time.perf_counter()
        with ThreadPoolExecutor(converter.workers) as executor:
            outcomes = list(executor.map(converter.convert, map(request_for, files)))
        seconds = time.perf_counter() - started
        failed = [path.name for path, outcome in zip(files, outcomes, strict=True) if isinstance(outcome, Failed)]
        if failed:
            raise SystemExit(f"could not convert {', '.join(failed)}")
        return {"pages": sum(outcome.report.pages for outcome in outcomes), "seconds": seconds}, converter.workers


def memory(path, options, repeat):
    """Convert one file again and again; return the parent's memory in MB after each time."""
    process = psutil.Process()
    sizes = []
    with tempfile.TemporaryDirectory() as cache, open_converter(options, Path(cache)) as converter:
        for number in range(repeat):
            converter.convert(replace(request_for(path), content_hash=f"{number:064x}"))
            sizes.append(process.memory_info().rss / 1e6)
    return sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with PDFs that have a text layer")
    parser.add_argument("--files", type=int, default=8, help="how many of them, in the order of their names")
    parser.add_argument("--repeat", type=int, default=100, help="conversions of one file for the memory figure")
    arguments = parser.parse_args()
    files = sorted(path for path in arguments.folder.glob("*.pdf") if "garbled" not in path.name)[: arguments.files]
    tokenizer = open_tokenizer(EmbedderSettings())
    options = ConversionOptions(
        ConversionSettings(layout="bundled"), OcrSettings(), LimitSettings(), tokenizer.file, tokenizer.max_tokens
    )
    by_product, workers = product(files, options)
    by_docling = plain(files)
    rates = {name: run["pages"] / run["seconds"] for name, run in (("product", by_product), ("plain", by_docling))}
    print(f"{len(files)} files, {by_product['pages']} pages")
    print(f"product, {workers} workers   {by_product['seconds']:7.1f} s   {rates['product']:5.2f} pages/s")
    print(f"plain docling        {by_docling['seconds']:7.1f} s   {rates['plain']:5.2f} pages/s")
    print(f"product / plain      {rates['product'] / rates['plain']:7.2f}")
    if arguments.repeat:
        sizes = memory(min(files, key=lambda path: path.stat().st_size), options, arguments.repeat)
        print(f"parent memory over {len(sizes)} conversions: {sizes[9]:.0f} MB after 10, {max(sizes):.0f} MB at most")


if __name__ == "__main__":
    main()
