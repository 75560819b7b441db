"""What docling's plugin registry finds under the entry point ``stackroom``: the bundled layout and table models.

Any program that uses docling in the same environment may select them by their options classes, with
``allow_external_plugins=True``. Imports are inside the functions: docling calls only those it needs.
"""

from typing import Any


def layout_engines() -> dict[str, list[Any]]:
    """Return the layout models."""
    from stackroom.conversion.layout_plugin import RapidLayoutModel

    return {"layout_engines": [RapidLayoutModel]}


def table_structure_engines() -> dict[str, list[Any]]:
    """Return the table-structure models."""
    from stackroom.conversion.table_plugin import RapidTableModel

    return {"table_structure_engines": [RapidTableModel]}
