"""How files are converted and cut. Configuration only; ``create`` returns the library's object."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from resources.mirror import form_of, mirror, settings_of
from stackroom.config import ChunkingSettings, ConversionSettings, Corpus, LimitSettings, OcrSettings
from stackroom.conversion import ConversionOptions, Converter, open_converter

ConversionForm = mirror(ConversionSettings)
OcrForm = mirror(OcrSettings)
ChunkingForm = mirror(ChunkingSettings)
LimitForm = mirror(LimitSettings)


class ConverterResource(dg.ConfigurableResource):
    """Worker processes that classify pages, convert files with docling and cut them into chunks."""

    conversion: ConversionForm = Field(default=ConversionForm(), description="How files become structured documents.")
    ocr: OcrForm = Field(default=OcrForm(), description="When pages are read by optical character recognition.")
    chunking: ChunkingForm = Field(default=ChunkingForm(), description="How documents are cut.")
    limits: LimitForm = Field(default=LimitForm(), description="Bounds on every worker process and every file.")

    @classmethod
    def of(cls, corpus: Corpus, limits: LimitSettings) -> "ConverterResource":
        """Return the resource with the values of ``stackroom.yaml``."""
        return cls(
            conversion=form_of(ConversionForm, corpus.conversion),
            ocr=form_of(OcrForm, corpus.ocr),
            chunking=form_of(ChunkingForm, corpus.chunking),
            limits=form_of(LimitForm, limits),
        )

    def apply(self, corpus: Corpus) -> Corpus:
        """Return the corpus with this resource's values."""
        return corpus.model_copy(
            update={
                "conversion": settings_of(ConversionSettings, self.conversion),
                "ocr": settings_of(OcrSettings, self.ocr),
                "chunking": settings_of(ChunkingSettings, self.chunking),
            }
        )

    def limit_settings(self) -> LimitSettings:
        """Return the limits."""
        return settings_of(LimitSettings, self.limits)

    def create(self, options: ConversionOptions, cache_folder: Path) -> Converter:
        """Return a converter; the caller closes it."""
        return open_converter(options, cache_folder)
