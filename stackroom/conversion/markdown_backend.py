r"""docling's Markdown reader, with front matter taken for what it is and words kept whole at escaped characters.

docling reads the lines of front matter as a heading, because a rule follows them. And each character written with a
backslash is a text of its own to it, so that ``snake\_case`` becomes three words.
"""

import re
from io import BytesIO
from pathlib import Path
from typing import Any

from docling.backend.md_backend import MarkdownDocumentBackend
from docling.datamodel.backend_options import MarkdownBackendOptions
from docling.datamodel.document import InputDocument
from docling_core.types.doc import DocItemLabel, DoclingDocument
from marko.block import Document
from marko.element import Element
from marko.inline import Literal, RawText
from typing_extensions import override

from stackroom.front_matter import FrontMatter, split_front_matter

SHOWN = ("subtitle", "abstract", "summary", "description", "excerpt")
"""Keys of front matter that hold text for readers, in the order in which it is put before the body."""

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
"""The characters that CommonMark lets a backslash make literal."""


class MarkdownBackend(MarkdownDocumentBackend):
    """Markdown without its front matter, whose texts for readers stand where a page shows them."""

    @override
    def __init__(
        self, in_doc: InputDocument, path_or_stream: BytesIO | Path, options: MarkdownBackendOptions | None = None
    ) -> None:
        super().__init__(in_doc, path_or_stream, options)
        try:
            matter = split_front_matter(self.markdown)
        except ValueError:  # it stays text; the metadata name the problem
            matter = FrontMatter(self.markdown)
        self._title = _escaped(matter, "title")
        self.markdown = "\n\n".join([*filter(None, (_escaped(matter, key) for key in SHOWN)), matter.body])

    @override
    def convert(self) -> DoclingDocument:
        """Return the document; the title of the front matter is its title if the body has none of its own.

        Hugo, Jekyll and Pandoc print that title, so many files have no heading for it.
        """
        document = super().convert()
        if self._title and not any(item.label == DocItemLabel.TITLE for item in document.texts):
            self.markdown = f"# {self._title}\n\n{self.markdown}"
            document = super().convert()
        return document

    @override
    def _iterate_elements(self, *, element: Element, **state: Any) -> None:
        if isinstance(element, Document):
            join_escaped(element)
        super()._iterate_elements(element=element, **state)


def join_escaped(root: Any) -> None:
    """Make one text of each run of texts and escaped characters below an element of marko's tree, in place."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if not isinstance(getattr(element, "children", None), list):
            continue
        joined: list[Any] = []
        for child in element.children:
            if not isinstance(child, RawText | Literal):
                joined.append(child)
                continue
            # docling resolves the entities of the text, so a literal ampersand must be written as one.
            text = str(child.children).replace("&", "&amp;") if isinstance(child, Literal) else str(child.children)
            if joined and isinstance(joined[-1], RawText):
                joined[-1].children += text
            else:
                joined.append(RawText(text))
        element.children = joined
        waiting += joined


def _escaped(matter: FrontMatter, key: str) -> str:
    """Return the text of a key on one line and literal in Markdown; empty if there is none."""
    value = matter.values.get(key)
    return _PUNCTUATION.sub(r"\\\1", " ".join(value.split())) if isinstance(value, str) else ""
