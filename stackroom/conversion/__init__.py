"""Conversion: one file in, token-bounded chunks with provenance and bibliographic signals out.

This module is the contract: what a caller gives, what it gets, and how to open a converter. It imports nothing heavy;
docling lives in worker processes that :func:`open_converter` starts. How files are classified, chunked and searched
for metadata is decided elsewhere; ``worker.py`` puts those parts together inside the worker process.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from stackroom.artefacts import ChunkBody
from stackroom.config import ConversionSettings, LimitSettings, OcrSettings
from stackroom.outcome import Failed

if TYPE_CHECKING:
    from stackroom.precheck import PdfClassification

WORKER_MODULE = "stackroom.conversion.worker"
"""Module whose ``open_worker`` a worker process calls; tests put their own beside it."""


@dataclass(frozen=True)
class ConversionOptions:
    """Everything the converter needs to know, the same for all files of a corpus."""

    conversion: ConversionSettings
    ocr: OcrSettings
    limits: LimitSettings
    tokenizer_file: Path
    """``tokenizer.json`` of the embedding model."""
    max_tokens: int
    """Most tokens in what is embedded for a chunk, special tokens included."""
    merge_peers: bool = True

    def conversion_identity(self) -> dict[str, Any]:
        """Return everything a converted document depends on besides the file: settings, code and model versions.

        Raises:
            ConfigError: a model that the settings ask for is not on this machine.
        """
        from stackroom.conversion.identity import conversion_identity

        return conversion_identity(self)

    def chunking_identity(self) -> dict[str, Any]:
        """Return everything chunks depend on besides the converted document."""
        from stackroom.conversion.identity import chunking_identity

        return chunking_identity(self)

    def to_json(self) -> dict[str, Any]:
        """Return the options as plain values; :meth:`from_json` is the inverse."""
        return {
            "conversion": self.conversion.model_dump(mode="json"),
            "ocr": self.ocr.model_dump(mode="json"),
            "limits": self.limits.model_dump(mode="json"),
            "tokenizer_file": str(self.tokenizer_file),
            "max_tokens": self.max_tokens,
            "merge_peers": self.merge_peers,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the options that :meth:`to_json` wrote."""
        return cls(
            conversion=ConversionSettings.model_validate(data["conversion"]),
            ocr=OcrSettings.model_validate(data["ocr"]),
            limits=LimitSettings.model_validate(data["limits"]),
            tokenizer_file=Path(data["tokenizer_file"]),
            max_tokens=data["max_tokens"],
            merge_peers=data["merge_peers"],
        )


@dataclass(frozen=True)
class ConversionRequest:
    """One file to classify or convert."""

    path: Path
    source_id: str
    content_hash: str
    """SHA-256 of the file; the key of the conversion cache."""
    password: str | None = field(default=None, repr=False)
    classification: "PdfClassification | None" = None
    """What :meth:`Converter.classify` said earlier; without it :meth:`Converter.convert` classifies first."""
    fresh: bool = False
    """Convert again even if the cache knows the content."""
    verified: bool = False
    """Fail, and keep nothing, if the file no longer has the content that ``content_hash`` names."""


@dataclass(frozen=True)
class ConversionReport:
    """How a file was converted, and what could not be read."""

    media: str
    """Kind of the file by content, for example ``pdf``."""
    pages: int = 0
    """Pages (images: frames) the file has; 0 for formats without pages."""
    pages_read: int = 0
    missing_pages: tuple[int, ...] = ()
    """Pages that no backend could read, from 1."""
    ocr_pages: tuple[int, ...] = ()
    """Pages whose text comes from OCR, from 1."""
    converter: dict[str, Any] = field(default_factory=dict)
    """Models and versions used; ``ranges``: which pages went through which pipeline and PDF backend."""
    seconds: float = 0.0
    lost_text_ratio: float | None = None
    """Share of the words of the reference text that are in no chunk; None when there is no reference."""
    normalisation: dict[str, int] = field(default_factory=dict)
    """How often each kind of text repair was made."""
    wrong_type: str | None = None
    """In words, when the file's suffix says something else than its content."""
    state: Literal["complete", "partial"] = "complete"
    from_cache: bool = False
    """Whether the document, if not the chunks, had been converted before."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values; :meth:`from_json` is the inverse."""
        return asdict(self) | {"missing_pages": list(self.missing_pages), "ocr_pages": list(self.ocr_pages)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the report that :meth:`to_json` wrote."""
        pages = {name: tuple(data[name]) for name in ("missing_pages", "ocr_pages")}
        return cls(**{**data, **pages})


@dataclass(frozen=True)
class Conversion:
    """A converted file."""

    chunks: tuple[ChunkBody, ...]
    report: ConversionReport
    signals: dict[str, Any]
    """What the file shows of its own bibliography; plain values."""


class Converter(Protocol):
    """Classifies and converts files in worker processes. Every method may be called from several threads at once."""

    @property
    def workers(self) -> int:
        """How many files are worked on at once; more threads than that only wait."""
        ...

    def classify(self, request: ConversionRequest) -> "PdfClassification | Failed":
        """Say which pages of a file need OCR. Blocks until done; never raises for a bad file."""
        ...

    def convert(self, request: ConversionRequest) -> Conversion | Failed:
        """Convert a file. Blocks until done; never raises for a bad file."""
        ...

    def close(self) -> None:
        """End the worker processes; calls still running end as failures."""
        ...

    def __enter__(self) -> Self:
        """Return the converter itself."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the converter."""
        ...


def open_converter(options: ConversionOptions, cache_folder: Path, worker_module: str = WORKER_MODULE) -> Converter:
    """Start a converter and its first worker process.

    Args:
        options: settings of the corpus.
        cache_folder: converted documents and chunks by content hash and identity; created when first written.
        worker_module: module whose ``open_worker`` the worker processes call.

    Raises:
        ConfigError: the limits are such that no worker can run, or a model asked for is not on this machine.
        ConversionError: a worker process cannot be started; the message holds what it said.
    """
    from stackroom.conversion.converter import PooledConverter

    return PooledConverter(options, cache_folder, worker_module)
