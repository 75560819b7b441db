"""Headers and footers stay out of the text, and yet nothing they alone say is lost."""

from docling_core.types.doc import ContentLayer, DocItemLabel

from stackroom.chunking import chunk_document


def add_header(document, text, prov):
    document.add_text(DocItemLabel.PAGE_HEADER, text, prov=prov, content_layer=ContentLayer.FURNITURE)


def test_running_titles_are_kept_once_and_page_numbers_not_at_all(document, tokenizer, at):
    for page in (1, 2, 3):
        add_header(document, f"Journal of Frogs 12, page {page} of 3", at(page))
        document.add_text(DocItemLabel.TEXT, f"The text of page {page}.", prov=at(page, (50, 200, 550, 220)))
        add_header(document, str(page), at(page))

    text, furniture = chunk_document(document, tokenizer, 256).chunks

    assert text.text == "The text of page 1.\nThe text of page 2.\nThe text of page 3."
    assert (furniture.kind, furniture.headings, furniture.pages) == ("fallback", (), (1,))
    assert furniture.text == "Journal of Frogs 12, page 1 of 3"


def test_a_page_that_holds_only_furniture_keeps_it(document, tokenizer, at):
    add_header(document, "Journal of Frogs", at(1))
    document.add_text(DocItemLabel.TEXT, "The text.", prov=at(1, (50, 200, 550, 220)))
    add_header(document, "Journal of Frogs", at(2))
    add_header(document, "17", at(2))

    text, furniture = chunk_document(document, tokenizer, 256).chunks

    assert text.pages == (1,)
    assert furniture.text == "Journal of Frogs\nJournal of Frogs\n17"
    assert furniture.pages == (1, 2)


def test_content_before_the_first_heading_of_a_web_page_is_kept(document, tokenizer):
    document.add_text(DocItemLabel.TEXT, "What docling takes for a menu.", content_layer=ContentLayer.FURNITURE)
    document.add_heading("Frogs", content_layer=ContentLayer.BODY)
    document.add_text(DocItemLabel.TEXT, "They croak.")

    assert [chunk.text for chunk in chunk_document(document, tokenizer, 256).chunks] == [
        "They croak.",
        "What docling takes for a menu.",
    ]
