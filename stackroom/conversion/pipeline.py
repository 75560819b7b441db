"""docling's PDF pipeline with the models the settings ask for, built once per worker process.

With the bundled models, docling's registry of engines is not consulted: it imports every engine it knows, and with
them torch (550 MB of memory and 2 s per worker process). The bundled models run on ONNX Runtime alone.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stackroom.config import ConversionSettings
from stackroom.conversion.identity import layout_in_use

if TYPE_CHECKING:
    from docling.pipeline.standard_pdf_pipeline import StandardPdfPipeline

PAGES_IN_FLIGHT = 4
"""Pages that wait between two steps of docling's pipeline; each holds its picture (a scan 14 MB)."""


def forbid_torch() -> None:
    """Make ``import torch`` fail in this process, which docling takes as "not installed".

    docling imports torch wherever it finds it, only to ask for graphics cards. Call before docling is imported.
    """
    for name in ("torch", "transformers"):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


def build_pipeline(settings: ConversionSettings, threads: int) -> "StandardPdfPipeline":
    """Return a pipeline without OCR: pages that need it come with their text already read."""
    from docling.datamodel.accelerator_options import AcceleratorDevice, AcceleratorOptions
    from docling.datamodel.pipeline_options import HeadingHierarchyOptions, ThreadedPdfPipelineOptions

    from stackroom.conversion.table_plugin import RapidTableOptions

    options = ThreadedPdfPipelineOptions(
        do_ocr=False,
        do_table_structure=settings.tables == "bundled",
        accelerator_options=AcceleratorOptions(num_threads=threads, device=AcceleratorDevice.CPU),
        table_structure_options=RapidTableOptions(),
        heading_hierarchy_options=HeadingHierarchyOptions(enabled=True, use_style=False),
        layout_batch_size=PAGES_IN_FLIGHT,
        table_batch_size=PAGES_IN_FLIGHT,
        queue_max_size=PAGES_IN_FLIGHT,
        allow_external_plugins=True,
        artifacts_path=settings.model_folder,
    )
    if layout_in_use(settings) == "heron":
        from docling.pipeline.standard_pdf_pipeline import StandardPdfPipeline

        return StandardPdfPipeline(options)
    from stackroom.conversion.layout_plugin import RapidLayoutOptions

    # The bundled models find their weights inside their own packages.
    return _bundled_pipeline(
        options.model_copy(update={"layout_options": RapidLayoutOptions(), "artifacts_path": None})
    )


def _bundled_pipeline(options: Any) -> "StandardPdfPipeline":
    from docling.models.base_model import GenericEnrichmentModel
    from docling.pipeline.standard_pdf_pipeline import StandardPdfPipeline
    from typing_extensions import override

    class NoEnrichment(GenericEnrichmentModel[Any]):
        """Describes no pictures."""

        @override
        def is_processable(self, doc: Any, element: Any) -> bool:
            return False

        @override
        def prepare_element(self, conv_res: Any, element: Any) -> None:
            return None

        @override
        def __call__(self, doc: Any, element_batch: Any) -> Iterator[Any]:
            return iter(element_batch)

    class NoOcr:
        """Leaves pages as they are."""

        def __call__(self, conv_res: Any, page_batch: Any) -> Iterator[Any]:  # noqa: ARG002 - docling's signature
            return iter(page_batch)

    class BundledPipeline(StandardPdfPipeline):
        """docling's pipeline with the bundled models put in directly."""

        @override
        def _init_models(self) -> None:
            with _bundled_engines():
                super()._init_models()

        @override
        def _make_ocr_model(self, art_path: Any) -> Any:
            return NoOcr()

        @override
        def _get_picture_description_model(self, artifacts_path: Any = None) -> Any:
            return NoEnrichment()

    return BundledPipeline(options)


class _Engines:
    """Stands in for one of docling's factories; knows one model."""

    def __init__(self, model: type[Any]) -> None:
        self._model = model

    def create_instance(self, **arguments: Any) -> Any:
        """Return the model, as docling's factory would."""
        return self._model(**arguments)


@contextmanager
def _bundled_engines() -> Iterator[None]:
    """Let docling's pipeline find the bundled models where it looks for its factories."""
    from docling.pipeline import standard_pdf_pipeline

    from stackroom.conversion.layout_plugin import RapidLayoutModel
    from stackroom.conversion.table_plugin import RapidTableModel

    models = {"get_layout_factory": RapidLayoutModel, "get_table_structure_factory": RapidTableModel}
    originals = {name: getattr(standard_pdf_pipeline, name) for name in models}
    try:
        for name, model in models.items():
            setattr(standard_pdf_pipeline, name, lambda _model=model, **_: _Engines(_model))
        yield
    finally:
        for name, original in originals.items():
            setattr(standard_pdf_pipeline, name, original)
