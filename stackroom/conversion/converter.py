"""The converter as a caller sees it: cache first, then a worker process."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from stackroom.conversion import Conversion, ConversionOptions, ConversionRequest
from stackroom.conversion.cache import ConversionCache, conversion_from_json
from stackroom.conversion.channel import Message
from stackroom.conversion.pool import WorkerPool, available_cores, worker_count, worker_spec
from stackroom.formats import PAGED, Media
from stackroom.media import Identified, identify
from stackroom.outcome import Failed, ReasonCode
from stackroom.precheck import PdfClassification


class InHand:
    """Lets one thread at a time convert a content, so that the second of two equal files finds it in the cache."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}
        """Lock by content hash, and how many threads hold it or wait for it."""

    @contextlib.contextmanager
    def alone(self, content_hash: str) -> Iterator[None]:
        """Wait until nobody else has the content in hand."""
        with self._guard:
            lock, users = self._locks.get(content_hash, (threading.Lock(), 0))
            self._locks[content_hash] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._locks.pop(content_hash)
                if users > 1:
                    self._locks[content_hash] = lock, users - 1


class PooledConverter:
    """Classifies and converts files in a pool of worker processes."""

    def __init__(self, options: ConversionOptions, cache_folder: Path, worker_module: str) -> None:
        """Start the pool; see :func:`stackroom.conversion.open_converter`."""
        self._limits = options.limits
        self._cache = ConversionCache(cache_folder, options)
        spec = worker_spec(worker_module, options.to_json(), options.limits)
        workers = worker_count(options.limits, available_cores())
        self._pool = WorkerPool(spec, workers, options.limits.files_per_worker)
        self._in_hand = InHand()

    @property
    def workers(self) -> int:
        """How many files are worked on at once."""
        return self._pool.workers

    def classify(self, request: ConversionRequest) -> PdfClassification | Failed:
        """Say which pages of a file need OCR."""
        identified = identify(request.path, self._limits)
        if identified.problem is not None:
            return identified.problem
        if identified.media is not Media.PDF:
            return _without_pages(identified.media)
        return _classification(self._pool.run(_message("classify", request, identified.media)))

    def convert(self, request: ConversionRequest) -> Conversion | Failed:
        """Convert a file, unless a file of the same content was converted before."""
        identified = identify(request.path, self._limits)
        if identified.problem is not None:
            return identified.problem
        with self._in_hand.alone(request.content_hash):
            return self._convert(request, identified)

    def _convert(self, request: ConversionRequest, identified: Identified) -> Conversion | Failed:
        if request.fresh:
            self._cache.forget(request.content_hash, identified.media)
        known = self._cache.read_conversion(request.content_hash, identified.media)
        if known is not None:
            return _with_note(replace(known, report=replace(known.report, from_cache=True)), identified)
        message = _message("convert", request, identified.media) | {
            "document": str(self._cache.document_path(request.content_hash, identified.media)),
            "chunks": str(self._cache.chunks_path(request.content_hash, identified.media)),
        }
        is_pdf, paged = identified.media is Media.PDF, identified.media in PAGED
        answer = self._pool.run(
            message, cautiously={**message, "cautious": True, "final": True} if is_pdf else None, prepared=paged
        )
        if not isinstance(answer, Failed) and answer.get("again"):
            # Pages are missing, and the worker had converted other files before: a state of the process may be why.
            answer = self._second_try(answer, message, prepared=paged)
        if isinstance(answer, Failed):
            return answer
        if "failed" in answer:
            return _failure(answer["failed"])
        return _with_note(conversion_from_json(answer["converted"]), identified)

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()

    def __enter__(self) -> Self:
        """Return the converter itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the converter."""
        self.close()

    def _second_try(self, first: Message, message: Message, *, prepared: bool) -> Message:
        second = self._pool.run_fresh(message | {"final": True}, prepared=prepared)
        return first if isinstance(second, Failed) or "failed" in second else second


def _message(task: str, request: ConversionRequest, media: Media) -> Message:
    return {
        "task": task,
        "path": str(request.path),
        "source_id": request.source_id,
        "media": media.value,
        "password": request.password,
        "content_hash": request.content_hash if request.verified else None,
        "classification": request.classification.to_json() if request.classification else None,
    }


def _without_pages(media: Media) -> PdfClassification:
    picture = media is Media.IMAGE
    reason = "a picture has no text layer" if picture else f"{media} holds its text as text"
    return PdfClassification(
        pages=0, image_pages=0, garbled_pages=0, total_chars=0, needs_ocr=picture, reason=reason, page_statistics=()
    )


def _classification(answer: Message | Failed) -> PdfClassification | Failed:
    if isinstance(answer, Failed):
        return answer
    return _failure(answer["failed"]) if "failed" in answer else PdfClassification.from_json(answer["classified"])


def _with_note(conversion: Conversion, identified: Identified) -> Conversion:
    """Say what is wrong with the file's name; the name is no part of the content and so not cached."""
    return replace(conversion, report=replace(conversion.report, wrong_type=identified.note))


def _failure(data: dict[str, Any]) -> Failed:
    return Failed(ReasonCode(data["reason"]), data["message"], data["evidence"], data["retryable"])
