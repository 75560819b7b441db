"""The weekly job: near-duplicates are named, and how well the corpus is searched is measured against known answers."""

import json

import pytest

from assets.build import build_defs
from assets.partitions import CORPUS_TAG

HERON = (
    "# {}\n\nThe grey heron waits in shallow water.\n\nIt spears fish with its bill, and nests in the tops of trees."
)
QUESTIONS = [("1", "bird that spears fish"), ("2", "steam engine with a piston")]
EVALUATION = "    evaluation: {{queries: questions.jsonl, qrels: qrels.tsv, min_ndcg: {}}}\n"


@pytest.fixture
def weekly(project):
    """Ingest four documents, and return a function that runs the weekly job and gives metadata and checks by asset."""
    project.write("heron.md", HERON.format("Herons"))
    project.write("old/heron.md", HERON.format("The heron"))
    project.write("steam.md", "# Steam\n\nA boiler turns water into steam, which drives a piston.")
    project.write("otter.md", "# Otters\n\nOtters leave their spraint on stones in rivers.")
    (project.root / "questions.jsonl").write_text(
        "\n".join(json.dumps({"_id": key, "text": text}) for key, text in QUESTIONS)
    )
    (project.root / "qrels.tsv").write_text("1\told/heron.md\t1\n1\theron.md\t1\n2\tsteam.md\t1\n")
    project.settings(EVALUATION.format(0.9))
    project.ingest()

    def run():
        result = project.run(build_defs(project.config), "drift_notes", {CORPUS_TAG: "notes"})
        assert result.success
        shown = {
            event.asset_key.path[-1]: event.step_materialization_data.materialization.metadata
            for event in result.get_asset_materialization_events()
        }
        return shown, {one.check_name: one for one in result.get_asset_check_evaluations()}

    return run


def test_near_duplicates_and_quality_are_reported_every_week(weekly, project):
    shown, checks = weekly()
    assert checks["no_drift"].passed
    (pair,) = shown["near_duplicates"]["found"].records
    assert (pair.data["first"], pair.data["second"], pair.data["share"]) == ("heron.md", "old/heron.md", 1.0)
    assert (checks["no_near_duplicates"].passed, checks["no_near_duplicates"].severity.value) == (False, "WARN")
    assert "old&#47;heron&#46;md" in checks["no_near_duplicates"].metadata["pairs"].value
    assert shown["retrieval_quality"]["hybrid_ndcg_at_10"].value == 1.0
    assert shown["retrieval_quality"]["questions"].value == 2
    assert checks["good_enough"].passed

    (project.root / "qrels.tsv").write_text("1\tsteam.md\t1\n2\totter.md\t1\n")
    shown, checks = weekly()
    assert shown["near_duplicates"]["unchanged"].value is True
    assert not checks["good_enough"].passed
    assert "asked for is 0.900" in checks["good_enough"].description


def test_a_corpus_without_questions_is_not_measured(project):
    keys = {key.path[-1] for key in build_defs(project.config).resolve_all_asset_keys()}
    assert "near_duplicates" in keys
    assert "retrieval_quality" not in keys
