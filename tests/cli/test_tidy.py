"""`stackroom tidy`: what it shows of what was deleted."""

import json

import pytest

from stackroom.cli import main

KINDS = ("runs", "artefacts", "conversions", "logs", "vectors")


def deletes(project, **counts: int) -> None:
    """Let the process that tidies say that it deleted so many."""
    deleted = [{"kind": kind, "count": counts.get(kind, 0), "megabytes": 0.0, "examples": []} for kind in KINDS]
    answer = json.dumps({"deleted": deleted})
    (project.folder / "assets" / "tidy.py").write_text(f"print({answer!r})\n")


@pytest.mark.parametrize("switches", [[], ["--dry-run"]])
def test_nothing_to_tidy_is_one_line(project, capsys, switches):
    deletes(project)
    assert main(["tidy", *switches]) == 0
    assert capsys.readouterr().out == "Nothing to tidy.\n"


def test_only_what_was_deleted_is_listed(project, capsys):
    deletes(project, runs=12, logs=1)
    assert main(["tidy"]) == 0
    assert capsys.readouterr().out == "     12 superseded runs (0.0 MB)\n      1 old log (0.0 MB)\nDeleted.\n"
