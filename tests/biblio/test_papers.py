"""On real papers: how much is found offline, what a right service adds, and that a wrong one does no harm."""

import json

import pytest

from benchmarks.metadata import judge
from stackroom.biblio.doi_text import doi_key
from stackroom.biblio.extract import extract_entry
from stackroom.biblio.lookup import Found, NotFound, Record
from stackroom.biblio.signals import collect_signals
from stackroom.config import MetadataSettings

NEEDS_OCR = "f1000-3-305-garbled-textlayer.pdf"
"""Its text layer is gibberish; the benchmark, which converts, covers it."""


@pytest.fixture(scope="module")
def truth(shared):
    papers = json.loads((shared / "corpus" / "papers-truth.json").read_text())
    return {name: row for name, row in papers.items() if name != NEEDS_OCR}


@pytest.fixture(scope="module")
def signals(shared, truth):
    return {name: collect_signals(shared / "corpus" / "papers" / name, None, "pdf") for name in truth}


def entries(signals, resolver=None):
    """Extract under neutral names: the file's own name must not help."""
    return {
        name: extract_entry(found, f"source-{number}.pdf", MetadataSettings(), resolver).entry
        for number, (name, found) in enumerate(signals.items())
    }


class TrueService:
    def __init__(self, truth):
        self.records = {
            doi_key(row["doi"]): Record(row["title"], tuple(row["authors"]), row["year"], row["journal"], row["doi"])
            for row in truth.values()
            if row["doi"]
        }

    def resolve(self, doi):
        record = self.records.get(doi_key(doi))
        return Found(record, "crossref") if record else NotFound(("crossref",))


class WrongService:
    record = Record(
        "Bathymetry of imaginary lakes and their tides", ("Nemo Nobody",), 1901, "Acta Fictionis", "10.9999/wrong"
    )

    def resolve(self, doi):
        return Found(self.record, "crossref")


def test_most_values_are_found_without_any_service(signals, truth):
    report = judge(entries(signals), truth)
    right = {field: row["right"] for field, row in report["fields"].items()}
    assert right["title"] >= 25, report["misses"]
    assert right["doi"] >= 25, report["misses"]
    assert right["year"] >= 24, report["misses"]
    assert right["authors"] >= 24, report["misses"]
    assert right["journal"] >= 13, report["misses"]
    assert report["foreign_dois"] == []


def test_with_a_service_that_knows_them_every_paper_with_a_doi_is_complete_and_right(signals, truth):
    found = entries(signals, TrueService(truth))
    for name, row in truth.items():
        if row["doi"]:
            entry = found[name]
            assert entry["_metadata_complete"], name
            assert entry["_sources"]["title"] == "doi-service", name
            assert (entry["title"], entry["authors"], entry["year"]) == (row["title"], row["authors"], row["year"])
            assert entry["doi"] == row["doi"]


def test_with_a_service_that_is_wrong_about_every_paper_nothing_of_it_is_adopted(signals, truth):
    offline, found = entries(signals), entries(signals, WrongService())
    for name in truth:
        for field in ("title", "authors", "year", "journal"):
            assert found[name].get(field) == offline[name].get(field), (name, field)
        assert found[name].get("doi") in (None, offline[name].get("doi"))
        assert WrongService.record.title not in str({k: v for k, v in found[name].items() if k != "_problems"})
        if offline[name].get("doi"):
            assert "registered for 'Bathymetry of imaginary lakes" in " ".join(found[name]["_problems"])
