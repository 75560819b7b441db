"""Sensor and nightly schedule, evaluated against a real instance: what they ask for, and what they leave alone."""

import os
import time

import dagster as dg
import pytest

from assets.build import build_defs
from assets.in_flight import PARTITION_TAG, RANGE_END_TAG, RANGE_START_TAG
from assets.partitions import CORPUS_TAG, add_sources, known_sources
from sensors.looks import RELOAD
from stackroom.ledger import Verdict
from stackroom.remembered import MovedStore, write_moved_store
from stackroom.stages.corpus import build_keyword_index
from stackroom.stages.verdict import revision, settings_digest

EARLIER = 60.0
"""Seconds; long enough ago for a file to be taken for finished and for its hash to be trusted."""


def write(project, name, text, age=EARLIER):
    project.write(name, text)
    touch(project, name, age)


def touch(project, name, age):
    os.utime(project.folder / name, (time.time() - age,) * 2)


def defined(project):
    """Return the definitions for the settings as they are; building them takes a second."""
    text = (project.root / "stackroom.yaml").read_text()
    if getattr(project, "defined_for", None) != text:
        project.definitions, project.defined_for = build_defs(project.config), text
    return project.definitions


def look(project, definitions=None, corpus="notes"):
    """Evaluate the sensor; return its run requests as (job, first, last), or the reason why there are none."""
    definitions = definitions or defined(project)
    sensor = definitions.resolve_sensor_def(f"watch_{corpus}")
    with dg.build_sensor_context(instance=project.instance, repository_def=definitions.get_repository_def()) as context:
        tick = sensor.evaluate_tick(context)
    return asked(tick.run_requests, corpus) or tick.skip_message


def asked(requests, corpus="notes"):
    assert all(request.tags[CORPUS_TAG] == corpus for request in requests)
    return [(r.job_name, r.tags.get(RANGE_START_TAG), r.tags.get(RANGE_END_TAG)) for r in requests]


def settle(project, state="searchable"):
    """Write into the ledger that everything it knows has been processed and indexed."""
    with project.bench() as bench:
        hashes = bench.ledger.observe("notes", bench.scan)
        settings = settings_digest(bench)
        for source, digest in hashes.items():
            bench.ledger.record("notes", source, Verdict(state, revision(bench, source, digest, settings), chunks=1))
        build_keyword_index(bench)
        bench.ledger.mark_indexed("notes", bench.ledger.version("notes"))
    add_sources(project.instance, "notes", list(hashes))


@pytest.fixture
def settled(project):
    """Return a project of four notes that are all processed."""
    for name in ("a", "b", "c", "d"):
        write(project, f"{name}.md", f"# Note {name}")
    settle(project)
    assert look(project) == "4 files unchanged"
    return project


def test_new_files_become_partitions_and_one_ranged_run(settled):
    for name in ("e.md", "f.md", "sub/g.md"):
        write(settled, name, "# New")
    assert look(settled) == [("ingest_notes", "e.md", "sub/g.md")]
    assert known_sources(settled.instance, "notes") == ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md", "sub/g.md"]


def test_changed_files_are_asked_for_in_exactly_the_ranges_they_form(settled):
    for name in ("a.md", "c.md", "d.md"):
        write(settled, name, "# Changed")
    assert look(settled) == [("ingest_notes", "a.md", "a.md"), ("ingest_notes", "c.md", "d.md")]


def test_a_touched_file_with_the_same_content_is_not_processed(settled):
    touch(settled, "a.md", 40)
    requests = look(settled)
    assert "ingest_notes" not in str(requests)


def test_a_vanished_file_asks_for_a_refresh_and_only_once_while_that_runs(settled):
    (settled.folder / "b.md").unlink()
    assert look(settled) == [("refresh_notes", None, None)]
    definitions = defined(settled)
    run = settled.instance.create_run_for_job(
        definitions.resolve_job_def("refresh_notes"), tags={CORPUS_TAG: "notes"}, status=dg.DagsterRunStatus.STARTED
    )
    assert look(settled) == "3 files unchanged"
    settled.instance.report_run_failed(run)
    assert look(settled) == [("refresh_notes", None, None)]
    assert settled.run(definitions, "refresh_notes", {CORPUS_TAG: "notes"}).success
    assert known_sources(settled.instance, "notes") == ["a.md", "c.md", "d.md"]
    assert look(settled) == "3 files unchanged"


def test_a_renamed_file_is_taken_in_and_removed_by_one_look(settled):
    (settled.folder / "b.md").rename(settled.folder / "renamed.md")
    assert look(settled) == [("ingest_notes", "renamed.md", "renamed.md"), ("refresh_notes", None, None)]


def test_a_file_changed_and_changed_back_is_processed_both_times(settled):
    write(settled, "a.md", "# Other", age=50)
    assert look(settled) == [("ingest_notes", "a.md", "a.md")]
    settle(settled)
    assert look(settled) == "4 files unchanged"
    write(settled, "a.md", "# Note a", age=40)
    assert look(settled) == [("ingest_notes", "a.md", "a.md")]


def test_an_unreadable_folder_deletes_nothing(settled):
    definitions = defined(settled)
    settled.folder.rename(settled.root / "unmounted")
    assert look(settled, definitions).startswith("the folder cannot be read, so nothing was changed: ")
    assert known_sources(settled.instance, "notes") == ["a.md", "b.md", "c.md", "d.md"]
    (settled.root / "unmounted").rename(settled.folder)
    assert look(settled) == "4 files unchanged"


def test_an_empty_folder_deletes_nothing(settled):
    for path in settled.folder.iterdir():
        path.unlink()
    assert look(settled) == [("refresh_notes", None, None)]
    assert settled.run(defined(settled), "refresh_notes", {CORPUS_TAG: "notes"}).success
    assert known_sources(settled.instance, "notes") == ["a.md", "b.md", "c.md", "d.md"]
    assert "4 of 4 files have vanished at once" in look(settled)


def test_files_being_written_are_left_until_they_stop_growing(settled):
    write(settled, "new.md", "# Half", age=0)
    write(settled, "a.md", "# Half a change", age=0)
    assert look(settled) == "3 files unchanged; 2 still being written and left for the next look"
    write(settled, "new.md", "# Half, and the other half", age=0)
    assert look(settled) == [("ingest_notes", "a.md", "a.md")]
    assert "new.md" not in known_sources(settled.instance, "notes")
    # Nothing came after the second look, so the third takes it although it was modified a moment ago.
    assert ("ingest_notes", "new.md", "new.md") in look(settled)


def test_a_time_stamp_in_the_future_does_not_keep_a_file_out(settled):
    write(settled, "ahead.md", "# From a server whose clock is ahead", age=-3600)
    assert look(settled) == "4 files unchanged; 1 still being written and left for the next look"
    assert look(settled) == [("ingest_notes", "ahead.md", "ahead.md")]


def test_a_file_that_is_written_again_is_not_taken_for_deleted(settled):
    write(settled, "a.md", "", age=0)
    assert look(settled) == "3 files unchanged; 1 still being written and left for the next look"
    assert "a.md" in settled.states()


def test_settling_can_be_switched_off(settled):
    with (settled.root / "stackroom.yaml").open("a") as settings:
        settings.write("schedules: {settle_seconds: 0}\n")
    write(settled, "new.md", "# Taken as it is", age=0)
    assert look(settled) == [("ingest_notes", "new.md", "new.md")]


def test_edited_settings_count_at_the_next_look(settled):
    loaded = defined(settled)
    write(settled, "new.md", "# New", age=0)
    assert look(settled, loaded) == "4 files unchanged; 1 still being written and left for the next look"
    settled.settings("    exclude: ['a.md']\nschedules: {settle_seconds: 0, partitions_per_run: 1}\n")
    write(settled, "newer.md", "# New", age=0)
    new = [("ingest_notes", "new.md", "new.md"), ("ingest_notes", "newer.md", "newer.md")]
    assert look(settled, loaded) == [*new, ("refresh_notes", None, None)]  # which removes what is excluded now


def test_a_corpus_that_was_moved_is_filled_at_its_new_place_at_the_next_look(settled):
    loaded = defined(settled)
    uri = f"sqlite:{settled.root}/state/elsewhere.db"
    write_moved_store(settled.root / "state", "notes", MovedStore(settled.config.vector_store_uri("notes"), uri))
    assert look(settled, loaded) == [("ingest_notes", "a.md", "d.md")]


def test_what_only_loading_again_shows_is_said(settled):
    loaded = defined(settled)
    with (settled.root / "stackroom.yaml").open("a") as settings:
        settings.write("schedules: {nightly: '30 3 * * *'}\n")
    assert look(settled, loaded) == f"4 files unchanged; {RELOAD}"
    (settled.root / "stackroom.yaml").write_text("corpora: {others: {folder: docs}}\n")
    assert look(settled, loaded) == (
        f"the settings cannot be used, so nothing was changed: there is no corpus 'notes' any more; {RELOAD}"
    )
    (settled.root / "stackroom.yaml").write_text("corpora: [\n")
    assert look(settled, loaded).startswith("the settings cannot be used, so nothing was changed: ")


def test_a_corpus_whose_folder_is_missing_keeps_no_other_from_working(project):
    (project.root / "stackroom.yaml").write_text(
        "limits: {workers: 1}\ncorpora: {notes: {folder: docs}, unplugged: {folder: disk/papers}}\n"
    )
    write(project, "a.md", "# Note a")
    assert look(project) == [("ingest_notes", "a.md", "a.md")]
    folder = project.root / "disk" / "papers"
    assert look(project, corpus="unplugged") == (
        f"the folder cannot be read, so nothing was changed: {folder} is not an existing folder; "
        "check that the disk is mounted and the path is right"
    )
    folder.mkdir(parents=True)
    (folder / "b.md").write_text("# Note b")
    touch(project, "../disk/papers/b.md", EARLIER)
    assert look(project, corpus="unplugged") == [("ingest_unplugged", "b.md", "b.md")]


def test_files_of_runs_in_flight_are_not_touched(settled):
    definitions = defined(settled)
    job = definitions.resolve_job_def("ingest_notes")
    for tags in ({RANGE_START_TAG: "a.md", RANGE_END_TAG: "b.md"}, {PARTITION_TAG: "c.md"}):
        settled.instance.create_run_for_job(job, tags={**tags, CORPUS_TAG: "notes"}, status=dg.DagsterRunStatus.STARTED)
    write(settled, "a.md", "# Changed while a run is at it")
    (settled.folder / "b.md").unlink()
    write(settled, "d.md", "# Changed, and nobody is at it")
    assert look(settled) == [("ingest_notes", "d.md", "d.md")]
    assert "b.md" in known_sources(settled.instance, "notes")


def test_quarantined_files_are_left_alone_until_they_change(settled):
    write(settled, "bad.md", "# Bad")
    settle(settled, state="quarantined")
    waiting = "0 files unchanged; 5 quarantined and not tried again before they or the settings change"
    assert look(settled) == waiting
    write(settled, "bad.md", "# Good", age=50)
    assert look(settled) == [("ingest_notes", "bad.md", "bad.md")]


def test_thousands_of_new_files_become_few_runs(project):
    for number in range(2000):
        write(project, f"{number:04}.md", f"# {number}")
    requests = look(project)
    assert len(requests) == 20
    assert requests[0] == ("ingest_notes", "0000.md", "0099.md")
    assert requests[-1] == ("ingest_notes", "1900.md", "1999.md")

    # Every fourth one changes: a run for each would be five hundred.
    settle(project)
    for number in range(0, 2000, 4):
        write(project, f"{number:04}.md", "# changed")
    assert len(look(project)) == 20


def test_the_nightly_schedule_asks_for_the_same_and_waits_for_nobody(settled):
    write(settled, "a.md", "# Changed", age=0)
    definitions = defined(settled)
    with dg.build_schedule_context(instance=settled.instance) as context:
        tick = definitions.resolve_schedule_def("nightly_notes").evaluate_tick(context)
        assert asked(tick.run_requests) == [("ingest_notes", "a.md", "a.md")]
    settle(settled)
    with dg.build_schedule_context(instance=settled.instance) as context:
        tick = definitions.resolve_schedule_def("nightly_notes").evaluate_tick(context)
        assert (tick.run_requests, tick.skip_message) == ([], "4 files unchanged")
        refresh = definitions.resolve_schedule_def("nightly_refresh_notes").evaluate_tick(context)
        assert [request.job_name or "refresh_notes" for request in refresh.run_requests] == ["refresh_notes"]


def test_nightly_schedules_follow_the_settings_and_everything_is_off_at_first(project):
    with (project.root / "stackroom.yaml").open("a") as settings:
        settings.write("schedules: {nightly: '30 3 * * *', timezone: Europe/Berlin, sensor_seconds: 45}\n")
    definitions = build_defs(project.config)
    for name in ("nightly_notes", "nightly_refresh_notes"):
        schedule = definitions.resolve_schedule_def(name)
        assert (schedule.cron_schedule, schedule.execution_timezone) == ("30 3 * * *", "Europe/Berlin")
        assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
    sensor = definitions.resolve_sensor_def("watch_notes")
    assert (sensor.minimum_interval_seconds, sensor.default_status) == (45, dg.DefaultSensorStatus.STOPPED)
