"""A DOI service that does not answer is asked again by the next ingestion; one that says no is believed for a while."""

from contextlib import closing
from dataclasses import dataclass, field

import pytest

from stackroom.biblio.doi import open_resolver
from stackroom.outcome import Unchanged
from stackroom.stages import metadata_map
from stackroom.stages.bench import Bench, FileWork
from stackroom.stages.reconcile import plan_corpus
from tests.biblio.doi_server import Reply, Server
from tests.filled import Filled, hide_environment

SOURCE = "cables.md"
DOI = "10.5555/cab.1"
DOCUMENT = f"---\ntitle: Cables revisited and extended\ndoi: {DOI}\n---\n\n# Cables revisited and extended\n\nCables."
ASKING = '    metadata: {lookup: "on", services: [crossref]}\n'
BUSY = Reply(429, headers={"Retry-After": "30"})
KNOWN = {
    "message": {
        "title": ["Cables revisited and extended"],
        "author": [{"given": "Ana", "family": "Ruiz"}],
        "issued": {"date-parts": [[2004]]},
        "DOI": DOI,
    }
}


@dataclass
class Looking(Filled):
    """A project that asks a DOI service on the loopback interface."""

    server: Server = field(default_factory=Server)

    def bench(self) -> Bench:
        bench = super().bench()
        settings, cache = bench.settings.corpus.metadata, bench.settings.state.doi_cache
        bench.doi_resolver = open_resolver(settings, cache, {"crossref": self.server.base + "/crossref"})
        bench._stack.callback(bench.doi_resolver.close)
        return bench

    def answer(self, reply: Reply) -> None:
        self.server.replies["crossref"] = [reply]
        self.server.requests.clear()

    def to_do(self, **options) -> tuple[str, ...]:
        with self.bench() as bench:
            return plan_corpus(bench, **options).process

    def metadata(self):
        with self.bench() as bench:
            outcome = metadata_map.run(FileWork(bench, SOURCE))
            return outcome, metadata_map.read(FileWork(bench, SOURCE)).data["merged"]["DEFAULT"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    hide_environment(monkeypatch)
    with closing(Server()) as server:
        made = Looking(tmp_path, server)
        made.folder.mkdir()
        (made.folder / SOURCE).write_text(DOCUMENT)
        made.settings(ASKING)
        yield made


def test_a_service_that_does_not_answer_is_asked_again_and_one_that_says_no_is_not(project):
    project.answer(BUSY)
    assert project.ingest() == (SOURCE,)
    _, entry = project.metadata()
    assert entry["doi"] == DOI
    assert entry["_problems"] == [
        f"DOI {DOI} could not be looked up (crossref asked for patience); the next ingestion tries again"
    ]

    assert project.to_do() == ()  # the sensor looks twice a minute and leaves it alone
    assert project.to_do(ask_again=True) == (SOURCE,)
    project.settings('    metadata: {lookup: "cached"}\n')
    with project.bench() as bench:  # nobody is waited for who is not to be asked any more
        assert metadata_map.unanswered(bench, [SOURCE]) == frozenset()
    project.settings(ASKING)

    project.answer(Reply(404))
    _, entry = project.metadata()
    assert entry["_problems"] == [f"DOI {DOI} is not registered"]
    assert project.server.asked() == ["crossref"]
    assert project.to_do(ask_again=True) == ()
    assert isinstance(project.metadata()[0], Unchanged)
    assert project.server.asked() == ["crossref"]


def test_the_answer_that_comes_later_is_used_and_an_edit_asks_nobody(project):
    project.answer(BUSY)
    project.ingest()
    project.answer(Reply(body=KNOWN))
    _, entry = project.metadata()
    assert (entry["authors"], entry["year"], entry["_metadata_complete"]) == (["Ana Ruiz"], 2004, True)
    assert "_problems" not in entry
    assert project.to_do(ask_again=True) == ()

    project.answer(BUSY)
    (project.folder / "metadata-map.json").write_text(f'{{"{SOURCE}": {{"DEFAULT": {{"year": 2005}}}}}}')
    _, entry = project.metadata()
    assert (entry["authors"], entry["year"]) == (["Ana Ruiz"], 2005)
    assert project.server.asked() == []
