"""Metadata embedded in files other than PDF."""

import zipfile

import pytest

from stackroom.biblio.embedded import embedded_metadata

CORE = """<?xml version="1.0"?><cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>A Title</dc:title>
<dc:creator>Ana Ruiz</dc:creator><dcterms:created>2004-05-01T00:00:00Z</dcterms:created></cp:coreProperties>"""


def archive(path, members):
    with zipfile.ZipFile(path, "w") as target:
        for name, text in members.items():
            target.writestr(name, text)
    return path


def test_office_properties(tmp_path):
    path = archive(tmp_path / "a.docx", {"docProps/core.xml": CORE})
    expected = {"title": ["A Title"], "authors": ["Ana Ruiz"], "date": ["2004-05-01T00:00:00Z"]}
    assert embedded_metadata(path, "docx") == (expected, [])


def test_an_epub_package(tmp_path):
    container = '<container><rootfiles><rootfile full-path="OPS/p.opf"/></rootfiles></container>'
    package = (
        '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Poems</dc:title>'
        "<dc:creator>Ana Ruiz</dc:creator></metadata></package>"
    )
    path = archive(tmp_path / "a.epub", {"META-INF/container.xml": container, "OPS/p.opf": package})
    assert embedded_metadata(path, "epub")[0] == {"title": ["Poems"], "authors": ["Ana Ruiz"]}


def test_meta_tags_of_a_web_page(tmp_path):
    path = tmp_path / "a.html"
    path.write_text(
        '<head><title>Site | A</title><meta name="citation_title" content="A Title">'
        '<meta name="citation_author" content="Ana Ruiz">'
        '<meta name="citation_author" content="Ben Ito"><meta name="citation_doi" content="10.5555/a">'
        '<meta name="citation_journal_title" content="J Cable"><link rel="canonical" href="https://a.example/b"></head>'
    )
    found, problems = embedded_metadata(path, "html")
    assert problems == []
    assert found["title"] == ["A Title", "Site | A"]
    assert (found["authors"], found["doi"]) == (["Ana Ruiz", "Ben Ito"], ["10.5555/a"])
    assert (found["journal"], found["url"]) == (["J Cable"], ["https://a.example/b"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_the_encoding_of_a_web_page_is_respected(tmp_path, encoding):
    path = tmp_path / "a.html"
    path.write_bytes(f'<meta charset="{encoding}"><title>Müller</title>'.encode(encoding))
    assert embedded_metadata(path, "html")[0]["title"] == ["Müller"]


def test_front_matter_of_markdown(tmp_path):
    path = tmp_path / "a.md"
    path.write_text(
        "---\ntitle: A Title\nauthors:\n  - name: Ana Ruiz\n  - Ben Ito\ndate: 2004-05-01\ntags: [a, b]\n---\n# Other\n"
    )
    found = embedded_metadata(path, "markdown")[0]
    assert found == {
        "title": ["A Title"],
        "authors": ["Ana Ruiz", "Ben Ito"],
        "date": ["2004-05-01"],
        "keywords": ["a", "b"],
    }


def test_aliases_of_yaml_are_not_multiplied(tmp_path):
    path = tmp_path / "a.md"
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12)]
    path.write_text("\n".join(["---", "l0: &l0 [x]", *levels, "authors: *l11", "title: A", "---", ""]))
    assert embedded_metadata(path, "markdown") == ({"title": ["A"]}, [])


def test_front_matter_in_toml(tmp_path):
    path = tmp_path / "a.md"
    path.write_bytes('\ufeff+++\ntitle = "A"\ndate = 2004-05-01\nauthors = ["Ana Ruiz"]\n+++\n'.encode())
    assert embedded_metadata(path, "markdown")[0] == {
        "title": ["A"], "date": ["2004-05-01"], "authors": ["Ana Ruiz"],
    }  # fmt: skip


def test_a_horizontal_rule_is_no_front_matter(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("# A\n\n---\ntitle: x\n---\n")
    assert embedded_metadata(path, "markdown") == ({}, [])


def test_a_jats_article(shared):
    found, problems = embedded_metadata(shared / "corpus" / "office" / "docling-elife-56337.xml", "xml_jats")
    assert problems == []
    assert found["doi"] == ["10.7554/eLife.56337"]
    assert found["authors"][:2] == ["Gernot Wolf", "Alberto de Iaco"]
    assert (found["journal"], found["date"]) == (["eLife"], ["2020"])


@pytest.mark.parametrize(
    ("media", "content"),
    [
        ("docx", b"not a zip"),
        ("markdown", b"---\ntitle: [unclosed\n---\n"),
        ("xml_jats", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        ("xml_jats", b"<a>"),
        ("epub", b""),
    ],
)
def test_a_damaged_file_gives_a_problem_and_no_error(tmp_path, media, content):
    path = tmp_path / "a"
    path.write_bytes(content)
    found, problems = embedded_metadata(path, media)
    assert found == {}
    assert len(problems) == 1


def test_kinds_that_carry_nothing_give_nothing(tmp_path):
    assert embedded_metadata(tmp_path / "missing.csv", "csv") == ({}, [])
