from stackroom.retrieval.document import Document
from stackroom.retrieval.references import serialize_reference_material, truncate_reference_material


def test_two_files_of_one_name_stay_two():
    material = {
        "D": [
            (Document("one", {"file_name": "p.pdf", "source_id": "a/p.pdf", "chunk_index": 0}), 0.9),
            (Document("two", {"file_name": "p.pdf", "source_id": "b/p.pdf", "page_first": 3}), 0.8),
        ]
    }
    assert serialize_reference_material(material) == (
        "## D\n\n### Source document 1/2: [a/p.pdf]\n\n  Chunk 1: (no heading)\none\n"
        "### Source document 2/2: [b/p.pdf]\n\n  Chunk 1: (no heading)\n  Chunk metadata: page_first=3\ntwo"
    )


def test_a_shared_key_comes_from_the_best_chunk():
    material = {
        "D": [
            (Document("low", {"file_name": "p", "title": "Old", "url": "u", "part": 2}), 0.1),
            (Document("high", {"file_name": "p", "year": 2000, "title": "New", "url": "u", "part": 1}), 0.9),
        ]
    }
    assert serialize_reference_material(material).splitlines() == [
        "## D",
        "",
        "### Source document 1/1: [p]",
        "Metadata: year=2000 | title=New | url=u",
        "",
        "  Chunk 1: (no heading)",
        "  Chunk metadata: part=1",
        "high",
        "  Chunk 2: (no heading)",
        "  Chunk metadata: part=2",
        "low",
    ]


def test_search_forms_of_names_are_never_written():
    document = Document("t", {"file_name": "p", "authors": ["Ana Ruiz"], "authors__names": ["ruiz", "a ruiz"]})
    assert "authors__names" not in serialize_reference_material({"D": [(document, 1.0)]})


def test_nothing_to_write_and_nothing_to_cut():
    assert serialize_reference_material({}) == ""
    assert truncate_reference_material({}, 100) == {}
    assert truncate_reference_material({"A": []}, 100) == {"A": []}
