"""Headings are embedded with what stands below them, and none gets lost."""

from docling_core.types.doc import DocItemLabel

from stackroom.artefacts import embedded_text
from stackroom.chunking import chunk_document


def summary(document, tokenizer, max_tokens=256):
    return [
        (chunk.kind, chunk.headings, chunk.text) for chunk in chunk_document(document, tokenizer, max_tokens).chunks
    ]


def test_the_chain_goes_from_title_to_nearest_heading(document, tokenizer):
    document.add_title("Frogs")
    document.add_heading("Results", level=1)
    document.add_heading("Spring", level=2)
    document.add_text(DocItemLabel.TEXT, "Many of them.")
    document.add_heading("Discussion", level=1)
    document.add_text(DocItemLabel.TEXT, "Why so many?")

    assert summary(document, tokenizer) == [
        ("text", ("Frogs", "Results", "Spring"), "Many of them."),
        ("text", ("Frogs", "Discussion"), "Why so many?"),
    ]


def test_a_document_of_headings_only_gives_chunks(document, tokenizer):
    document.add_title("Frogs")
    document.add_heading("Spring", level=1)
    document.add_heading("Autumn", level=1)

    assert summary(document, tokenizer) == [("fallback", ("Frogs",), "Spring\nAutumn")]


def test_a_heading_followed_by_one_of_its_level_does_not_vanish(document, tokenizer):
    document.add_heading("Acknowledgements", level=1)
    document.add_heading("References", level=1)
    document.add_text(DocItemLabel.TEXT, "None were used.")

    assert summary(document, tokenizer) == [
        ("fallback", (), "Acknowledgements"),
        ("text", ("References",), "None were used."),
    ]


def test_where_levels_are_unknown_the_first_of_two_headings_stands_above_the_second(document, tokenizer, at):
    document.add_heading("3 Results", prov=at(1))
    document.add_heading("3.1 Yield", prov=at(1))
    document.add_text(DocItemLabel.TEXT, "It was high.", prov=at(1))
    document.add_heading("4 Discussion", prov=at(1))
    document.add_text(DocItemLabel.TEXT, "It was very high.", prov=at(1))

    assert summary(document, tokenizer) == [
        ("text", ("3 Results", "3.1 Yield"), "It was high."),
        ("text", ("4 Discussion",), "It was very high."),
    ]


def test_a_heading_made_of_several_runs_is_a_heading(document, tokenizer):
    heading = document.add_heading("")
    group = document.add_inline_group(parent=heading)
    document.add_text(DocItemLabel.TEXT, "[0.68.0]", parent=group)
    document.add_text(DocItemLabel.TEXT, "- 2026-07-24", parent=group)
    document.add_text(DocItemLabel.TEXT, "Fixed everything.")

    assert summary(document, tokenizer) == [("text", ("[0.68.0] - 2026-07-24",), "Fixed everything.")]


def test_a_heading_longer_than_the_limit_is_cut_and_comes_back_as_text(document, tokenizer):
    words = [f"word{number}" for number in range(200)]
    document.add_heading(" ".join(words))
    document.add_text(DocItemLabel.TEXT, "The body.")

    result = chunk_document(document, tokenizer, 64)

    fallback = [chunk for chunk in result.chunks if chunk.kind == "fallback"]
    assert " ".join(chunk.text for chunk in fallback).split() == words
    body = result.chunks[-1]
    assert body.text == "The body."
    assert body.headings[0].startswith("word0 word1")
    assert body.headings[0].endswith("...")
    assert all(
        chunk.token_count == tokenizer.count(embedded_text(chunk.headings, chunk.text)) <= 64 for chunk in result.chunks
    )
    assert result.normalisation == {"headings_shortened": 1}


def test_of_a_chain_too_long_the_nearest_headings_stay(document, tokenizer):
    outer = "An outer heading that is really rather long for what it says"
    document.add_heading(outer, level=1)
    document.add_heading("An inner heading of some length", level=2)
    document.add_text(DocItemLabel.TEXT, "The body.")

    assert summary(document, tokenizer, 32) == [
        ("fallback", (), outer),
        ("text", ("An inner heading of some length",), "The body."),
    ]


def test_an_outer_heading_left_out_once_is_not_repeated_where_it_is_embedded(document, tokenizer):
    document.add_heading("A heading of quite some length", level=1)
    document.add_text(DocItemLabel.TEXT, "Directly below.")
    document.add_heading("Another of quite some length", level=2)
    document.add_text(DocItemLabel.TEXT, "Further below.")

    assert summary(document, tokenizer, 32) == [
        ("text", ("A heading of quite some length",), "Directly below."),
        ("text", ("Another of quite some length",), "Further below."),
    ]
