"""All real papers, and a DOI service over HTTP: what a right one adds, and that a wrong one does no harm."""

import json
from contextlib import closing

import pytest

from benchmarks.metadata import signals_by_conversion
from stackroom.biblio.doi import open_resolver
from stackroom.biblio.doi_text import doi_key
from stackroom.biblio.extract import extract_entry
from stackroom.biblio.signals import collect_signals
from stackroom.config import MetadataSettings
from stackroom.map_lint import lint_file_metadata
from stackroom.metadata_map import generated_entry
from tests.biblio.doi_server import Reply, Server

SETTINGS = MetadataSettings(lookup="on", services=("crossref",))


NEEDS_OCR = "f1000-3-305-garbled-textlayer.pdf"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def papers(shared, tmp_path_factory):
    """Truth and signals of all 27 papers; only the one whose text layer is gibberish has to be converted."""
    truth = json.loads((shared / "corpus" / "papers-truth.json").read_text())
    folder = shared / "corpus" / "papers"
    converted = signals_by_conversion([folder / NEEDS_OCR], tmp_path_factory.mktemp("conversions"))
    signals = {name: collect_signals(folder / name, None, "pdf") for name in truth if name != NEEDS_OCR}
    signals[NEEDS_OCR] = converted[folder / NEEDS_OCR]
    return {name: (row, signals[name]) for name, row in truth.items()}


def work(row):
    """Return a record as Crossref words it."""
    names = [name.rpartition(" ") for name in row["authors"]]
    message = {
        "title": [row["title"]],
        "author": [{"given": given, "family": family} for given, _, family in names],
        "issued": {"date-parts": [[row["year"]]]},
        "container-title": [row["journal"]] if row["journal"] else [],
        "DOI": row["doi"],
    }
    return {"status": "ok", "message-type": "work", "message": message}


def looked_up(papers, answer, folder):
    """Extract from every paper, under neutral names, with a service that answers for each DOI."""
    with closing(Server()) as server:
        server.replies["crossref"] = lambda path: answer(doi_key(path.removeprefix("/crossref/works/")))
        addresses = {"crossref": f"{server.base}/crossref"}
        with open_resolver(SETTINGS, folder / "doi.sqlite", addresses) as resolver:
            found = {
                name: extract_entry(signals, f"source-{number}.pdf", SETTINGS, resolver)
                for number, (name, (_, signals)) in enumerate(papers.items())
            }
        assert set(server.asked()) == {"crossref"}
    return found


def test_with_a_service_that_knows_them_every_paper_with_a_doi_is_complete(papers, tmp_path):
    known = {doi_key(row["doi"]): work(row) for row, _ in papers.values() if row["doi"]}
    assert len(known) == 17
    found = looked_up(papers, lambda doi: Reply(body=known[doi]) if doi in known else Reply(404), tmp_path)
    complete = {name for name, one in found.items() if one.entry["_sources"].get("doi") == "doi-service"}
    assert complete == {name for name, (row, _) in papers.items() if row["doi"]}
    for name in complete:
        row, entry = papers[name][0], found[name].entry
        assert entry["_metadata_complete"], name
        assert {key: entry.get(key) for key in ("title", "authors", "year", "doi")} == {
            key: row[key] for key in ("title", "authors", "year", "doi")
        }
        looked = [key for key in ("title", "authors", "year", "journal", "doi") if row[key]]
        assert {entry["_sources"][key] for key in looked} == {"doi-service"}, name
        assert found[name].candidates["title"][0].where == {"service": "crossref", "doi": entry["doi"]}
        assert not found[name].unanswered


def test_of_a_service_that_answers_with_other_papers_nothing_is_adopted(papers, tmp_path):
    """Each DOI is answered with the record of the next paper of the corpus: as plausible as a wrong record can be."""
    rows = [row for row, _ in papers.values() if row["doi"]]
    shifted = {
        doi_key(row["doi"]): work({**other, "doi": row["doi"]})
        for row, other in zip(rows, rows[1:] + rows[:1], strict=True)
    }
    offline = {
        name: extract_entry(signals, f"source-{number}.pdf", SETTINGS)
        for number, (name, (_, signals)) in enumerate(papers.items())
    }
    elsewhere = work(rows[0])
    found = looked_up(papers, lambda doi: Reply(body=shifted.get(doi, elsewhere)), tmp_path)
    for name, (row, _) in papers.items():
        entry, before = found[name].entry, offline[name].entry
        looked_right = doi_key(str(row["doi"])) == doi_key(rows[0]["doi"])
        for key in ("title", "authors", "year", "journal"):
            assert entry.get(key) == before.get(key), (name, key)
        assert entry.get("doi") in (None, before.get("doi")), name
        assert "doi-service" not in entry["_sources"].values(), name
        if row["doi"] and before.get("doi") and not looked_right:
            wrong = shifted[doi_key(row["doi"])]["message"]["title"][0]
            kept = [one for one in found[name].candidates["doi"] if doi_key(str(one.value)) == doi_key(row["doi"])]
            assert any(wrong in one.note for one in kept), name
            findings = lint_file_metadata(name, generated_entry(found[name], []))
            assert any(one.code == "lookup" and wrong in one for one in findings), name
