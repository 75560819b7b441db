"""Limiters: never more than allowed, nothing lost on cancellation."""

import asyncio
import json
import random
import time

import pytest

from stackroom.embedding.rate_limit import (
    HostRateLimiter,
    NullRateLimiter,
    SemaphoreRateLimiter,
    WindowRateLimiter,
    build_rate_limiter,
    limiter_for,
)


def test_recorded_hosts(shared):
    everything = json.loads((shared / "vectors" / "records-and-articles.json").read_text())["vectors"]
    for case in everything:
        if case["function"] == "HostRateLimiter.for_url":
            names = {host: NullRateLimiter() for host in case["input"]["configured"]}
            default = NullRateLimiter()
            chosen = HostRateLimiter(names, default).for_url(case["input"]["url"])
            labels = {id(limiter): host.strip(".").lower() for host, limiter in names.items()} | {
                id(default): "default"
            }
            assert labels[id(chosen)] == case["expected"], case["id"]
        elif case["function"] == "HostRateLimiter":
            with pytest.raises(ValueError, match=r"duplicate host 'a\.org'"):
                HostRateLimiter({host: NullRateLimiter() for host in case["input"]["configured"]})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.example.org:8443/v1", "api"),
        ("https://user:pw@API.Example.org./v1", "api"),
        ("https://a.b.example.org", "parent"),
        ("https://notexample.org", "default"),
        ("api.example.org", "default"),
        ("https://[broken", "default"),
    ],
)
def test_the_longest_configured_suffix_of_the_host_wins(url, expected):
    limiters = {"api": NullRateLimiter(), "parent": NullRateLimiter(), "default": NullRateLimiter()}
    chooser = HostRateLimiter(
        {" .example.org": limiters["parent"], "api.example.org": limiters["api"]}, limiters["default"]
    )
    assert chooser.for_url(url) is limiters[expected]
    assert limiter_for(chooser, url) is limiters[expected]


def test_blank_hosts_are_refused():
    with pytest.raises(ValueError, match="blank host"):
        HostRateLimiter({" . ": NullRateLimiter()})


def test_without_a_limiter_there_is_no_limit():
    assert isinstance(limiter_for(None, "https://x.org"), NullRateLimiter)
    assert isinstance(HostRateLimiter({}).for_url("https://x.org"), NullRateLimiter)
    only = SemaphoreRateLimiter(1)
    assert limiter_for(only, "https://x.org") is only


def test_the_builder_prefers_a_rate():
    assert isinstance(build_rate_limiter(), SemaphoreRateLimiter)
    assert isinstance(build_rate_limiter(max_rate=3), WindowRateLimiter)


@pytest.mark.parametrize("arguments", [{"max_rate": 0}, {"max_rate": -1}, {"max_rate": 1, "time_period": 0}])
def test_a_rate_must_be_above_zero(arguments):
    with pytest.raises(ValueError, match="max_rate"):
        WindowRateLimiter(**arguments)


def test_concurrency_must_be_at_least_one():
    with pytest.raises(ValueError, match="max_concurrency"):
        SemaphoreRateLimiter(0)


def test_no_more_than_the_slots_are_held_at_once_and_all_come_back():
    limiter = SemaphoreRateLimiter(3)
    most = 0

    async def use():
        nonlocal most
        async with limiter:
            most = max(most, limiter.held)
            await asyncio.sleep(random.Random(most).random() / 200)

    async def go():
        tasks = [asyncio.create_task(use()) for _ in range(40)]
        await asyncio.sleep(0.005)
        for task in tasks[::3]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(go())
    assert most == 3
    assert limiter.held == 0


def test_no_window_holds_more_requests_than_the_rate_even_under_cancellation():
    limiter = WindowRateLimiter(4, 0.1)
    spans = []

    async def use(number):
        async with limiter:
            entered = time.monotonic()
            await asyncio.sleep(0.003 * (number % 4))
        spans.append((entered, time.monotonic()))

    async def go():
        tasks = [asyncio.create_task(use(number)) for number in range(30)]
        await asyncio.sleep(0.05)
        for task in tasks[1::4]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(go())
    entered = sorted(start for start, _ in spans)
    assert len(entered) >= 22
    assert min(later - earlier for earlier, later in zip(entered, entered[4:], strict=False)) >= 0.1


def test_a_rate_below_one_stretches_the_period():
    limiter = WindowRateLimiter(0.5, 0.05)

    async def go():
        started = time.monotonic()
        for _ in range(3):
            async with limiter:
                pass
        return time.monotonic() - started

    assert 0.2 <= asyncio.run(go()) < 0.5
