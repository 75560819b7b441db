"""Editing, comparing and accepting: the only ways in which the machine writes a curated map."""

import json

import jsonschema
import pytest

from stackroom.errors import MetadataMapError
from stackroom.metadata_map import Conflict, load_curated, merge
from stackroom.metadata_map.differences import diff
from stackroom.metadata_map.editing import accept, forget_fields, prepare_edit, rename_entry, set_fields, set_many
from stackroom.metadata_map.schema import json_schema

GENERATED = {"DEFAULT": {"title": "Machine", "authors": ["A"], "doi": "10.5555/a"}, "Methods": {}}


def read(folder, name="metadata-map.json"):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_a_first_edit_copies_the_main_fields_and_leads_to_their_line(tmp_path):
    path, line = prepare_edit(tmp_path, load_curated(tmp_path), "sub/a.pdf", GENERATED)
    assert (path, line) == (tmp_path / "metadata-map.json", 2)
    fields = {"title": "Machine", "authors": ["A"], "doi": "10.5555/a", "keywords": []}
    assert read(tmp_path) == {"sub/a.pdf": {"DEFAULT": fields}}
    before = path.read_bytes()
    assert prepare_edit(tmp_path, load_curated(tmp_path), "sub/a.pdf", GENERATED) == (path, 2)
    assert path.read_bytes() == before


def test_values_are_set_where_the_source_is_already_spoken_of(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "metadata-map.json").write_text('{"a.pdf": {"DEFAULT": {"year": 2001}, "X": {"lab": "y"}}}')
    path = set_fields(tmp_path, load_curated(tmp_path), "sub/a.pdf", {"authors": ["Müller"], "doi": None})
    assert path == tmp_path / "sub" / "metadata-map.json"
    expected = {"a.pdf": {"DEFAULT": {"year": 2001, "authors": ["Müller"], "doi": None}, "X": {"lab": "y"}}}
    assert read(tmp_path / "sub") == expected
    assert load_curated(tmp_path).entry("sub/a.pdf")["DEFAULT"]["authors"] == ["Müller"]


def test_a_wrong_value_or_a_broken_file_is_refused_and_nothing_is_written(tmp_path):
    curated = load_curated(tmp_path)
    with pytest.raises(MetadataMapError, match="'year' is \"x\", not a whole number"):
        set_fields(tmp_path, curated, "a.pdf", {"year": "x"})
    path = tmp_path / "metadata-map.json"
    path.write_text("{broken")
    with pytest.raises(MetadataMapError, match=r"metadata-map\.json:1: not valid JSON"):
        set_fields(tmp_path, curated, "a.pdf", {"year": 2001})
    assert path.read_text() == "{broken"


def test_many_sources_are_written_at_once(tmp_path):
    written = set_many(tmp_path, load_curated(tmp_path), {f"{n}.pdf": {"year": 2000 + n} for n in range(300)})
    assert written == [tmp_path / "metadata-map.json"]
    assert load_curated(tmp_path).entry("299.pdf") == {"DEFAULT": {"year": 2299}}


def test_differences_say_what_a_person_did():
    curated = {"DEFAULT": {"title": "Person", "authors": ["A"], "doi": None, "journal": "J"}, "methods": {"lab": "x"}}
    conflicts = [Conflict("Methods", "lab", "a", "b", "x")]
    rows = {(row.chain, row.key): row.state for row in diff("a.pdf", GENERATED, curated, conflicts)}
    assert rows == {
        ("DEFAULT", "title"): "corrected",
        ("DEFAULT", "doi"): "removed",
        ("DEFAULT", "journal"): "added",
        ("methods", "lab"): "conflict",
    }
    assert diff("a.pdf", GENERATED, None) == []


@pytest.mark.parametrize(("take", "title"), [("curated", "Person"), ("generated", "Machine 2")])
def test_accepting_settles_conflicts_either_way(tmp_path, take, title):
    set_fields(tmp_path, load_curated(tmp_path), "a.pdf", {"title": "Person"})
    base = merge({"DEFAULT": {"title": "Machine 1"}}, load_curated(tmp_path).entry("a.pdf")).base
    generated = {"DEFAULT": {"title": "Machine 2"}}
    merged = merge(generated, load_curated(tmp_path).entry("a.pdf"), base)
    assert len(merged.conflicts) == 1
    accept(tmp_path, load_curated(tmp_path), "a.pdf", merged.conflicts, take)
    settled = merge(generated, load_curated(tmp_path).entry("a.pdf"), merged.base)
    assert (settled.conflicts, settled.entry["DEFAULT"]["title"]) == ((), title)
    assert load_curated(tmp_path).problems == ()


def test_the_schema_accepts_what_is_right_and_marks_what_is_wrong():
    validator = jsonschema.Draft202012Validator(json_schema())
    validator.check_schema(json_schema())
    right = {
        "$schema": "x",
        "a.pdf": {"DEFAULT": {"year": 2001, "authors": ["A"], "doi": None, "lab": 1.5}, "A > B": {}},
    }
    assert list(validator.iter_errors(right)) == []
    for wrong in ({"year": "2001"}, {"authors": "A"}, {"doi": "abc"}, {"lab": {"a": 1}}, {"keywords": [1]}):
        assert list(validator.iter_errors({"a.pdf": {"DEFAULT": wrong}})), wrong


def test_forgetting_the_last_value_leaves_nothing_of_the_entry(tmp_path):
    path = tmp_path / "metadata-map.json"
    entry = {"DEFAULT": {"year": 2001, "_accepted": {"year": 2000}}, "X": {"lab": "y"}, "To fill": {}}
    path.write_text(json.dumps({"a.pdf": entry, "b.pdf": {"DEFAULT": {"year": 1}}}))
    for chain, fields, left in (
        ("X", ["lab", "unknown"], {"DEFAULT": entry["DEFAULT"], "To fill": {}}),
        ("DEFAULT", ["year"], {"To fill": {}}),
    ):
        forget_fields(tmp_path, load_curated(tmp_path), "a.pdf", fields, chain)
        assert read(tmp_path) == {"a.pdf": left, "b.pdf": {"DEFAULT": {"year": 1}}}
    forget_fields(tmp_path, load_curated(tmp_path), "b.pdf", ["year"])
    assert read(tmp_path) == {"a.pdf": {"To fill": {}}}
    path.unlink()
    forget_fields(tmp_path, load_curated(tmp_path), "c.pdf", ["year"])
    assert not path.exists()


def test_taking_what_was_found_leaves_no_empty_entry(tmp_path):
    set_fields(tmp_path, load_curated(tmp_path), "a.pdf", {"title": "Person"})
    accept(tmp_path, load_curated(tmp_path), "a.pdf", [Conflict("DEFAULT", "title", "1", "2", "Person")], "generated")
    assert read(tmp_path) == {}


def test_an_entry_is_carried_over_to_another_file(tmp_path):
    (tmp_path / "sub").mkdir()
    root, sub = tmp_path / "metadata-map.json", tmp_path / "sub" / "metadata-map.json"
    root.write_text('{"$schema": "s", "a.pdf": {"DEFAULT": {"year": 1}}, "z.pdf": {"DEFAULT": {"year": 2}}}')
    sub.write_text('{"b.pdf": {"DEFAULT": {"year": 3}}, "c.pdf": {"DEFAULT": {"year": 4}}}')
    assert rename_entry(tmp_path, load_curated(tmp_path), "a.pdf", "sub/new.pdf") == root
    assert list(read(tmp_path).items())[1] == ("sub/new.pdf", {"DEFAULT": {"year": 1}})
    assert rename_entry(tmp_path, load_curated(tmp_path), "sub/b.pdf", "sub/d.pdf") == sub
    assert list(read(tmp_path / "sub")) == ["d.pdf", "c.pdf"]
    assert rename_entry(tmp_path, load_curated(tmp_path), "sub/c.pdf", "up.pdf") == root
    assert (read(tmp_path)["up.pdf"], list(read(tmp_path / "sub"))) == ({"DEFAULT": {"year": 4}}, ["d.pdf"])
    before = root.read_bytes()
    with pytest.raises(MetadataMapError, match=r"no entry 'zz.pdf'; did you mean 'z.pdf'"):
        rename_entry(tmp_path, load_curated(tmp_path), "zz.pdf", "y.pdf")
    with pytest.raises(MetadataMapError, match=r"z\.pdf has an entry of its own in .*metadata-map\.json"):
        rename_entry(tmp_path, load_curated(tmp_path), "up.pdf", "z.pdf")
    assert root.read_bytes() == before
