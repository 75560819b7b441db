"""Builds signals of imaginary papers, so that rules can be tested one by one."""


def line(text, top, size=10.0, left=72.0, bold=False, rotated=False, marked=None, width=None):
    """Return a line of a page as signals hold it."""
    right = left + (width or 0.5 * size * len(text))
    row = {"text": text, "box": [left, top, right, top + size], "size": size}
    if bold:
        row["bold"] = True
    if rotated:
        row["rotated"] = True
    if marked:
        row["marked"] = marked
    return row


BODY = [line(f"This is running text of the paper, row {n}, which says a few things.", 400 + 12 * n) for n in range(20)]


def signals(*pages, info=None, xmp=(), repeated=(), docling=None, embedded=None):
    """Return signals of a PDF whose pages are given as lists of lines."""
    return {
        "version": 1,
        "media": "pdf",
        "problems": [],
        "pdf": {
            "info": info or {},
            "xmp": list(xmp),
            "page_count": len(pages),
            "repeated": list(repeated),
            "pages": [
                {"page": number, "width": 595.0, "height": 842.0, "lines": list(lines)}
                for number, lines in enumerate(pages, 1)
            ],
        },
        **({"docling": docling} if docling else {}),
        **({"embedded": embedded} if embedded else {}),
    }
