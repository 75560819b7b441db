"""A folder that cannot be written says so, and what to do."""

from stackroom.space import why_not_writable


def test_a_folder_that_can_be_written_is_made_and_left_empty(tmp_path):
    assert why_not_writable(tmp_path / "a" / "state") is None
    assert list((tmp_path / "a" / "state").iterdir()) == []


def test_a_file_in_place_of_the_folder_is_named(tmp_path):
    place = tmp_path / "state"
    place.write_text("no folder")
    said = why_not_writable(place)
    assert said == f"{place} cannot be written (File exists); check its disk and ingest again"


def test_a_disk_with_little_space_left_is_named_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr("stackroom.space.RESERVE_MB", 10**9)
    said = why_not_writable(tmp_path)
    assert said.startswith(f"{tmp_path} cannot be written: only ")
    assert said.endswith("free some space and ingest again")
