"""Writes the tables of ``docs/configuration.md`` from the settings classes, so that the two cannot differ.

Run as ``python tools/config_reference.py`` (or ``make docs``); a test compares the file with what this would write.
"""

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from stackroom.config import (
    Bm25Settings,
    ChunkingSettings,
    ConversionSettings,
    Corpus,
    EmbedderSettings,
    EvaluationSettings,
    FilterField,
    LimitSettings,
    MetadataSettings,
    OcrSettings,
    RecordSettings,
    RetentionSettings,
    RetrievalSettings,
    ScheduleSettings,
    Tuning,
)

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"
BEGIN = "<!-- The tables below are written by tools/config_reference.py from stackroom/settings.py. -->"

# Where a class may stand in the file, in the order of the page.
SECTIONS: tuple[tuple[str, type[BaseModel], str], ...] = (
    ("corpora.<name>", Corpus, "One corpus. It may also hold every section that `defaults` may hold."),
    ("corpora.<name>.filter_fields[]", FilterField, "A metadata field that searches may filter on."),
    ("corpora.<name>.evaluation", EvaluationSettings, ""),
    ("defaults", Tuning, "Settings of all corpora; a corpus may set any of them for itself, key by key."),
    ("defaults.embedder", EmbedderSettings, ""),
    ("defaults.chunking", ChunkingSettings, ""),
    ("defaults.ocr", OcrSettings, ""),
    ("defaults.conversion", ConversionSettings, ""),
    ("defaults.metadata", MetadataSettings, ""),
    ("defaults.bm25", Bm25Settings, ""),
    ("defaults.retrieval", RetrievalSettings, ""),
    ("limits", LimitSettings, ""),
    ("schedules", ScheduleSettings, ""),
    ("retention", RetentionSettings, ""),
    ("records.<name>", RecordSettings, ""),
)


def render() -> str:
    """Return the page with its tables written anew."""
    introduction = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
    return introduction + BEGIN + "\n" + "".join(_section(*section) for section in SECTIONS)


def _section(place: str, model: type[BaseModel], remark: str) -> str:
    # What a corpus shares with `defaults` is documented there.
    shared = set(Tuning.model_fields) if model is Corpus else set()
    fields = {name: field for name, field in model.model_fields.items() if name not in shared}
    summary = " ".join((model.__doc__ or "").split())
    lines = [
        f"\n### `{place}`\n",
        remark or summary,
        "",
        "| key | type | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| `{name}` | {_type(field)} | {_default(field)} | {_meaning(field)} |" for name, field in fields.items()
    ]
    return "\n".join(lines) + "\n"


def _type(field: FieldInfo) -> str:
    return _type_name(field.annotation) + "".join(_bounds(field))


def _type_name(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_name(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_type_name(one) for one in arguments if one is not type(None))
    if origin is dict:
        return f"mapping to {_type_name(arguments[1])}"
    if origin is tuple:
        return f"list of {_type_name(arguments[0])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "section"
    names = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _bounds(field: FieldInfo) -> Iterator[str]:
    for constraint in field.metadata:
        for name, words in (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below")):
            value = getattr(constraint, name, None)
            if value is not None:
                yield f", {words} {value:g}"


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return "none"
    if field.default is PydanticUndefined:
        return "needed"
    if isinstance(field.default, BaseModel):
        return "see below"
    if field.default is None or field.default in ((), ""):
        return "none"
    if isinstance(field.default, bool):
        return str(field.default).lower()
    if isinstance(field.default, tuple):
        return ", ".join(f"`{value}`" for value in field.default)
    return f"`{field.default}`"


def _meaning(field: FieldInfo) -> str:
    annotation = field.annotation
    section = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    text = field.description or (annotation.__doc__ if section else "") or ""
    return " ".join(text.split()).replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
