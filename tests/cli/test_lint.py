"""`stackroom lint`: the findings of the last ingestion, worst first."""

import json

from stackroom.artefacts import write_json
from stackroom.cli import main
from stackroom.cli.output import program
from stackroom.config import load_config
from stackroom.fingerprint import fingerprint
from stackroom.ledger import Ledger
from stackroom.sources import scan_folder
from stackroom.stages.corpus_lint import CORPUS_LINT_SCHEMA
from stackroom.stages.lint_report import SCHEMA, STAGE
from stackroom.state import StateFolder


def finding(severity: str, rule: str, chunk_index: int | None = None) -> dict:
    """Return a finding as the stage records it."""
    return {"rule": rule, "severity": severity, "message": f"[{rule}] is odd", "chunk_index": chunk_index}


def record(project, reports: dict[str, list[dict]], across: list[dict]) -> None:
    """Write reports as an ingestion does."""
    config = load_config(project.folder)
    state = StateFolder(config.state_folder)
    for source in reports:
        project.add_file(source)
    ledger = Ledger(state.ledger)
    ledger.observe("papers", scan_folder(config.corpora["papers"].folder))
    ledger.close()
    artefacts = state.artefacts("papers")
    window = [{"id": "a.md#1", "text": "Some [red]words\nhere"}]
    for source, findings in reports.items():
        write_json(
            artefacts.path(STAGE, source, "json"),
            SCHEMA,
            fingerprint("lint_report", 1),
            {"findings": findings, "windows": [window]},
        )
    write_json(
        artefacts.root / "corpus_lint_report.json", CORPUS_LINT_SCHEMA, fingerprint("corpus", 1), {"across": across}
    )


def test_before_any_ingestion_nothing_has_been_linted(project, capsys):
    assert main(["lint"]) == 0
    assert capsys.readouterr().out == f"papers: nothing has been ingested yet; run `{program()} ingest papers`\n"
    assert main(["lint", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "sources": 0,
        "errors": 0,
        "warnings": 0,
        "findings": [],
        "not_ingested": ["papers"],
    }


def test_findings_come_worst_first_with_the_documented_keys(project, capsys):
    record(
        project,
        {
            "b.md": [finding("info", "no_doi"), finding("error", "over_limit", 2)],
            "a.md": [finding("warning", "short", 0)],
        },
        [finding("warning", "duplicate_doi")],
    )
    assert main(["lint", "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert (answer["sources"], answer["errors"], answer["warnings"]) == (2, 1, 2)
    assert [(one["severity"], one["source_id"], one["rule"]) for one in answer["findings"]] == [
        ("error", "b.md", "over_limit"),
        ("warning", None, "duplicate_doi"),
        ("warning", "a.md", "short"),
        ("info", "b.md", "no_doi"),
    ]
    assert answer["findings"][0] == {
        "corpus": "papers",
        "source_id": "b.md",
        "severity": "error",
        "rule": "over_limit",
        "message": "[over_limit] is odd",
        "chunk_index": 2,
    }


def test_warnings_alone_are_fine(project, capsys):
    record(project, {"a.md": [finding("warning", "short", 0)]}, [])
    assert main(["lint"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "1 file linted; 0 errors, 1 warning, 0 info" in out
    assert "warning a.md#0 short [short] is odd" in out


def test_samples_are_shown_on_request(project, capsys):
    record(project, {"a.md": []}, [])
    assert main(["lint", "--samples"]) == 0
    assert "a.md#1 Some [red]words here" in " ".join(capsys.readouterr().out.split())
    main(["lint", "--samples", "--json"])
    (sample,) = json.loads(capsys.readouterr().out)["samples"]
    assert sample["source_id"] == "a.md"


def test_a_long_list_is_cut_and_says_how_to_see_the_rest(project, capsys):
    record(project, {"a.md": [finding("warning", f"rule_{number:02}") for number in range(70)]}, [])
    assert main(["lint"]) == 0
    out = capsys.readouterr().out
    assert "and 10 more" in out
    assert "rule_69" not in out
    main(["lint", "--all"])
    assert "rule_69" in capsys.readouterr().out
