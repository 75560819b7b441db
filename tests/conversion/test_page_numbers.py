"""Pieces of a file keep the file's page numbers."""

from docling_core.types.doc import BoundingBox, DocItemLabel, DoclingDocument, ProvenanceItem, Size

from stackroom.conversion.page_numbers import add_missing_pages, blank_document, cut_pages, page_texts, share_found


def document_of(pages):
    document = DoclingDocument(name="register")
    for number, text in pages.items():
        document.add_page(number, Size(width=100, height=200))
        place = ProvenanceItem(page_no=number, bbox=BoundingBox(l=1, t=2, r=3, b=4), charspan=(0, len(text)))
        document.add_text(DocItemLabel.TEXT, text, prov=place)
    return document


def test_documents_joined_after_a_gap_keep_their_page_numbers():
    parts = [document_of({1: "one"}), blank_document("register", range(2, 4)), document_of({4: "four"})]
    joined = DoclingDocument.concatenate(parts)
    assert {item.text: item.prov[0].page_no for item in joined.texts} == {"one": 1, "four": 4}
    assert list(joined.pages) == [1, 2, 3, 4]


def test_pages_cut_out_keep_their_numbers():
    part = cut_pages(document_of({3: "three", 4: "four", 5: "five"}), 4, 5)
    assert [(item.text, item.prov[0].page_no) for item in part.texts] == [("four", 4), ("five", 5)]
    assert [(number, page.page_no) for number, page in part.pages.items()] == [(4, 4), (5, 5)]


def test_missing_pages_are_put_in_order():
    document = document_of({2: "two"})
    add_missing_pages(document, range(1, 4))
    assert list(document.pages) == [1, 2, 3]


def test_a_paragraph_that_runs_on_overleaf_counts_on_both_pages():
    document = document_of({1: "first half"})
    item = document.texts[0]
    item.text += " second half"
    item.prov.append(ProvenanceItem(page_no=2, bbox=BoundingBox(l=1, t=2, r=3, b=4), charspan=(11, 22)))
    assert page_texts(document) == {1: "first half", 2: "second half"}


def test_words_are_compared_whatever_their_case_order_and_ligatures():
    assert share_found("The ﬁrst LAMP", "lamp the first") == 1.0
    assert share_found("one two two", "two") == 1 / 3
    assert share_found("", "anything") == 1.0
