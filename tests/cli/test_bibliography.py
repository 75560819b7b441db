"""`stackroom bibliography`: what is exported comes back, and a person's values are not written over."""

import json

from stackroom.biblio.bib_import import read_bibtex
from stackroom.cli import main

BIB = """
@article{h, title = {Herons of {G}alicia}, author = {Ruiz, Ana and Ito, Ben}, year = 2005, file = {birds/heron.md}}
@misc{o, title = {Otters}, journal = {River Notes}}
@misc{x, title = {Something else entirely}}
"""


def curated(project) -> dict:
    return json.loads((project.folder / "metadata-map.json").read_text(encoding="utf-8"))


def test_the_bibliography_is_written_as_bibtex_or_csl(in_filled, tmp_path, capsys):
    assert main(["bibliography", "export"]) == 0
    fields, problems = read_bibtex(capsys.readouterr().out)
    assert problems == ()
    titles = {values["file"]: values["title"] for values in fields.values()}
    assert titles == {
        "birds/heron.md": "Herons",
        "birds/swift.md": "Swifts",
        "engine.md": "Steam",
        "otter.md": "Otters",
    }
    target = tmp_path / "all.json"
    assert main(["bibliography", "export", "--corpus", "notes", "--format", "csl", "-o", str(target)]) == 0
    assert {item["title"] for item in json.loads(target.read_text())} == set(titles.values())
    assert capsys.readouterr().out == ""


def test_wrong_options_could_not_run(in_filled, tmp_path, capsys):
    (tmp_path / "latin.bib").write_bytes("@misc{a, title={Müller}}".encode("latin-1"))
    for arguments, words in (
        (["export", "--format", "ris"], "bibtex or csl"),
        (["export", "--corpus", "letters"], "known: notes"),
        (["import", "absent.bib"], "absent.bib cannot be read"),
        (["import", str(tmp_path / "latin.bib")], "not UTF-8"),
    ):
        assert main(["bibliography", *arguments]) == 1
        printed = capsys.readouterr()
        assert (printed.out, words in printed.err) == ("", True)


def test_a_bib_file_becomes_curated_values(own_copy, capsys):
    (own_copy.root / "mine.bib").write_text(BIB)
    assert main(["bibliography", "import", "mine.bib", "--dry-run", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    expected = {
        "birds/heron.md": {"title": "Herons of Galicia", "authors": ["Ana Ruiz", "Ben Ito"], "year": 2005},
        "otter.md": {"journal": "River Notes"},  # its title is known
    }
    assert (answer["values"], answer["unmatched"], answer["written"]) == (expected, ["x"], [])
    assert not (own_copy.folder / "metadata-map.json").exists()
    assert main(["bibliography", "import", "mine.bib"]) == 0
    assert curated(own_copy) == {source: {"DEFAULT": fields} for source, fields in expected.items()}
    assert set(own_copy.ingest()) == {"birds/heron.md", "otter.md"}
    with own_copy.bench() as bench:
        assert {row.metadata.get("journal") for row in bench.store.scan() if row.source_id == "otter.md"} == {
            "River Notes"
        }


def test_an_export_that_comes_back_unchanged_writes_nothing(own_copy, capsys):
    main(["map", "edit", "otter.md", "--set", "title=Otters of the ÄB & the CD", "--set", "doi=10.5555/o.1"])
    main(["map", "edit", "otter.md", "--set", 'authors=["Ana de Ruiz", "The River and Lake Society"]'])
    own_copy.ingest()
    assert main(["bibliography", "export", "-o", "all.bib"]) == 0
    text = (own_copy.root / "all.bib").read_text()
    assert "title = {Otters of the {ÄB} \\& the {CD}}" in text  # styles write titles in small letters
    capsys.readouterr()
    assert main(["bibliography", "import", "all.bib"]) == 0
    assert "Nothing to write." in capsys.readouterr().out


def test_a_persons_values_are_kept_unless_they_are_to_be_replaced(own_copy, capsys):
    (own_copy.root / "mine.bib").write_text(BIB)
    main(["map", "edit", "heron.md", "--set", "year=2006"])
    assert main(["bibliography", "import", "mine.bib", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out.split("stores.\n")[-1])
    assert answer["kept"] == [{"source_id": "birds/heron.md", "field": "year", "curated": 2006, "imported": 2005}]
    assert curated(own_copy)["birds/heron.md"]["DEFAULT"]["year"] == 2006
    assert main(["bibliography", "import", "mine.bib", "--overwrite"]) == 0
    assert curated(own_copy)["birds/heron.md"]["DEFAULT"]["year"] == 2005
    main(["bibliography", "import", "mine.bib"])
    assert "Nothing to write." in capsys.readouterr().out


def test_a_block_that_is_not_bibtex_is_named_and_the_rest_imported(own_copy, capsys):
    (own_copy.root / "mine.bib").write_text("@misc{a, title = {unclosed\n@misc{o, title = {Otters}}\n")
    assert main(["bibliography", "import", "mine.bib"]) == 2
    assert "mine.bib, line 1" in capsys.readouterr().err
