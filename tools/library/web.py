"""HTML and Markdown."""

import html
from pathlib import Path

from markup import Block, Document, spans


def write_html(document: Document, path: Path) -> None:
    """Write a page with the metadata in its head."""
    body = "\n".join(_html_block(block) for block in document.blocks)
    path.write_text(
        f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{html.escape(document.title)}</title>
<meta name="author" content="{html.escape("; ".join(document.authors))}">
<meta name="date" content="{document.year}">
<meta name="keywords" content="{html.escape(", ".join(document.keywords))}">
</head>
<body>
<h1>{html.escape(document.title)}</h1>
<p>{html.escape(document.byline)}, {document.year}. {html.escape(document.part)}.</p>
<p>{_inline(document.abstract)}</p>
{body}
</body>
</html>
""",
        encoding="utf-8",
    )


def _html_block(block: Block) -> str:
    if block.kind == "heading":
        return f"<h{block.level + 1}>{_inline(block.text)}</h{block.level + 1}>"
    if block.kind == "paragraph":
        return f"<p>{_inline(block.text)}</p>"
    if block.kind == "list":
        return "<ul>\n" + "\n".join(f"<li>{_inline(item)}</li>" for item in block.items) + "\n</ul>"
    if block.kind == "code":
        return f"<pre><code>{html.escape(block.text)}</code></pre>"
    head, *rows = block.rows
    lines = ["<tr>" + "".join(f"<th>{_inline(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<table>\n<caption>{_inline(block.text)}</caption>\n" + "\n".join(lines) + "\n</table>"


def _inline(text: str) -> str:
    marked = {"plain": "{}", "code": "<code>{}</code>", "emphasis": "<em>{}</em>"}
    return "".join(marked[style].format(html.escape(part)) for style, part in spans(text))


def write_markdown(document: Document, path: Path) -> None:
    """Write a Markdown file that starts with the title, the authors and the abstract."""
    parts = [f"# {document.title}", f"{document.byline}, {document.year}. {document.part}.", document.abstract]
    parts += [_markdown_block(block) for block in document.blocks]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _markdown_block(block: Block) -> str:
    if block.kind == "heading":
        return "#" * (block.level + 1) + " " + block.text
    if block.kind == "list":
        return "\n".join(f"- {item}" for item in block.items)
    if block.kind == "code":
        return f"```\n{block.text}\n```"
    if block.kind == "table":
        head, *rows = ["| " + " | ".join(row) + " |" for row in block.rows]
        rule = "|" + " --- |" * len(block.rows[0])
        return "\n".join([block.text, "", head, rule, *rows])
    return block.text
