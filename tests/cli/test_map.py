"""`stackroom map`: a person's corrections are written, compared, checked and settled."""

import json
import os
from pathlib import Path

import jsonschema
import pytest

from stackroom.cli import main
from stackroom.cli.map_edit import open_editor, read_values
from stackroom.errors import ConfigError

MAP = "metadata-map.json"


def curated(project) -> dict:
    """Return the curated map file of a project."""
    return json.loads((project.folder / MAP).read_text(encoding="utf-8"))


def answer_of(capsys, *arguments: str) -> tuple[int, dict]:
    """Return exit code and JSON of a `map` command."""
    capsys.readouterr()
    code = main(["map", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_fields_are_set_and_removed_and_reach_the_stores_with_nothing_embedded(own_copy, capsys):
    code, answer = answer_of(
        capsys, "edit", "heron.md", "--set", "authors=Ana Müller; Ben Ito", "--set", "year=2005", "--unset", "journal"
    )
    assert code == 0
    assert (answer["corpus"], answer["source_id"], answer["problems"]) == ("notes", "birds/heron.md", [])
    assert (answer["file"], answer["line"]) == (str(own_copy.folder / MAP), 2)
    assert curated(own_copy) == {
        "birds/heron.md": {"DEFAULT": {"authors": ["Ana Müller", "Ben Ito"], "year": 2005, "journal": None}}
    }
    with own_copy.bench() as bench:
        vectors = bench.artefacts.path("embeddings", "birds/heron.md", "parquet")
    before = vectors.stat().st_mtime_ns
    assert own_copy.ingest() == ("birds/heron.md",)
    assert vectors.stat().st_mtime_ns == before
    with own_copy.bench() as bench:
        vector = next(bench.store.scan()).vector
        (hit,) = bench.store.query(vector, 5, {"authors": {"$contains": "Mueller"}})
        assert (hit.source_id, hit.metadata["year"]) == ("birds/heron.md", 2005)


def test_an_edit_without_values_starts_from_what_was_found(own_copy, capsys):
    code, answer = answer_of(capsys, "edit", str(own_copy.folder / "otter.md"))
    assert (code, answer["line"]) == (0, 2)
    assert curated(own_copy)["otter.md"]["DEFAULT"]["title"] == "Otters"
    before = (own_copy.folder / MAP).read_bytes()
    assert main(["map", "edit", "otter.md"]) == 0
    printed = capsys.readouterr().out
    assert f"{own_copy.folder / MAP}:2" in printed
    assert "ingest notes`" in printed
    assert (own_copy.folder / MAP).read_bytes() == before


def test_a_file_that_was_not_ingested_has_nothing_to_start_from(project, capsys):
    project.add_file("a.md")
    assert main(["map", "edit", "a.md"]) == 1
    assert "not been ingested" in capsys.readouterr().err
    assert main(["map", "edit", "a.md", "--set", "title=1984"]) == 0
    assert json.loads((project.folder / "docs" / MAP).read_text()) == {"a.md": {"DEFAULT": {"title": "1984"}}}


def test_a_wrong_value_or_an_unknown_file_is_refused_and_nothing_is_written(project, capsys):
    project.add_file("a.md")
    for arguments, words in (
        (["a.md", "--set", "year=soon"], "not a whole number"),
        (["a.md", "--set", "year"], "FIELD=VALUE"),
        (["b.md", "--set", "year=2000"], "'b.md' is no file of any corpus"),
        (["a.md", "--corpus", "letters"], "known: papers"),
    ):
        assert main(["map", "edit", *arguments]) == 1
        assert words in capsys.readouterr().err
    assert not (project.folder / "docs" / MAP).exists()


def test_a_misspelt_field_and_a_broken_list_are_refused(project, capsys):
    project.add_file("a.md")
    for arguments, words in (
        (["--set", "autors=A B"], "--set 'autors': did you mean 'authors'?"),
        (["--set", "Year=2004"], "--set 'Year': did you mean 'year'?"),
        (["--unset", "jurnal"], "--unset 'jurnal': did you mean 'journal'?"),
        (["--set", 'authors=["A B", C]'], "not a JSON list"),
        (["--set", 'authors=["A B", 3]'], "only texts may stand in the list"),
    ):
        assert main(["map", "edit", "a.md", *arguments]) == 1
        assert words in " ".join(capsys.readouterr().err.split())
    assert not (project.folder / "docs" / MAP).exists()


def test_a_value_is_forgotten_and_what_is_found_holds_again(own_copy, capsys):
    main(["map", "edit", "otter.md", "--set", 'authors=["Ana Ruiz", "Ben; Ito"]', "--set", "year=2001"])
    assert curated(own_copy)["otter.md"]["DEFAULT"]["authors"] == ["Ana Ruiz", "Ben; Ito"]
    assert main(["map", "edit", "otter.md", "--forget", "year", "--forget", "authors"]) == 0
    assert curated(own_copy) == {}
    assert answer_of(capsys, "diff")[1]["differences"] == []
    assert oct((own_copy.folder / MAP).stat().st_mode & 0o044) == oct(0o044 & ~current_umask())


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_entry_of_a_renamed_file_is_missed_and_carried_over(own_copy, capsys):
    """A person's values must not get lost because somebody tidied the folder."""
    main(["map", "edit", "otter.md", "--set", "title=On otters"])
    own_copy.ingest()
    (own_copy.folder / "otter.md").rename(own_copy.folder / "birds" / "the otter.md")
    for _ in range(2):  # before the next ingestion, and after it, when nothing else remembers the old name
        code, answer = answer_of(capsys, "lint")
        (problem,) = answer["corpora"][0]["problems"]
        assert (code, problem["line"]) == (2, 2)
        assert problem["message"] == (
            "'otter.md' is no file of this corpus any more; what it held is now in 'birds/the otter.md', for which the "
            "entry does not count"
        )
        assert problem["remedy"] == "`stackroom map rename otter.md 'birds/the otter.md'` carries it over"
        own_copy.ingest()
    assert main(["map", "rename", "otter.md", "birds/the otter.md"]) == 0
    assert f"{own_copy.folder / MAP}:2" in capsys.readouterr().out
    assert curated(own_copy) == {"birds/the otter.md": {"DEFAULT": {"title": "On otters"}}}
    assert answer_of(capsys, "lint")[1]["corpora"][0]["problems"] == []
    assert own_copy.ingest() == ("birds/the otter.md",)
    assert main(["map", "rename", "otter.md", "engine.md"]) == 1
    assert "has no entry 'otter.md'" in capsys.readouterr().err


def test_differences_are_listed_by_field(own_copy, capsys):
    main(["map", "edit", "otter.md", "--set", "title=On otters", "--set", "lab=River Lab"])
    code, answer = answer_of(capsys, "diff")
    assert code == 0
    rows = {(row["source_id"], row["key"]): (row["generated"], row["curated"], row["state"]) for row in
            answer["differences"]}  # fmt: skip
    assert rows == {
        ("otter.md", "title"): ("Otters", "On otters", "corrected"),
        ("otter.md", "lab"): (None, "River Lab", "added"),
    }
    assert main(["map", "diff", "otter.md"]) == 0
    assert "corrected" in capsys.readouterr().out
    assert answer_of(capsys, "diff", "engine.md")[1]["differences"] == []


def test_lint_sees_the_map_as_it_is_now_and_two_means_that_a_file_cannot_be_used(own_copy, capsys):
    main(["map", "edit", "otter.md", "--set", "year=1492"])
    code, answer = answer_of(capsys, "lint")
    (corpus,) = answer["corpora"]
    assert (code, corpus["files"], corpus["missing"], corpus["problems"]) == (0, 4, [], [])
    assert ("otter.md", "implausible_year") in {(one["source_id"], one["code"]) for one in corpus["issues"]}

    (own_copy.folder / MAP).write_text('{\n "otter.md": {"DEFAULT": {"year": 2000}},\n "gone.md": {}\n}')
    code, answer = answer_of(capsys, "lint")
    assert (code, [one["line"] for one in answer["corpora"][0]["problems"]]) == (2, [3])
    assert main(["map", "lint"]) == 2
    assert "'gone.md' is no file of this corpus" in capsys.readouterr().out


def test_a_conflict_is_listed_until_it_is_settled_either_way(own_copy, capsys):
    for name in ("otter", "engine"):
        main(["map", "edit", f"{name}.md", "--set", f"title=My {name}"])
    own_copy.ingest()
    for name in ("otter", "engine"):
        (own_copy.folder / f"{name}.md").write_text(f"# New {name}\n\nThe {name} is described here.")
    own_copy.ingest()
    differences = answer_of(capsys, "diff")[1]["differences"]
    assert {(one["source_id"], one["state"]) for one in differences} == {
        ("otter.md", "conflict"),
        ("engine.md", "conflict"),
    }
    assert main(["map", "accept", "otter.md"]) == 0
    assert "1 conflict settled; curated values" in capsys.readouterr().out
    assert main(["map", "accept", "--all", "--field", "title", "--take", "generated"]) == 0
    assert "engine.md: DEFAULT: title" in capsys.readouterr().out
    assert answer_of(capsys, "lint")[1]["corpora"][0]["conflicts"] == []
    own_copy.ingest()
    with own_copy.bench() as bench:
        titles = {row.source_id: row.metadata["title"] for row in bench.store.scan()}
    assert (titles["otter.md"], titles["engine.md"]) == ("My otter", "New engine")


def test_accepting_needs_to_know_which_files(in_filled, capsys):
    assert main(["map", "accept"]) == 1
    assert "--all" in capsys.readouterr().err
    assert main(["map", "accept", "otter.md", "--take", "both"]) == 1
    assert main(["map", "accept", "--all"]) == 0
    assert "0 conflicts settled" in capsys.readouterr().out


def test_the_schema_is_printed(capsys):
    assert main(["map", "schema"]) == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))


def test_looking_at_a_fresh_project_leaves_no_trace(project, capsys):
    project.add_file("a.md")
    assert answer_of(capsys, "diff") == (0, {"differences": [], "problems": []})
    assert answer_of(capsys, "lint")[0] == 0
    assert main(["bibliography", "export"]) == 0
    assert not project.state.exists()


def test_values_are_read_by_the_kind_of_their_field():
    given = [
        "title=42",
        "authors=A B; C",
        "keywords=x",
        "year= 2004",
        "size=1.5",
        "open=true",
        "lab=The = Lab",
        "url=1",
    ]
    assert read_values(given, ["doi"]) == {
        "doi": None,
        "title": "42",
        "authors": ["A B", "C"],
        "keywords": ["x"],
        "year": 2004,
        "size": 1.5,
        "open": True,
        "lab": "The = Lab",
        "url": "1",
    }


@pytest.mark.parametrize(
    ("name", "expected"), [("vim", ["+7", "map file.json"]), ("code", ["--wait", "--goto", "map file.json:7"])]
)
def test_the_editor_is_opened_at_the_line(tmp_path, monkeypatch, name, expected):
    editor = tmp_path / name
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/given\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"{editor} -x")
    monkeypatch.chdir(tmp_path)
    open_editor(Path("map file.json"), 7)
    assert (tmp_path / "given").read_text().splitlines() == ["-x", *expected]
    monkeypatch.setenv("VISUAL", "no-such-editor")
    with pytest.raises(ConfigError, match="set EDITOR"):
        open_editor(Path("x"), 1)
