"""Glob patterns over paths relative to a folder: ``*`` stays within one folder name, ``**`` spans any number of them.

Patterns and paths are compared in Unicode NFC, case matters, and a hidden name needs no dot in the pattern. A pattern
that ends in ``/`` means everything inside that folder.
"""

import functools
import re
import unicodedata
from collections.abc import Sequence

from stackroom.errors import ConfigError


class PathPatterns:
    """A set of patterns, compiled once."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Compile patterns.

        Args:
            patterns: for example ``("**/*.pdf", "reports/2020-*/*.docx", "drafts/")``.

        Raises:
            ConfigError: a pattern is empty, absolute, or climbs out of the folder.
        """
        self._patterns = tuple(patterns)
        self._everything = "**/*" in patterns or "**" in patterns
        sources = [_expression(pattern) for pattern in patterns]
        self._expression = re.compile("|".join(f"(?:{source})" for source in sources)) if sources else None

    def match(self, path: str) -> bool:
        """Say whether any pattern matches a path.

        Args:
            path: relative, with forward slashes, NFC (a source id).
        """
        if self._everything:
            return True
        return self._expression is not None and self._expression.fullmatch(path) is not None

    def __repr__(self) -> str:
        return f"PathPatterns({self._patterns!r})"


def matches(pattern: str, path: str) -> bool:
    """Say whether one pattern matches a path; see :class:`PathPatterns`."""
    return _compiled(pattern).match(path)


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> PathPatterns:
    return PathPatterns((pattern,))


def _expression(pattern: str) -> str:
    """Return a regular expression for a pattern."""
    text = unicodedata.normalize("NFC", pattern).removeprefix("./")
    if not text or text.startswith("/") or ".." in text.split("/"):
        raise ConfigError(
            f"pattern {pattern!r} is not relative to the folder; write for example '**/*.pdf' or 'reports/*.docx'"
        )
    if text.endswith("/"):
        text += "**"
    runs: list[list[str]] = [[]]  # runs of folder names between one "**" and the next
    for part in re.split(r"/+", text):
        if part == "**":
            runs.append([])
        else:
            runs[-1].append(_name_expression(part))
    last = "/".join(runs.pop())
    if not runs:
        return f"(?s:{last})"
    first, *middle = ("".join(f"{name}/" for name in run) for run in runs)
    # A run is looked for once, from the left, and never again further right: patterns cannot be made to take hours.
    found = "".join(f"(?>(?:[^/]*/)*?{run})" for run in middle if run)
    return f"(?s:{first}{found}{f'(?:.*/)?{last}' if last else '.*'})"


def _name_expression(name: str) -> str:
    """Return a regular expression for one folder or file name."""
    pieces, at = [""], 0  # what stands between one star and the next
    while at < len(name):
        char = name[at]
        at += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "[" and (end := name.find("]", at + 1 + (name[at : at + 1] in ("!", "^")))) > 0:
            pieces[-1] += _set_expression(name[at:end])
            at = end + 1
        else:
            pieces[-1] += re.escape(char)
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece) + f"[^/]*{last}"


def _set_expression(content: str) -> str:
    """Return a regular expression for the inside of square brackets: characters and ranges, or their opposite."""
    negated = content[0] in "!^"
    body = content[1:] if negated else content
    ranges = []
    while body:
        if len(body) >= 3 and body[1] == "-":
            low, high, body = body[0], body[2], body[3:]
            if low <= high:
                ranges.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            ranges.append(re.escape(body[0]))
            body = body[1:]
    inside = "".join(ranges)
    if negated:
        return f"[^/{inside}]"
    return f"(?!/)[{inside}]" if inside else "(?!)"
