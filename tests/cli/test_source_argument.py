"""Which file is meant: the first reading that fits any file wins, and doubt is an error that lists the choices."""

import pytest

from stackroom.cli.source_argument import Source, find_source
from stackroom.errors import ConfigError


def test_a_file_is_named_by_id_path_or_base_name(in_filled, monkeypatch):
    heron = Source("notes", "birds/heron.md")
    monkeypatch.chdir(in_filled.folder / "birds")
    for text in ("birds/heron.md", "heron.md", "./heron.md", str(in_filled.folder / "birds" / "heron.md")):
        assert find_source(in_filled.config, text) == heron
    assert find_source(in_filled.config, "otter.md", "notes") == Source("notes", "otter.md")


@pytest.mark.parametrize("text", ["badger.md", "/", "..", "", "birds"])
def test_what_is_no_file_is_refused(in_filled, text):
    with pytest.raises(ConfigError, match=r"is no file of any corpus; .* status --all"):
        find_source(in_filled.config, text)


def test_a_name_of_two_files_is_refused_with_the_choices(own_copy):
    (own_copy.folder / "rivers").mkdir()
    (own_copy.folder / "rivers" / "heron.md").write_text("# Herons\n\nAnother note on herons.")
    with own_copy.bench() as bench:
        bench.ledger.observe("notes", bench.scan)
    with pytest.raises(ConfigError, match=r"notes: birds/heron.md; notes: rivers/heron.md"):
        find_source(own_copy.config, "heron.md")
