"""`stackroom similar`: other documents by their best passage, for sources and for any file."""

import json

from stackroom.cli import main
from tests.filled import DOCUMENTS


def similar_json(capsys, *arguments: str) -> dict:
    """Return the answer of `similar --json`."""
    capsys.readouterr()
    assert main(["similar", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_source_is_compared_by_its_stored_vectors_and_never_finds_itself(in_filled, capsys):
    answer = similar_json(capsys, "heron.md")
    assert answer["document"] == {"corpus": "notes", "source_id": "birds/heron.md"}
    found = answer["similar"]
    assert {one["source_id"] for one in found} == {"birds/swift.md", "otter.md", "engine.md"}
    assert found[-1]["source_id"] == "engine.md"
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    passage = found[0]["passages"][0]
    assert passage["score"] == found[0]["score"]
    assert "heron" in passage["own_text"]
    assert passage["text"].splitlines()[-1] in DOCUMENTS[found[0]["source_id"]]
    assert len(similar_json(capsys, "birds/heron.md", "--k", "2")["similar"]) == 2


def test_a_file_outside_is_converted_and_nothing_of_it_stays(in_filled, tmp_path, capsys):
    outside = tmp_path / "heron.md"  # the name of a source, but another file
    outside.write_text("# A note\n\nIn shallow water the grey heron waits, and then it spears a fish.")
    answer = similar_json(capsys, str(outside), "--k", "1", "--corpus", "notes")
    assert answer["document"] == {"path": str(outside)}
    assert [one["source_id"] for one in answer["similar"]] == ["birds/heron.md"]
    assert answer["similar"][0]["score"] > 0.7
    with in_filled.bench() as bench:
        assert bench.store.count() == 4
        assert len(bench.ledger.sources("notes")) == 4
    assert main(["similar", str(outside), "--k", "1"]) == 0
    printed = capsys.readouterr().out
    assert "1. birds/heron.md (notes) 0." in printed
    assert "like: In shallow water" in printed


def test_the_same_passage_of_the_given_document_is_printed_once_in_full(in_filled, capsys):
    assert main(["similar", "heron.md"]) == 0
    lines = capsys.readouterr().out.splitlines()
    again = "   like (see above): By Ana Ruiz, 2004 The grey heron waits …"
    assert [line for line in lines if line.startswith("   like")] == [
        "   like: By Ana Ruiz, 2004 The grey heron waits in shallow water and spears fish.",
        again,
        again,
    ]


def test_a_source_that_has_changed_is_read_again(own_copy, capsys):
    (own_copy.folder / "engine.md").write_text("# Otters\n\nOtters leave their spraint on stones in rivers.")
    found = similar_json(capsys, "engine.md")["similar"]
    assert found[0]["source_id"] == "otter.md"
    assert found[0]["score"] > 0.7
    assert "engine.md" not in {one["source_id"] for one in found}


def test_what_cannot_be_compared_could_not_run(in_filled, tmp_path, capsys):
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing more")
    for arguments, words in (
        (["badger.md"], "neither a file nor"),
        ([str(tmp_path / "broken.pdf")], "broken.pdf"),
        (["heron.md", "--corpus", "letters"], "known: notes"),
    ):
        assert main(["similar", *arguments, "--json"]) == 1
        printed = capsys.readouterr()
        assert (printed.out, words in printed.err) == ("", True), printed.err


def test_before_any_ingestion_the_corpus_is_left_out_with_a_warning(project, capsys):
    path = project.add_file("a.md")
    assert main(["similar", str(path), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["similar"] == []
    assert "papers was left out" in printed.err
