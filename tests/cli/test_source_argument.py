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


def test_a_path_through_a_link_that_is_not_followed_is_refused(own_copy):
    (own_copy.folder / "birds" / "loop").symlink_to(".")
    (own_copy.folder / "round").symlink_to("round")
    link = own_copy.folder / "birds" / "loop"
    for text in ("birds/loop/heron.md", "birds/loop/loop/heron.md"):
        with pytest.raises(ConfigError) as raised:
            find_source(own_copy.config, text)
        assert str(raised.value) == (
            f"{text!r} goes through {link}, a link to a folder, which is not followed; give the path of the file itself"
        )
    with pytest.raises(ConfigError, match=r"'round/heron.md': .*/round is a link that leads back to itself"):
        find_source(own_copy.config, "round/heron.md", "notes")
    (own_copy.folder / "again.md").symlink_to("otter.md")
    assert find_source(own_copy.config, "again.md") == Source("notes", "again.md")


def test_an_absolute_path_through_a_loop_of_links_is_refused(own_copy):
    (own_copy.folder / "round").symlink_to("round")
    with pytest.raises(ConfigError, match=r"round/heron.md' (cannot be followed|is no file of any corpus)"):
        find_source(own_copy.config, str(own_copy.folder / "round" / "heron.md"))


def test_a_name_of_two_files_is_refused_with_the_choices(own_copy):
    (own_copy.folder / "rivers").mkdir()
    (own_copy.folder / "rivers" / "heron.md").write_text("# Herons\n\nAnother note on herons.")
    with own_copy.bench() as bench:
        bench.ledger.observe("notes", bench.scan)
    with pytest.raises(ConfigError, match=r"notes: birds/heron.md; notes: rivers/heron.md"):
        find_source(own_copy.config, "heron.md")
