"""The JSON Schema of curated maps, so that editors complete keys and mark mistakes while one types."""

from typing import Any

from stackroom.metadata_map.curated import DEFAULT

SCHEMA_URI = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``metadata-map.json``."""
    texts = {"type": ["array", "null"], "items": {"type": "string"}}
    text = {"type": ["string", "null"]}
    fields = {
        "type": "object",
        "properties": {
            "title": {**text, "description": "Title of the work."},
            "authors": {**texts, "description": 'Names, given names first: ["Ana Ruiz", "Ben Ito"].'},
            "year": {
                "type": ["integer", "null"],
                "minimum": 1800,
                "description": "Year of publication.",
            },
            "journal": {**text, "description": "Journal the work appeared in."},
            "doi": {**text, "pattern": r"^10\.\d{4,9}(\.\d+)*/\S+$", "description": "DOI without https://doi.org/."},
            "keywords": texts,
            "arxiv": text,
        },
        "patternProperties": {"^url": text, "^_": {}},
        "additionalProperties": {"anyOf": [{"type": ["string", "number", "boolean", "null"]}, texts]},
    }
    return {
        "$schema": SCHEMA_URI,
        "title": "Curated metadata map",
        "description": (
            "Corrections to what is found in documents. Keys are paths of files relative to this file's folder, or "
            f"base names where only one file has it; under them {DEFAULT} and heading chains such as "
            "'Methods > Data'. null removes a field."
        ),
        "type": "object",
        "properties": {"$schema": {"type": "string"}},
        "additionalProperties": {
            "type": "object",
            "properties": {DEFAULT: {"$ref": "#/$defs/fields"}},
            "additionalProperties": {"$ref": "#/$defs/fields"},
        },
        "$defs": {"fields": fields},
    }
