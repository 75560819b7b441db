"""The curated map as people write it, right and wrong."""

import json
import time

import pytest

from stackroom.metadata_map import load_curated


def write(folder, content, name="metadata-map.json"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")
    return path


def test_a_folder_without_a_map_says_nothing(tmp_path):
    curated = load_curated(tmp_path)
    assert (curated.entry("a.pdf"), curated.problems) == (None, ())


def test_entries_are_found_by_source_id_and_by_base_name(tmp_path):
    write(tmp_path, {"$schema": "x", "sub/a.pdf": {"DEFAULT": {"year": 1}}, "b.pdf": {"DEFAULT": {"year": 2}}})
    curated = load_curated(tmp_path)
    assert curated.problems == ()
    assert curated.entry("sub/a.pdf") == {"DEFAULT": {"year": 1}}
    assert curated.entry("deep/b.pdf") == {"DEFAULT": {"year": 2}}
    assert curated.entry("a.pdf") is None


def test_a_base_name_counts_only_where_one_source_has_it(tmp_path):
    write(tmp_path, {"b.pdf": {"DEFAULT": {"year": 2}}, "gone.pdf": {"DEFAULT": {}}})
    curated = load_curated(tmp_path)
    one = curated.for_sources(["deep/b.pdf", "gone.pdf"])
    assert (one.entry("deep/b.pdf"), one.problems) == ({"DEFAULT": {"year": 2}}, ())
    two = curated.for_sources(["deep/b.pdf", "other/b.pdf"])
    assert two.entry("deep/b.pdf") is None
    assert [str(problem).split(": ", 1)[1] for problem in two.problems] == [
        "'b.pdf' is the name of several files; give the path of each",
        "'gone.pdf' is no file of this corpus; correct or remove the entry",
    ]
    assert [problem.line for problem in two.problems] == [2, 7]
    own = curated.for_sources(["b.pdf", "other/b.pdf", "gone.pdf"])
    assert own.entry("b.pdf") == {"DEFAULT": {"year": 2}}


def test_a_map_in_a_subfolder_speaks_of_files_below_it(tmp_path):
    write(tmp_path / "sub", {"a.pdf": {"DEFAULT": {"year": 1}}, "x/b.pdf": {"DEFAULT": {"year": 2}}})
    curated = load_curated(tmp_path)
    assert set(curated.entries) == {"sub/a.pdf", "sub/x/b.pdf"}


def test_decomposed_and_composed_names_are_one_key(tmp_path):
    write(tmp_path, {"Mu\u0308ller.pdf": {"DEFAULT": {"year": 1}}})
    assert load_curated(tmp_path).entry("M\u00fcller.pdf") == {"DEFAULT": {"year": 1}}


def test_a_source_named_in_two_files_is_a_problem(tmp_path):
    write(tmp_path, {"sub/a.pdf": {"DEFAULT": {"year": 1}}})
    write(tmp_path / "sub", {"a.pdf": {"DEFAULT": {"year": 2}}})
    curated = load_curated(tmp_path)
    assert curated.entry("sub/a.pdf") == {"DEFAULT": {"year": 1}}
    assert "also stands in" in str(curated.problems[0])


GOOD = '{\n  "a.pdf": {"DEFAULT": {"year": 2001}},\n  "b.pdf": {"DEFAULT": {"year": 2002}}\n}\n'
BAD = {
    "comma": ('{\n  "a.pdf": {"DEFAULT": {"year": 2001}}\n  "b.pdf": {}\n}', 3, "missing or superfluous comma"),
    "single quotes": ("{\n 'a.pdf': {}\n}", 2, "double quotes"),
    "a list": ("[1, 2]", 1, "begin it with {"),
    "entry": ('{\n  "a.pdf": {"DEFAULT": {"year": 2001}},\n  "b.pdf": "x"\n}', 3, '"DEFAULT"'),
    "flat": ('{\n  "b.pdf": {\n    "title": "T"\n  }\n}', 3, "under a heading"),
    "year": ('{\n  "b.pdf": {\n    "DEFAULT": {\n      "year": "2001"\n    }\n  }\n}', 4, "correct the value"),
    "authors": ('{\n\n  "b.pdf": {"DEFAULT": {"authors": "Ana"}}\n}', 3, "correct the value"),
    "nested": ('{"b.pdf": {"DEFAULT": {"lab": {"a": 1}}}}', 1, "correct the value"),
    "twice": ('{\n  "a.pdf": {},\n  "a.pdf": {}\n}', 3, "merge the two"),
    "nan": ('{"b.pdf": {"DEFAULT": {"x": NaN}}}', None, "correct the file"),
    "nesting": ("[" * 1_000_000, 1, "four levels"),
    "nested objects": ('{"a":\n' * 200_000, 13, "four levels"),
    "climbing": ('{\n  "../b.pdf": {"DEFAULT": {}}\n}', 2, "below this folder"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_map_is_reported_with_file_line_and_remedy_and_the_last_good_state_serves(tmp_path, name):
    content, line, remedy = BAD[name]
    last_good = tmp_path / "state" / "last-good.json"
    folder = tmp_path / "corpus"
    path = write(folder, GOOD)
    assert load_curated(folder, last_good).entry("b.pdf") == {"DEFAULT": {"year": 2002}}
    path.write_text(content, encoding="utf-8")
    start = time.monotonic()
    curated = load_curated(folder, last_good)
    assert time.monotonic() - start < 5
    [problem] = curated.problems
    assert (problem.file, problem.line) == (path, line)
    assert remedy in str(problem)
    if name != "climbing":
        assert curated.entry("b.pdf") == {"DEFAULT": {"year": 2002}}
    assert load_curated(folder, last_good).problems == curated.problems


def test_bytes_that_are_no_text_and_an_unreadable_file_are_reported(tmp_path):
    path = tmp_path / "metadata-map.json"
    path.write_bytes(b'{"a": "\xff"}')
    assert "not UTF-8" in str(load_curated(tmp_path).problems[0])
    path.unlink()
    path.mkdir()
    assert load_curated(tmp_path).problems == ()


def test_one_bad_entry_does_not_take_the_others_with_it(tmp_path):
    write(tmp_path, {"a.pdf": {"DEFAULT": {"year": "x"}}, "b.pdf": {"DEFAULT": {"year": 2002}}})
    curated = load_curated(tmp_path)
    assert curated.entry("b.pdf") == {"DEFAULT": {"year": 2002}}
    assert curated.entry("a.pdf") is None


def test_an_entry_that_was_removed_is_not_remembered(tmp_path):
    last_good = tmp_path / "last-good.json"
    folder = tmp_path / "corpus"
    path = write(folder, GOOD)
    load_curated(folder, last_good)
    path.write_text('{"a.pdf": {"DEFAULT": {}}}')
    assert load_curated(folder, last_good).entry("b.pdf") is None


def test_hidden_folders_are_not_searched(tmp_path):
    write(tmp_path / ".git", {"a.pdf": {"DEFAULT": {}}})
    assert load_curated(tmp_path).entries == {}


def test_a_map_of_five_thousand_sources_is_read_quickly(tmp_path):
    write(
        tmp_path, {f"sub/{n}.pdf": {"DEFAULT": {"title": f"Title {n}", "authors": ["Ana Ruiz"]}} for n in range(5_000)}
    )
    start = time.monotonic()
    assert len(load_curated(tmp_path).entries) == 5_000
    assert time.monotonic() - start < 10
