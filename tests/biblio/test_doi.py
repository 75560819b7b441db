"""Looking up DOIs over real HTTP on the loopback interface: what services do, good and bad."""

import threading
import time
from contextlib import contextmanager

import pytest

from stackroom.biblio.doi import DoiResolver, open_resolver
from stackroom.biblio.doi_cache import DoiCache
from stackroom.biblio.doi_client import DoiClient, retry_after_seconds
from stackroom.biblio.lookup import Found, NotFound, Record, Unavailable
from stackroom.biblio.services import SERVICES
from stackroom.config import MetadataSettings
from tests.biblio.doi_server import Reply, Server

DOI = "10.5555/cab.1"
NAMES = ("crossref", "openalex", "semantic_scholar", "datacite")
CROSSREF = {
    "message": {
        "title": ["Cables <i>revisited</i> &amp; extended"],
        "author": [{"given": "Ana", "family": "Ruiz"}, {"name": "The Lab"}],
        "issued": {"date-parts": [[2004, 5]]},
        "container-title": ["J Cable"],
        "DOI": DOI,
    }
}
RECORD = Record("Cables revisited & extended", ("Ana Ruiz", "The Lab"), 2004, "J Cable", DOI)
OPENALEX = {"title": "From OpenAlex", "publication_year": 2004, "authorships": [], "doi": f"https://doi.org/{DOI}"}


@pytest.fixture
def server():
    running = Server()
    yield running
    running.close()


@contextmanager
def resolver(server, tmp_path, **settings):
    options = {"lookup": "on", "timeout_seconds": 0.4, **settings}
    addresses = {name: f"{server.base}/{name}" for name in NAMES}
    with open_resolver(MetadataSettings(**options), tmp_path / "doi.sqlite", addresses) as opened:
        yield opened


def test_the_first_service_that_knows_the_doi_answers(server, tmp_path):
    server.replies["crossref"] = [Reply(body=CROSSREF)]
    with resolver(server, tmp_path, mailto="lib@example.org") as opened:
        assert opened.resolve(f"https://doi.org/{DOI}.") == Found(RECORD, "crossref")
    [(name, path, query, headers)] = server.requests
    assert (name, path, query) == ("crossref", f"/crossref/works/{DOI}", {"mailto": ["lib@example.org"]})
    assert headers["User-Agent"].startswith("stackroom/")
    assert "mailto:lib@example.org" in headers["User-Agent"]


def test_a_known_answer_is_not_asked_for_again(server, tmp_path):
    server.replies["crossref"] = [Reply(body=CROSSREF)]
    with resolver(server, tmp_path) as opened:
        opened.resolve(DOI)
        opened.resolve(DOI.upper())
    with resolver(server, tmp_path, lookup="cached") as opened:
        assert opened.resolve(DOI) == Found(RECORD, "crossref")
        assert opened.resolve("10.5555/other") == Unavailable("")
    assert server.asked() == ["crossref"]


def test_a_doi_that_no_service_knows_is_not_registered_and_remembered(server, tmp_path):
    with resolver(server, tmp_path) as opened:
        assert opened.resolve(DOI) == NotFound(NAMES)
        assert opened.resolve(DOI) == NotFound((",".join(NAMES),))
    assert server.asked() == list(NAMES)


@pytest.mark.parametrize(
    ("bad", "requests"),
    [
        (Reply(429, body={}, headers={"Retry-After": "0"}), 2),
        (Reply(500, body={}), 2),
        (Reply(503, body={}, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), 2),
        (Reply(403, body={}), 1),
        (Reply(body=b"<html>maintenance"), 1),
        (Reply(body=b"[1, 2]"), 1),
        (Reply(body={"message": {"title": []}}), 1),
        (Reply(body={"message": "odd"}), 1),
        (Reply(body=CROSSREF, delay=0.8), 1),
        (Reply(body=CROSSREF, drip=0.05), 1),
        (Reply(302, body={}, headers={"Location": "http://169.254.169.254/latest/meta-data"}), 2),
    ],
    ids=["429", "500", "503", "403", "html", "list", "no-title", "odd", "slow", "dripping", "foreign-redirect"],
)
def test_a_service_that_fails_is_passed_over(server, tmp_path, bad, requests):
    server.replies["crossref"], server.replies["openalex"] = [bad], [Reply(body=OPENALEX)]
    with resolver(server, tmp_path) as opened:
        answer = opened.resolve(DOI)
    assert (answer.service, answer.record.title) == ("openalex", "From OpenAlex")
    assert server.asked() == ["crossref"] * requests + ["openalex"]


def test_a_passing_failure_is_tried_once_more(server, tmp_path):
    server.replies["crossref"] = [Reply(500, body={}), Reply(body=CROSSREF)]
    with resolver(server, tmp_path) as opened:
        assert opened.resolve(DOI) == Found(RECORD, "crossref")


def test_when_all_fail_nothing_is_remembered(server, tmp_path):
    for name in NAMES:
        server.replies[name] = [Reply(403, body={})]
    with resolver(server, tmp_path) as opened:
        answer = opened.resolve(DOI)
        assert isinstance(answer, Unavailable)
        assert "crossref answered HTTP 403" in answer.reason
        server.replies["crossref"] = [Reply(body=CROSSREF)]
        assert opened.resolve(DOI) == Found(RECORD, "crossref")


def test_one_denial_among_failures_settles_nothing(server, tmp_path):
    server.replies["openalex"] = [Reply(403, body={})]
    with resolver(server, tmp_path) as opened:
        assert opened.resolve(DOI) == Unavailable("openalex answered HTTP 403")


def test_a_redirect_to_a_host_on_the_list_is_followed(server, tmp_path):
    server.replies["crossref"] = [Reply(301, body={}, headers={"Location": "/openalex/moved"})]
    server.replies["openalex"] = [Reply(body=CROSSREF)]
    with resolver(server, tmp_path) as opened:
        assert opened.resolve(DOI) == Found(RECORD, "crossref")


def test_an_endless_redirect_and_an_endless_answer_end(server, tmp_path):
    server.replies["crossref"] = [Reply(301, body={}, headers={"Location": "/crossref/again"})]
    server.replies["openalex"] = [Reply(body=b"[" + b" " * 6_000_000)]
    server.replies["semantic_scholar"] = [Reply(body={"title": "T"})]
    with resolver(server, tmp_path) as opened:
        assert opened.resolve(DOI) == Found(Record("T"), "semantic_scholar")


def test_a_long_retry_after_leaves_the_service_alone(server, tmp_path):
    server.replies["crossref"] = [Reply(429, body={}, headers={"Retry-After": "3600"})]
    server.replies["openalex"] = [Reply(body=OPENALEX)]
    with resolver(server, tmp_path) as opened:
        start = time.monotonic()
        opened.resolve(DOI)
        opened.resolve("10.5555/cab.2")
        assert time.monotonic() - start < 3
    assert server.asked() == ["crossref", "openalex", "openalex"]


def test_requests_to_a_service_keep_their_distance():
    waits = []
    now = [100.0]
    client = DoiClient([SERVICES["semantic_scholar"]], clock=lambda: now[0], sleep=waits.append)
    service = SERVICES["semantic_scholar"]
    pace = client._paces[service.name]
    assert [client._wait_for_turn(service, pace) for _ in range(3)] == [True, True, True]
    assert waits == pytest.approx([1.1, 2.2])
    client.close()


def test_text_that_is_no_doi_is_never_asked_about(server, tmp_path):
    with resolver(server, tmp_path) as opened:
        assert [opened.resolve(text) for text in ("10.1234", "", "abc", "10.xxxxxx/draft")] == [NotFound()] * 4
    assert server.requests == []


def test_a_doi_cannot_lead_to_another_path(server, tmp_path):
    with resolver(server, tmp_path, services=("crossref",)) as opened:
        opened.resolve("10.5555/../../admin?x=1")
    [(name, path, query, _)] = server.requests
    assert (name, path, query) == ("crossref", "/crossref/works/10.5555/../../admin?x=1", {})


def test_answers_expire(tmp_path):
    now = [0.0]
    cache = DoiCache(tmp_path / "doi.sqlite", found_days=10, missing_days=1, now=lambda: now[0])
    cache.put("10.5555/a", Found(RECORD, "crossref"))
    cache.put("10.5555/b", NotFound(("crossref",)))
    now[0] = 86_399.0
    assert cache.get("10.5555/a") == Found(RECORD, "crossref")
    assert cache.get("10.5555/b") == NotFound(("crossref",))
    now[0] = 86_400.0
    assert cache.get("10.5555/b") is None
    now[0] = 864_000.0
    assert cache.get("10.5555/a") is None
    cache.close()


def test_a_damaged_cache_is_put_aside(tmp_path):
    path = tmp_path / "doi.sqlite"
    path.write_bytes(b"not a database, but long enough to be taken for one" * 20)
    with DoiResolver(None, DoiCache(path, found_days=1, missing_days=1)) as opened:
        assert opened.resolve(DOI) == Unavailable()
    assert (tmp_path / "doi.sqlite.damaged").exists()


def test_many_threads_share_one_resolver(server, tmp_path):
    server.replies["datacite"] = [Reply(body={"data": {"attributes": {"titles": [{"title": "T"}]}}})]
    answers = []
    with resolver(server, tmp_path, services=("datacite",), timeout_seconds=5) as opened:
        threads = [
            threading.Thread(target=lambda n=n: answers.append(opened.resolve(f"10.5555/{n}"))) for n in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [Found(Record("T"), "datacite")] * 6


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), (None, None), ("soon", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)]
)
def test_retry_after_is_a_number_or_a_date(header, seconds):
    assert retry_after_seconds(header) == seconds
