"""Turning plain values into what the Dagster UI renders. Document text is escaped: it must not become markup."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from stackroom.identity import display_name

MAX_ROWS = 50
"""Most rows of a table in an event; every event is stored twice in Dagster's default storage."""

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&$:@/])")


def escape(text: str, most: int = 400) -> str:
    """Return text that shows as itself in Markdown: no link, image, HTML or formatting, one line, cut at ``most``."""
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", _one_line(text, most))


def plain(text: str, most: int = 400) -> dg.MetadataValue:
    """Return text that the UI shows as it is; the UI escapes plain text itself, so nothing is escaped here."""
    return dg.MetadataValue.text(_one_line(text, most))


def _one_line(text: str, most: int) -> str:
    flat = display_name(" ".join(str(text).split()))
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def words(value: Any, most: int = 400) -> dg.MetadataValue:
    """Return a list or mapping in words, as plain text; ``none`` if it is empty."""
    return plain(_words(value) or "none", most)


def table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> dg.MetadataValue:
    """Return a table, cut at :data:`MAX_ROWS` rows.

    Args:
        rows: values by column name; other keys are left out.
        columns: column name to Dagster column type (``string``, ``int``, ``float``).
    """
    records = [
        dg.TableRecord({name: _cell(row.get(name), kind) for name, kind in columns.items()}) for row in rows[:MAX_ROWS]
    ]
    schema = dg.TableSchema(columns=[dg.TableColumn(name, kind) for name, kind in columns.items()])
    return dg.MetadataValue.table(records=records, schema=schema)


def markdown_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return a Markdown table with every cell escaped."""
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(escape(row.get(column) or '') for column in columns)} |" for row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        lines.append(f"\n… and {len(rows) - MAX_ROWS} more")
    return "\n".join(lines)


def _cell(value: Any, kind: str) -> str | int | float:
    if kind == "int":
        return int(value or 0)
    if kind == "float":
        return float(value or 0.0)
    return _one_line(_words(value), 300)


def _words(value: Any) -> str:
    """Return a value in words: lists and mappings as a person would write them down."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return "; ".join(_words(item) for item in value)
    return "" if value is None else str(value)
