"""The generated entry of a source: extracted values under DEFAULT, and an empty place for every heading chain."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stackroom.biblio.details import chunk_heading_title
from stackroom.biblio.extract import Extracted
from stackroom.metadata_map.curated import DEFAULT
from stackroom.metadata_map.resolving import SEPARATOR
from stackroom.text import normalize_text


def generated_entry(
    extracted: Extracted | Mapping[str, Any], heading_chains: Iterable[Sequence[str]]
) -> dict[str, dict[str, Any]]:
    """Return the map entry that is generated for a source.

    Args:
        extracted: what was extracted, or its entry.
        heading_chains: heading chains of the chunks, outermost heading first, in order.
    """
    chains = [tuple(chain) for chain in heading_chains if chain]
    fields = dict(extracted.entry if isinstance(extracted, Extracted) else extracted)
    if (fields.get("_sources") or {}).get("title") == "file-name":
        title = chunk_heading_title(chains)
        if title is not None:
            fields["title"] = title
            fields["_sources"] = {**fields["_sources"], "title": "chunk-heading"}
    fields = ensure_doi_url(split_url_list({key: _normalised(value) for key, value in fields.items()}))
    entry: dict[str, dict[str, Any]] = {DEFAULT: fields}
    for chain in chains:
        entry.setdefault(SEPARATOR.join(normalize_text(heading) for heading in chain), {})
    return entry


def _normalised(value: Any) -> Any:
    if isinstance(value, str):
        return normalize_text(value)
    if isinstance(value, (list, tuple)):
        return [normalize_text(item) if isinstance(item, str) else item for item in value]
    return value


def split_url_list(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with a list ``urls`` as ``url_1``, ``url_2``, …; numbers already taken are passed over."""
    result = {key: value for key, value in fields.items() if key != "urls"}
    number = 0
    for url in fields.get("urls") or ():
        number += 1
        while f"url_{number}" in result:
            number += 1
        result[f"url_{number}"] = url
    return result


def ensure_doi_url(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with ``url_doi`` where there is a DOI and none is given."""
    result = dict(fields)
    if result.get("doi") and "url_doi" not in result:
        result["url_doi"] = f"https://doi.org/{result['doi']}"
    return result
