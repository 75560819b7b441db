"""The client of an embedding service, over real HTTP on loopback."""

import asyncio
import json
import logging
import time
import traceback

import pytest
from pydantic import SecretStr

from stackroom.embedding.openai_api import AsyncOpenAIEmbedder
from stackroom.embedding.rate_limit import AsyncRateLimiter, HostRateLimiter, SemaphoreRateLimiter, WindowRateLimiter
from stackroom.errors import EmbeddingError, EmbeddingUnavailableError

from .conftest import Answer

KEY = "sk-secret-0123456789"


class Journal(AsyncRateLimiter):
    """Records when it is entered, left, and when the client sleeps."""

    def __init__(self):
        self.lines = []
        self.sleeps = []

    async def acquire(self):
        self.lines.append("enter")

    def release(self):
        self.lines.append("exit")

    async def sleep(self, seconds):
        self.lines.append("sleep")
        self.sleeps.append(seconds)


def embedder(service, journal=None, **arguments):
    journal = journal or Journal()
    arguments = {"rate_limiter": journal, "sleep": journal.sleep, **arguments}
    return AsyncOpenAIEmbedder(KEY, service.url, "m", **arguments)


def run(client, texts):
    async def go():
        try:
            return await client.embed(texts)
        finally:
            await client.aclose()

    return asyncio.run(go())


def vector_cases(shared, function):
    cases = json.loads((shared / "vectors" / "records-and-articles.json").read_text())["vectors"]
    return [case for case in cases if case["function"] == function]


DEVIATIONS = {
    "S204": "vectors are placed by their index",
    "S205": "a short answer is an error",
    "S222": "one text instead of a list is refused",
}


def test_the_reference_cases_hold_except_for_its_defects(shared, service):
    for case in vector_cases(shared, "AsyncOpenAIEmbedder.embed"):
        if case["id"] in DEVIATIONS:
            continue
        given, expected, journal = case["input"], case["expected"], Journal()
        service.requests.clear()
        service.script = [Answer(a["status"], a["headers"], a["data_index_order"]) for a in given["server"]]
        options = {key: given[key] for key in ("batch_size", "max_retries", "backoff_factor") if key in given}
        client = embedder(service, journal, **options)
        if "raises" in expected:
            with pytest.raises(EmbeddingError) as caught:
                run(client, given["texts"])
            for name in expected["message_should_name"]:
                assert name in str(caught.value), case["id"]
        else:
            assert run(client, given["texts"]) == expected["vectors"], case["id"]
        assert service.inputs == expected["requests"], case["id"]
        assert journal.sleeps == expected["sleeps"], case["id"]
        assert journal.lines == expected["limiter_journal"], case["id"]
        usage = {"requests": client.usage.requests, "prompt_tokens": client.usage.prompt_tokens}
        assert usage == expected["usage"], case["id"]


def test_the_request_is_what_the_protocol_asks(service):
    run(embedder(service), ["a"])
    assert service.requests == [{"path": "/v1/embeddings", "model": "m", "input": ["a"], "encoding_format": "float"}]
    assert service.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_an_answer_out_of_order_is_placed_by_index(service):
    service.script = [Answer(order=[2, 0, 1])]
    assert run(embedder(service), ["a", "b", "c"]) == [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]


def item(index, embedding):
    return {"data": [{"index": index, "embedding": embedding}]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"data": []}, "0 vectors for 1 texts"),
        ({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]}, "2 vectors for 1 texts"),
        ({}, "no list `data`"),
        ([], "no list `data`"),
        ({"data": {"0": [1.0]}}, "no list `data`"),
        (item(1, [1.0]), "index 1"),
        (item(-1, [1.0]), "index -1"),
        (item(True, [1.0]), "index True"),
        (item("0", [1.0]), "index '0'"),
        ({"data": [{"embedding": [1.0]}]}, "index None"),
        ({"data": [None]}, "index None"),
        (item(0, []), "empty"),
        (item(0, [[1.0]]), "nested"),
        (item(0, [1.0, [2.0]]), "malformed"),
        (item(0, [1.0, None]), "malformed|non-finite"),
        (item(0, ["1.0"]), "no vector"),
        (item(0, [True]), "no vector"),
        (item(0, None), "no vector"),
        (item(0, "!!!"), "malformed"),
        (item(0, [0.0, 0.0]), "zero"),
        (b'{"data": [{"index": 0, "embedding": [NaN]}]}', "non-finite"),
        (b'{"data": [{"index": 0, "embedding": [1e400]}]}', "non-finite"),
        (b"", "not JSON"),
        (b"<html>gateway</html>", "not JSON.*gateway"),
        (b'{"data": [{"index": 0, "emb', "not JSON"),
    ],
)
def test_an_answer_that_cannot_be_used_is_an_error_at_once(service, body, message):
    service.script = [Answer(body=body)]
    journal = Journal()
    with pytest.raises(EmbeddingError, match=message):
        run(embedder(service, journal), ["a"])
    assert (len(service.requests), journal.sleeps) == (1, [])


def test_two_vectors_of_one_index_are_an_error(service):
    service.script = [Answer(order=[0, 0])]
    with pytest.raises(EmbeddingError, match="two vectors of index 0"):
        run(embedder(service), ["a", "b"])


def test_a_vector_of_another_length_is_an_error_even_in_a_later_batch(service):
    service.script = [Answer(), Answer(body=item(0, [1.0, 2.0, 3.0]))]
    with pytest.raises(EmbeddingError, match="3 numbers at index 0; a vector has 2"):
        run(embedder(service, batch_size=1), ["a", "b"])


def test_vectors_in_base64_are_read(service):
    service.script = [Answer(body=item(0, "AACAPwAAAMA="))]
    assert run(embedder(service), ["a"]) == [[1.0, -2.0]]


@pytest.mark.parametrize(
    "fault", [Answer(reset=True), Answer(cut_after=10), Answer(status=500), Answer(status=529), Answer(status=429)]
)
def test_what_may_pass_is_tried_again(service, fault):
    service.script = [fault, fault]
    journal = Journal()
    assert run(embedder(service, journal), ["b"]) == [[1.0, 1.0]]
    assert journal.sleeps == [1.0, 2.0]
    assert journal.lines == ["enter", "exit", "sleep", "enter", "exit", "sleep", "enter", "exit"]


def test_a_body_that_drips_runs_into_the_time_out(service):
    """Each byte comes in time, the answer as a whole does not."""
    service.script = [Answer(drip_seconds=0.1)] * 2
    started = time.monotonic()
    with pytest.raises(EmbeddingUnavailableError, match=r"2 times.*no complete answer within 0\.3 s"):
        run(embedder(service, max_retries=2, timeout_seconds=0.3), ["a"])
    assert time.monotonic() - started < 2


def test_a_slow_first_answer_is_followed_by_a_good_one(service):
    service.script = [Answer(drip_seconds=0.1)]
    assert run(embedder(service, timeout_seconds=0.3), ["c"]) == [[2.0, 1.0]]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 301])
def test_a_refusal_is_not_tried_again(service, status):
    service.script = [Answer(status=status)]
    with pytest.raises(EmbeddingError, match=f"HTTP {status}") as caught:
        run(embedder(service), ["a"])
    assert not isinstance(caught.value, EmbeddingUnavailableError)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("headers", "slept"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after-ms": "2500", "Retry-After": "9"}, 2.5),
        ({"retry-after-ms": "nonsense", "Retry-After": "9"}, 9.0),
        ({"Retry-After": "999"}, 60.0),
        ({"Retry-After": "0"}, 1.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 1.0),
    ],
)
def test_the_wish_of_the_server_is_followed_up_to_a_cap(service, headers, slept):
    service.script = [Answer(status=429, headers=headers)]
    journal = Journal()
    run(embedder(service, journal), ["a"])
    assert journal.sleeps == [slept]


def test_the_last_failure_is_named_and_nothing_is_slept_after_it(service):
    service.script = [Answer(status=503)] * 5
    journal = Journal()
    with pytest.raises(EmbeddingUnavailableError, match=r"failed 3 times.*HTTP 503 \(scripted 503\)") as caught:
        run(embedder(service, journal), ["a"])
    assert caught.value.__cause__ is not None
    assert (len(service.requests), journal.sleeps) == (3, [1.0, 2.0])


def test_nobody_listening_is_a_clear_error():
    client = AsyncOpenAIEmbedder(KEY, "http://127.0.0.1:9", "m", max_retries=1)
    with pytest.raises(EmbeddingUnavailableError, match=r"127\.0\.0\.1:9.*connection error"):
        run(client, ["a"])


def test_no_texts_send_no_request(service):
    assert run(embedder(service), []) == []
    assert service.requests == []


@pytest.mark.parametrize("texts", ["ab", ["a", None], [b"a"]])
def test_what_is_not_a_list_of_texts_is_refused(service, texts):
    with pytest.raises(TypeError, match="text"):
        run(embedder(service), texts)
    assert service.requests == []


def test_text_that_is_not_valid_unicode_is_sent_readably(service):
    run(embedder(service), ["a\ud800b"])
    assert service.inputs == [["a?b"]]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"max_retries": 0}, "max_retries"),
        ({"max_retry_after": -1}, "max_retry_after"),
        ({"backoff_factor": -1}, "backoff_factor"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"base_url": "localhost:8000"}, "base_url"),
        ({"base_url": "ftp://host"}, "base_url"),
        ({"base_url": ""}, "base_url"),
    ],
)
def test_bad_arguments_are_named(arguments, name):
    with pytest.raises(ValueError, match=name):
        AsyncOpenAIEmbedder(**{"api_key": KEY, "base_url": "http://h", "model": "m", **arguments})


def test_the_key_is_in_no_message_and_no_log(service, caplog):
    service.script = [
        Answer(status=401, body={"error": {"message": f"Incorrect API key provided: {KEY}"}}),
        Answer(body=f"your key is {KEY}".encode()),
        Answer(status=400, body=f"no: {KEY}".encode()),
        Answer(status=503, body={"error": f"busy, {KEY}"}),
    ]
    client = embedder(service, max_retries=1)
    shown = [repr(client), str(client)]
    with caplog.at_level(logging.DEBUG):
        for _ in range(4):
            with pytest.raises(EmbeddingError) as caught:
                run(client, ["a"])
            shown.append("".join(traceback.format_exception(caught.value)))
    assert KEY not in "".join(shown) + caplog.text
    assert "[key]" in shown[2]


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-ключ", "sk a"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key):
    with pytest.raises(ValueError, match="API key") as caught:
        AsyncOpenAIEmbedder(key, "http://h", "m")
    assert key not in str(caught.value)


def test_a_key_may_be_a_secret_and_may_be_absent(service):
    run(AsyncOpenAIEmbedder(SecretStr(f" {KEY}\n"), service.url + "/", "m"), ["a"])
    run(AsyncOpenAIEmbedder("", service.url, "m"), ["a"])
    assert service.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert "Authorization" not in service.headers[1]
    assert service.requests[0]["path"] == "/v1/embeddings"


def test_never_more_requests_reach_the_server_than_the_limit_allows(service):
    """Four tasks share one budget of 5 in 0.3 s; the server's own clock is the judge."""
    limiter = WindowRateLimiter(5, 0.3)
    service.script = [Answer(status=429)] * 3

    async def go():
        clients = [
            AsyncOpenAIEmbedder(
                KEY,
                service.url,
                "m",
                batch_size=1,
                rate_limiter=limiter,
                backoff_factor=0,
                sleep=lambda _: asyncio.sleep(0),
            )
            for _ in range(4)
        ]
        await asyncio.gather(*(client.embed(["a"] * 5) for client in clients))
        for client in clients:
            await client.aclose()

    asyncio.run(go())
    arrivals = sorted(service.arrivals)
    assert len(arrivals) == 23
    assert min(later - earlier for earlier, later in zip(arrivals, arrivals[5:], strict=False)) >= 0.3


def test_cancelling_gives_the_slot_back(service):
    limiter = SemaphoreRateLimiter(1)
    service.script = [Answer(drip_seconds=0.05)]

    async def go():
        client = embedder(service, rate_limiter=HostRateLimiter({"127.0.0.1": limiter}))
        task = asyncio.create_task(client.embed(["a"]))
        while not service.requests:
            await asyncio.sleep(0.01)
        assert limiter.held == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert limiter.held == 0
        assert await client.embed(["b"]) == [[1.0, 1.0]]
        await client.aclose()

    asyncio.run(go())


def test_one_client_works_on_a_second_event_loop(service):
    client = embedder(service)
    assert asyncio.run(client.embed(["a"])) == asyncio.run(client.embed(["a"]))
