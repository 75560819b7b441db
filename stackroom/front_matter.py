"""Front matter: the block of YAML (between lines of ``---``) or TOML (``+++``) with which notes and web sites begin.

Jekyll and Pandoc use YAML, Hugo either. The block is metadata and no part of what the author wrote for readers; what
its keys mean is decided by who asks.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

LONGEST = 100_000
"""Characters between the two lines; a longer block is taken for text."""

_YAML = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\A\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class FrontMatter:
    """A text without its front matter, and what that said."""

    body: str
    values: Mapping[str, Any] = field(default_factory=dict)
    """By key in lower case; empty if the text begins with none."""


def split_front_matter(text: str) -> FrontMatter:
    """Part a text from its front matter.

    Two horizontal rules with something other than a mapping between them are no front matter.

    Args:
        text: whole, or its beginning; without byte-order mark.

    Raises:
        ValueError: there is a block, and it is not valid YAML or TOML.
    """
    match = _YAML.match(text) or _TOML.match(text)
    if match is None or len(match.group(1)) > LONGEST:
        return FrontMatter(text)
    try:
        values = tomllib.loads(match.group(1)) if text.startswith("+++") else yaml.safe_load(match.group(1))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"the front matter cannot be read: {' '.join(str(error).split())}") from error
    if values is None:
        return FrontMatter(text[match.end() :])
    if not isinstance(values, dict):
        return FrontMatter(text)
    return FrontMatter(text[match.end() :], {str(name).lower(): value for name, value in values.items()})
