"""Files of the kinds that go different ways through the product, all the way to the stores."""

from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfgen.canvas import Canvas

from stackroom.retrieval.search import Searcher


def picture(text: str) -> Image.Image:
    """Return a picture of a page with large print."""
    page = Image.new("RGB", (900, 600), "white")
    ImageDraw.Draw(page).text((60, 120), text, fill="black", font=ImageFont.load_default(size=36))
    return page


def test_notes_pages_and_pictures_of_pages_are_all_found(project):
    project.write("note.md", "# Herons\n\nThe heron of the note stands in the reeds.")
    picture("The otter of the picture\nswims in the harbour.").save(project.folder / "picture.png")
    picture("The swift of the photograph\nnests under the roof.").save(project.folder / "photo.jpg")
    canvas = Canvas(str(project.folder / "page.pdf"))
    canvas.drawString(72, 720, "The stork of the page walks through the meadow behind the old mill.")
    canvas.save()
    (run,) = project.ingest()
    assert run.success
    assert project.states() == dict.fromkeys(("note.md", "page.pdf", "photo.jpg", "picture.png"), ("searchable", None))
    searcher = Searcher(project.config)
    wanted = {"heron": "note.md", "otter": "picture.png", "swift": "photo.jpg", "stork": "page.pdf"}
    assert {word: searcher.search(f"where is the {word}", k=1).hits[0].source_id for word in wanted} == wanted
