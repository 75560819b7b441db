"""What a worker process does with a file: classify, convert, chunk, collect signals. The child's composition root.

This is the one module that knows all the parts. It runs only inside worker processes; nothing else imports it.
"""

import contextlib
import ctypes
import gc
import hashlib
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackroom.biblio.signals import collect_signals
from stackroom.conversion import Conversion, ConversionOptions, ConversionReport
from stackroom.conversion.cache import conversion_to_json, read_packed, write_packed
from stackroom.conversion.channel import Message
from stackroom.conversion.child import Report, plain
from stackroom.conversion.identity import layout_in_use, package_versions
from stackroom.conversion.pipeline import build_pipeline, forbid_torch
from stackroom.embedding.tokenizer import load_tokenizer
from stackroom.errors import ConversionError
from stackroom.formats import PAGED, Media
from stackroom.outcome import Failed, ReasonCode
from stackroom.precheck import PdfClassification, classify_pdf

if TYPE_CHECKING:
    from stackroom.conversion.converted import Converted
    from stackroom.conversion.pdf_converter import PdfConverter


def open_worker(options: dict[str, Any]) -> "DocumentWorker":
    """Return the worker of a conversion pool, without the models that only PDFs and pictures need."""
    return DocumentWorker(ConversionOptions.from_json(options))


@dataclass(frozen=True)
class Task:
    """One request, taken apart."""

    path: Path
    source_id: str
    media: Media
    password: str | None
    classification: PdfClassification | None
    document_path: Path
    chunks_path: Path
    final: bool
    """Whether there will be no further try."""
    content_hash: str | None
    """What the file must still have for its conversion to be kept; None to keep it in any case."""
    cautious: bool
    """Whether docling-parse is to be kept away from the file, because a worker died over it."""

    @classmethod
    def from_message(cls, message: Message) -> "Task":
        """Read a request of :class:`stackroom.conversion.converter.PooledConverter`."""
        known = message.get("classification")
        return cls(
            path=Path(message["path"]),
            source_id=message["source_id"],
            media=Media(message["media"]),
            password=message["password"],
            classification=PdfClassification.from_json(known) if known else None,
            document_path=Path(message.get("document", "")),
            chunks_path=Path(message.get("chunks", "")),
            final=bool(message.get("final")),
            content_hash=message.get("content_hash"),
            cautious=bool(message.get("cautious")),
        )


class DocumentWorker:
    """Handles the requests ``classify`` and ``convert``."""

    def __init__(self, options: ConversionOptions) -> None:
        if layout_in_use(options.conversion) == "bundled":
            forbid_torch()
        # Every file needs docling's documents; imported here, that time is not the first file's.
        import docling_core.types.doc  # noqa: F401

        self._options = options
        self._pdf: PdfConverter | None = None
        self._tokenizer = load_tokenizer(options.tokenizer_file, options.max_tokens)
        self._served = 0

    def prepare(self) -> None:
        """Load what PDFs and pictures need: half a second and 100 MB that a folder of notes is spared."""
        from stackroom.conversion.pdf_converter import PdfConverter

        threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
        pipeline = build_pipeline(self._options.conversion, threads)
        self._pdf = PdfConverter(pipeline, self._options.ocr, self._options.limits, threads)

    def handle(self, request: Message, report: Report) -> Message:
        """Do what is asked."""
        task = Task.from_message(request)
        try:
            if task.media is Media.PDF:
                _announce(task, self._options.limits.max_pages, report)
            if request["task"] == "classify":
                classified = self.classify(task)
                if isinstance(classified, Failed):
                    return {"failed": _failed(classified)}
                return {"classified": plain(classified.to_json())}
            return self._convert(task, report)
        finally:
            self._served += 1
            gc.collect()
            _give_memory_back()

    def classify(self, task: Task) -> PdfClassification | Failed:
        """Classify the pages of a PDF; one that PDFium refuses may still be readable for docling-parse."""
        classified = classify_pdf(task.path, self._options.ocr, task.password, max_pages=self._options.limits.max_pages)
        if isinstance(classified, Failed) and classified.reason is ReasonCode.CORRUPT:
            from stackroom.conversion.second_opinion import classify_by_docling_parse

            return classify_by_docling_parse(task.path, task.password, self._options.limits.max_pages) or classified
        return classified

    def _convert(self, task: Task, report: Report) -> Message:
        started = time.monotonic()
        cached = self._cached(task)
        converted = cached or self._converted(task, report)
        if isinstance(converted, Failed):
            return {"failed": _failed(converted)}
        report({"pages": converted.pages, "step_pages": converted.pages, "step": "chunks"})
        conversion = self._chunked(task, converted, time.monotonic() - started)
        changed = _changed(task) if task.media is Media.PDF else None  # its lines were read once more
        if changed is not None:
            return {"failed": _failed(changed)}
        conversion = replace(conversion, report=replace(conversion.report, from_cache=cached is not None))
        if not conversion.chunks:
            message = f"{task.source_id}: no text was found in it"
            evidence = {"report": conversion.report.to_json()}
            return {"failed": _failed(Failed(ReasonCode.NO_TEXT, message, evidence))}
        answer = conversion_to_json(conversion)
        again = bool(conversion.report.missing_pages) and cached is None and not task.final and self._served > 0
        if not again:
            write_packed(task.chunks_path, answer)
        return {"converted": answer, "again": again}

    def _cached(self, task: Task) -> "Converted | None":
        from stackroom.conversion.converted import Converted

        data = read_packed(task.document_path)
        return Converted.from_json(data) if data else None

    def _converted(self, task: Task, report: Report) -> "Converted | Failed":
        from stackroom.conversion.converted import convert_office_file

        name = Path(task.source_id).stem or task.source_id
        if task.media in PAGED:
            converted = self._converted_pages(task, name, report)
        else:
            converted = convert_office_file(task.path, task.media, name)
        if isinstance(converted, Failed):
            return converted
        converted.signals = plain(collect_signals(task.path, converted.document, task.media.value, task.password))
        converted.models = {
            "layout": layout_in_use(self._options.conversion),
            "tables": self._options.conversion.tables,
            "packages": package_versions(),
        }
        changed = _changed(task)
        if changed is not None:
            return changed
        if not converted.missing_pages or task.final or self._served == 0:
            write_packed(task.document_path, converted.to_json())
        return converted

    def _converted_pages(self, task: Task, name: str, report: Report) -> "Converted | Failed":
        from stackroom.conversion.paged import convert_paged_file
        from stackroom.conversion.pdf_converter import PdfFile

        if self._pdf is None:
            raise ConversionError(f"{task.source_id} needs models, and the worker was not prepared")
        is_image = task.media is Media.IMAGE
        # Pictures have no pages to classify: what was said of one is that it needs OCR.
        classification = None if is_image else task.classification or self.classify(task)
        if isinstance(classification, Failed):
            return classification
        file = PdfFile(task.path, name, is_image=is_image, password=task.password)
        window = self._options.conversion.page_window
        return convert_paged_file(self._pdf, file, classification, report, window, task.cautious)

    def _chunked(self, task: Task, converted: "Converted", seconds: float) -> Conversion:
        from pypdfium2 import PdfiumError

        from stackroom.chunking import PdfLines, chunk_document, document_text, lost_text_ratio

        with contextlib.ExitStack() as stack:
            lines = None
            if task.media is Media.PDF:
                with contextlib.suppress(PdfiumError):
                    lines = stack.enter_context(PdfLines(task.path, task.password))
            result = chunk_document(
                converted.document, self._tokenizer, self._options.max_tokens, self._options.merge_peers, lines
            )
        reference = converted.reference or document_text(converted.document)
        missing = converted.missing_pages
        return Conversion(
            chunks=result.chunks,
            report=ConversionReport(
                media=task.media.value,
                pages=converted.pages,
                pages_read=converted.pages - len(missing),
                missing_pages=missing,
                ocr_pages=converted.ocr_pages,
                converter={**converted.models, "ranges": converted.ranges},
                seconds=round(seconds, 3),
                lost_text_ratio=round(lost_text_ratio(reference, result.chunks), 5),
                normalisation=result.normalisation,
                state="partial" if missing else "complete",
            ),
            signals=converted.signals,
        )


def _announce(task: Task, max_pages: int, report: Report) -> None:
    """Say how many pages a PDF has before any of them is looked at: classifying 10,000 takes minutes."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        with PdfDocument(task.path, password=task.password) as document:
            pages = min(len(document), max_pages)
    except PdfiumError:
        return  # the classification will say what is wrong
    report({"pages": pages, "step_pages": pages, "step": "classification"})


def _changed(task: Task) -> Failed | None:
    """Return a failure if the file has been written since it was hashed: what was read must not be kept as the old."""
    if task.content_hash is None:
        return None
    with task.path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() == task.content_hash:
            return None
    message = f"{task.source_id} changed while it was being read; the next run reads it again"
    return Failed(ReasonCode.MISSING_INPUT, message, retryable=True)


def _failed(failure: Failed) -> dict[str, Any]:
    return {
        "reason": failure.reason.value,
        "message": failure.message,
        "evidence": plain(dict(failure.evidence)),
        "retryable": failure.retryable,
    }


def _give_memory_back() -> None:
    """Return freed memory to the system (glibc keeps it otherwise), so that the next file starts from a low level."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
