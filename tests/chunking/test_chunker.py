"""What becomes of each kind of content."""

import subprocess
import sys

import pytest
from docling_core.types.doc import ContentLayer, DocItemLabel, DoclingDocument, GroupLabel

from stackroom.chunking import chunk_document, document_text, lost_text_ratio


def chunked(document, tokenizer, max_tokens=256, **options):
    return chunk_document(document, tokenizer, max_tokens, **options).chunks


def test_neighbouring_paragraphs_below_one_heading_share_a_chunk(document, tokenizer):
    document.add_heading("Methods")
    document.add_text(DocItemLabel.TEXT, "We counted frogs.")
    document.add_text(DocItemLabel.TEXT, "We counted tadpoles.")
    document.add_heading("Results")
    document.add_text(DocItemLabel.TEXT, "There were many.")

    first, second = chunked(document, tokenizer)

    assert (first.headings, first.text) == (("Methods",), "We counted frogs.\nWe counted tadpoles.")
    assert first.doc_items == ("#/texts/1", "#/texts/2")
    assert (second.headings, second.text, second.kind) == (("Results",), "There were many.", "text")


def test_without_merging_each_paragraph_is_a_chunk_but_a_list_stays_together(document, tokenizer):
    document.add_text(DocItemLabel.TEXT, "One paragraph.")
    document.add_text(DocItemLabel.TEXT, "Another one.")
    group = document.add_group(label=GroupLabel.LIST)
    document.add_list_item("first", enumerated=True, marker="1.", parent=group)
    item = document.add_list_item("second", enumerated=True, marker="2.", parent=group)
    inner = document.add_group(label=GroupLabel.LIST, parent=item)
    document.add_list_item("nested", parent=inner)

    texts = [chunk.text for chunk in chunked(document, tokenizer, merge_peers=False)]

    assert texts == ["One paragraph.", "Another one.", "1. first\n2. second\nnested"]


def test_text_is_normalised_before_it_is_counted_and_changes_are_reported(document, tokenizer):
    document.add_text(DocItemLabel.TEXT, "veri fi cation of exam\u00adples\x00")

    result = chunk_document(document, tokenizer, 256)

    assert [chunk.text for chunk in result.chunks] == ["verification of examples"]
    assert result.chunks[0].token_count == tokenizer.count("verification of examples")
    assert result.normalisation == {"spaced_ligatures": 1, "hyphen_marks": 1, "control_characters": 1}


def test_a_word_of_5000_characters_is_kept_in_chunks_of_reasonable_length(document, tokenizer):
    document.add_text(DocItemLabel.TEXT, "x" * 5000)

    chunks = chunked(document, tokenizer)

    assert "".join(chunk.text for chunk in chunks) == "x" * 5000
    assert max(len(chunk.text) for chunk in chunks) <= 256 * 16


def test_a_long_paragraph_is_cut_at_sentences_into_parts_of_like_size(document, tokenizer):
    sentences = [
        f"Sentence number {number} says that frogs of pond {number} were counted twice." for number in range(40)
    ]
    document.add_text(DocItemLabel.TEXT, " ".join(sentences))

    chunks = chunked(document, tokenizer)

    assert " ".join(chunk.text for chunk in chunks) == " ".join(sentences)
    assert all(chunk.text.endswith(".") for chunk in chunks)
    assert min(chunk.token_count for chunk in chunks) > 128


def test_blank_items_give_no_chunk_and_a_document_without_text_gives_none(document, tokenizer):
    document.add_text(DocItemLabel.TEXT, " \n\t")
    document.add_heading("  ")
    document.add_picture()

    assert chunked(document, tokenizer) == ()


def test_code_alone_is_code_and_a_snippet_stays_with_its_text(document, tokenizer):
    document.add_heading("Usage")
    document.add_code("import stackroom\nstackroom.run()")
    document.add_heading("Install")
    document.add_text(DocItemLabel.TEXT, "Install the package with pip, best in an environment of its own:")
    document.add_code("pip install stackroom")

    code, text = chunked(document, tokenizer)

    assert (code.kind, code.text) == ("code", "import stackroom\nstackroom.run()")
    assert (text.kind, text.text.splitlines()[-1]) == ("text", "pip install stackroom")


def test_a_formula_that_was_not_decoded_keeps_its_characters(document, tokenizer):
    document.add_formula("", orig="E = m c 2")

    assert [chunk.text for chunk in chunked(document, tokenizer)] == ["E = m c 2"]


def test_a_picture_keeps_its_caption_and_the_text_inside_it_apart(document, tokenizer):
    caption = document.add_text(DocItemLabel.CAPTION, "Figure 1: A frog at noon.")
    picture = document.add_picture(caption=caption)
    document.add_text(DocItemLabel.TEXT, "temperature in the pond", parent=picture)
    document.add_heading("Axis", parent=picture)
    document.add_text(DocItemLabel.TEXT, "The paragraph goes on.")

    picture_chunk, inside, text = chunked(document, tokenizer)

    assert (picture_chunk.kind, picture_chunk.text) == ("picture", "Figure 1: A frog at noon.")
    assert set(picture_chunk.doc_items) == {"#/pictures/0", "#/texts/0"}
    assert (inside.kind, inside.text) == ("fallback", "temperature in the pond\nAxis")
    assert (text.kind, text.headings) == ("text", ())


def test_a_column_of_prose_taken_for_a_picture_is_read_as_text(document, tokenizer):
    picture = document.add_picture()
    lines = [
        "We counted the frogs of every pond, which took us two sum-",
        "mers and a good deal of patience with the weather.",
    ]
    for line in lines * 4:
        document.add_text(DocItemLabel.TEXT, line, parent=picture)
    document.add_heading("Results", parent=picture)
    document.add_text(DocItemLabel.TEXT, "There were many.")

    prose, results = chunked(document, tokenizer)

    assert (prose.kind, prose.headings) == ("text", ())
    assert prose.text.count("took us two summers and") == 4
    assert results.headings == ("Results",)


def test_text_flows_around_a_picture_and_is_not_cut_by_it(document, tokenizer):
    document.add_text(DocItemLabel.TEXT, "Before the figure.")
    document.add_picture(caption=document.add_text(DocItemLabel.CAPTION, "Figure 1: In between them all."))
    document.add_text(DocItemLabel.TEXT, "After the figure.")

    assert [chunk.text for chunk in chunked(document, tokenizer)] == [
        "Before the figure.\nAfter the figure.",
        "Figure 1: In between them all.",
    ]


def test_notes_hidden_text_and_items_in_no_tree_come_back_as_fallback(document, tokenizer):
    document.add_text(DocItemLabel.TEXT, "What is said on the slide.")
    document.add_text(DocItemLabel.TEXT, "What the speaker should add.", content_layer=ContentLayer.NOTES)
    document.add_text(DocItemLabel.TEXT, "A slide that was hidden.", content_layer=ContentLayer.INVISIBLE)
    lost = document.add_text(DocItemLabel.TEXT, "An item that no list refers to.")
    document.body.children = [ref for ref in document.body.children if ref.cref != lost.self_ref]

    chunks = chunked(document, tokenizer)

    assert [chunk.kind for chunk in chunks] == ["text", "fallback"]
    assert chunks[1].text.splitlines() == [
        "What the speaker should add.",
        "A slide that was hidden.",
        "An item that no list refers to.",
    ]


def test_runs_of_a_paragraph_are_one_text_without_blanks_before_commas(document, tokenizer):
    group = document.add_inline_group()
    for run in ("Frogs", ", as", "Darwin", "(1859)", "wrote, croak."):
        document.add_text(DocItemLabel.TEXT, run, parent=group)

    chunk = chunked(document, tokenizer)[0]

    assert chunk.text == "Frogs, as Darwin (1859) wrote, croak."
    assert chunk.doc_items == tuple(f"#/texts/{index}" for index in range(5))


def test_a_word_broken_between_columns_is_whole_again_across_a_footnote(document, tokenizer):
    document.add_text(DocItemLabel.TEXT, "We asked practition-")
    document.add_text(DocItemLabel.FOOTNOTE, "1 See the appendix.")
    document.add_text(DocItemLabel.TEXT, "ers about their work.")

    assert [chunk.text for chunk in chunked(document, tokenizer)] == [
        "We asked practitioners about their work.\n1 See the appendix."
    ]


def test_a_hyphen_at_the_end_of_an_item_joins_no_unrelated_word(document, tokenizer):
    document.add_text(DocItemLabel.TEXT, "We asked practition-")
    document.add_text(DocItemLabel.TEXT, "1 See the appendix.")

    assert [chunk.text for chunk in chunked(document, tokenizer)] == ["We asked practition-\n\n1 See the appendix."]


def test_crumbs_join_a_neighbour_below_the_same_headings(document, tokenizer):
    document.add_heading("Results")
    document.add_text(DocItemLabel.TEXT, "Yes.")
    document.add_picture(caption=document.add_text(DocItemLabel.CAPTION, "Figure 2: Frogs per pond and year."))

    chunks = chunked(document, tokenizer)

    assert [(chunk.kind, chunk.text) for chunk in chunks] == [("picture", "Yes.\nFigure 2: Frogs per pond and year.")]


def test_a_limit_too_small_for_a_word_and_its_heading_is_refused(document, tokenizer):
    with pytest.raises(ValueError, match="max_tokens is 8; at least 16"):
        chunk_document(document, tokenizer, 8)


def test_the_same_document_gives_the_same_chunks(document, tokenizer):
    document.add_heading("One")
    document.add_text(DocItemLabel.TEXT, "Some text. " * 200)
    again = DoclingDocument.model_validate_json(document.model_dump_json())

    assert chunk_document(document, tokenizer, 64) == chunk_document(again, tokenizer, 64)


@pytest.mark.parametrize(
    "name", ["docling-wiki_duck.html", "docling-duck.md", "docling-word_sample.docx", "docling-elife-56337.xml"]
)
def test_real_files_lose_nothing_and_stay_within_the_limit(shared, tokenizer, name, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from docling.document_converter import DocumentConverter

    document = DocumentConverter().convert(shared / "corpus" / "office" / name).document

    chunks = chunked(document, tokenizer)

    assert max(chunk.token_count for chunk in chunks) <= 256
    assert lost_text_ratio(document_text(document), chunks) < 0.005
    assert sum(len(chunk.text) < 20 for chunk in chunks) <= 1


def test_asking_for_the_version_does_not_load_docling():
    code = "import sys, stackroom.chunking as c; assert c.CHUNKER_VERSION; assert 'docling_core' not in sys.modules"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_package_offers_what_it_says():
    import stackroom.chunking

    assert all(getattr(stackroom.chunking, name) is not None for name in stackroom.chunking.__all__)
    with pytest.raises(AttributeError, match="no attribute nothing"):
        _ = stackroom.chunking.nothing
