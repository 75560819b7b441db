"""Text lines that a layout model has overlooked, or headings that it took for text. Pure.

Left alone, docling makes a paragraph of every such line. Margins of journals (dates, editors, licences) and unusual
columns would fall apart into lines, and words hyphenated at their ends would stay broken.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom; y downwards."""

COVERED_SHARE = 0.2
"""Share of a line under a region from which docling counts the line as part of it."""
MOSTLY_INSIDE = 0.5
"""Share of a line under a region from which it is the region's."""
LARGEST_GAP = 0.7
"""Blank space between two lines of a paragraph, in line heights."""
LEAST_OVERLAP = 0.5
"""Share of the shorter line's width that the two have in common."""
HEIGHT_RATIO = 1.3
"""Lines of a paragraph do not differ more in height."""
LONGEST_HEADING = 90

_NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*\.?|[IVX]+\.|[A-Z]\.)\s+[^\W\d_]\S*")
_NAMED = re.compile(
    r"(?:abstract|summary|keywords?|introduction|background|methods?|results|discussion|conclusions?|references|"
    r"bibliography|acknowledge?ments?|appendix)\b.{0,30}",
    re.IGNORECASE,
)
_BOLD = re.compile(r"(?i:bold|black|heavy|medi|cmbx|cmssbx)|B$")


@dataclass(frozen=True)
class TextLine:
    """A line of a page's text layer."""

    text: str
    box: Rectangle
    font: str = ""

    @property
    def height(self) -> float:
        """Height of the box."""
        return self.box[3] - self.box[1]


@dataclass(frozen=True)
class StrayRegion:
    """Lines that belong together."""

    box: Rectangle
    is_heading: bool


def stray_regions(lines: Sequence[TextLine], covered: Sequence[Rectangle]) -> list[StrayRegion]:
    """Return the regions made of lines that lie under none of the given ones.

    Args:
        lines: all lines of the page, in any order.
        covered: the regions the model found.
    """
    stray = [line for line in lines if not any(_share(line.box, box) >= COVERED_SHARE for box in covered)]
    groups: list[list[TextLine]] = []
    for line in sorted(stray, key=lambda line: (line.box[1], line.box[0])):
        if not line.text.strip():
            continue
        home = next((group for group in groups if _continues(group[-1], line)), None)
        if home is None:
            groups.append([line])
        else:
            home.append(line)
    return [StrayRegion(_around(group), len(group) == 1 and _is_heading(group[0])) for group in groups]


def is_lone_heading(region: Rectangle, lines: Sequence[TextLine]) -> bool:
    """Say whether a region holds a single line and that is a heading, numbered or well known, in bold print."""
    inside = [line for line in lines if line.text.strip() and _share(line.box, region) >= MOSTLY_INSIDE]
    return len(inside) == 1 and _is_heading(inside[0])


def _continues(above: TextLine, line: TextLine) -> bool:
    """Say whether a line is the next one of a paragraph."""
    gap = line.box[1] - above.box[3]
    height = min(above.height, line.height)
    common = min(above.box[2], line.box[2]) - max(above.box[0], line.box[0])
    width = min(above.box[2] - above.box[0], line.box[2] - line.box[0])
    return (
        -0.5 * height <= gap <= LARGEST_GAP * height
        and common >= LEAST_OVERLAP * width
        and max(above.height, line.height) <= HEIGHT_RATIO * height
        and not (_is_heading(above) or _is_heading(line))
    )


def _is_heading(line: TextLine) -> bool:
    text = line.text.strip()
    if len(text) > LONGEST_HEADING or not _BOLD.search(line.font):
        return False
    return bool(_NUMBERED.match(text) or _NAMED.fullmatch(text))


def _share(box: Rectangle, region: Rectangle) -> float:
    """Return the share of a box that lies in a region."""
    across = min(box[2], region[2]) - max(box[0], region[0])
    down = min(box[3], region[3]) - max(box[1], region[1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    return across * down / area if across > 0 and down > 0 and area > 0 else 0.0


def _around(lines: Sequence[TextLine]) -> Rectangle:
    return (
        min(line.box[0] for line in lines),
        min(line.box[1] for line in lines),
        max(line.box[2] for line in lines),
        max(line.box[3] for line in lines),
    )
