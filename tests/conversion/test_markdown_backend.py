"""Markdown: front matter is metadata, and a backslash does not cut a word in two."""

import pytest

from stackroom.conversion.office_converter import convert_office
from stackroom.formats import Media


@pytest.fixture
def texts(tmp_path):
    def read(markdown):
        path = tmp_path / "a.md"
        path.write_bytes(markdown if isinstance(markdown, bytes) else markdown.encode())
        return [(str(item.label.value), item.text) for item in convert_office(path, Media.MARKDOWN, "a").texts]

    return read


def test_front_matter_is_no_text_and_a_heading_of_the_body_stays_the_title(texts):
    assert texts("---\ntitle: Other\nauthors:\n  - Ana Ruiz\ndraft: true\n---\n# Herons\n\nThey nest in reeds.\n") == [
        ("title", "Herons"),
        ("text", "They nest in reeds."),
    ]


def test_the_title_of_the_front_matter_serves_where_the_body_has_none(texts):
    assert texts('+++\ntitle = "C# & *F*: <b>x</b> a_b 1. [y](z)"\n+++\n## Nests\n\nIn reeds.\n') == [
        ("title", "C# & *F*: <b>x</b> a_b 1. [y](z)"),
        ("section_header", "Nests"),
        ("text", "In reeds."),
    ]


def test_what_front_matter_says_to_readers_is_kept_as_text(texts):
    assert texts("---\ntitle: Herons\nsummary: Of herons_and\n  their nests\nsubtitle: A study\n---\nBody.\n") == [
        ("title", "Herons"),
        ("text", "A study"),
        ("text", "Of herons_and their nests"),
        ("text", "Body."),
    ]


def test_front_matter_alone_is_a_document_of_its_title(texts):
    assert texts("---\ntitle: Herons\n---\n") == [("title", "Herons")]


def test_damaged_front_matter_and_rules_stay_text(texts):
    assert texts("---\ntitle: [x\n---\nBody.\n") == [("section_header", "title: [x"), ("text", "Body.")]
    assert texts("---\n\nOne.\n\n---\n\nTwo.\n") == [("text", "One."), ("text", "Two.")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_front_matter_is_seen_in_any_encoding(texts, encoding):
    assert texts("---\ntitle: Flüsse\n---\nÜber Wasser.\n".encode(encoding)) == [
        ("title", "Flüsse"),
        ("text", "Über Wasser."),
    ]


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (r"A snake\_case, C\#, 5\*3 and it\'s \[1\].", "A snake_case, C#, 5*3 and it's [1]."),
        (r"Write \&amp; or &amp; for \\.", r"Write &amp; or & for \."),
        ("# snake\\_case\n", "snake_case"),
        ("- snake\\_case\n", "snake_case"),
        ("a\\_b\nc\\_d", "a_b c_d"),
    ],
)
def test_escaped_characters_stay_in_their_words(texts, markdown, text):
    assert [found for _, found in texts(markdown)] == [text]


def test_escaped_characters_beside_bold_words_and_code(texts):
    assert [text for _, text in texts(r"Use **bold\_word** and `a\_b` then x\_y.")] == [
        "Use",
        "bold_word",
        "and",
        r"a\_b",
        "then x_y.",
    ]
