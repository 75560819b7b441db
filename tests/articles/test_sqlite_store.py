"""What only the file has: schema, damage, versions, other processes, cancellation, size."""

import asyncio
import multiprocessing
import random
import sqlite3
import threading
import time

import numpy as np
import pytest

from stackroom.articles import AsyncSqliteEmbeddingStore, EmbeddingChunk
from stackroom.articles.sqlite_file import ChunkFile
from stackroom.articles.store_base import encode
from stackroom.errors import EmbeddingStoreError

from .conftest import chunk, keys


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.sqlite"


def use(path, work):
    """Open a store, do something asynchronous with it, close it."""

    async def go():
        store = AsyncSqliteEmbeddingStore(path)
        try:
            return await work(store)
        finally:
            await store.aclose()

    return asyncio.run(go())


def sql(path, *statements):
    with sqlite3.connect(path) as connection:
        results = [connection.execute(statement).fetchall() for statement in statements]
    connection.close()
    return results


def test_recorded_schema(cases, path):
    (case,) = cases("sqlite.schema")
    use(path, lambda store: store.add([chunk("a", 0, [3.0, 4.0])]))
    ((version,),), ((mode,),), columns, ((blob, dim),) = sql(
        path,
        "PRAGMA user_version",
        "PRAGMA journal_mode",
        "PRAGMA table_info(chunks)",
        "SELECT vector, dim FROM chunks",
    )
    expected = case["expected"]
    assert (version, mode, dim, len(blob)) == (
        expected["user_version"],
        expected["journal_mode"],
        expected["dim"],
        expected["vector_bytes"],
    )
    assert [column[1] for column in columns] == expected["columns"]
    assert [column[1] for column in sorted(columns, key=lambda column: column[5]) if column[5]] == expected[
        "primary_key"
    ]
    np.testing.assert_allclose(np.frombuffer(blob, "<f4"), [0.6, 0.8], rtol=1e-6)


def test_the_file_of_a_newer_version_is_refused_on_every_call_and_left_alone(cases, path):
    (case,) = cases("sqlite.newer_schema")
    use(path, lambda store: store.add([chunk("a", 0, [1.0])]))
    sql(path, f"PRAGMA user_version = {case['input']['user_version']}")
    before = path.read_bytes()

    async def go(store):
        calls = [
            lambda: store.add([chunk("b", 0, [1.0])]),
            lambda: store.query([1.0]),
            lambda: store.query([]),
            store.count,
            lambda: store.delete_record("a"),
            lambda: store.bind_model("m", record=True),
        ]
        for call in calls:
            with pytest.raises(EmbeddingStoreError) as caught:
                await call()
            assert all(name in str(caught.value) for name in case["expected"]["message_should_name"])

    use(path, go)
    assert path.read_bytes() == before


def test_a_file_without_a_version_is_taken_over_with_its_rows(path):
    use(path, lambda store: store.add([chunk("a", 0, [1.0])]))
    sql(path, "DROP TABLE facts", "PRAGMA user_version = 0")
    assert use(path, lambda store: store.count()) == 1
    assert sql(path, "PRAGMA user_version") == [[(1,)]]


def test_a_file_of_the_first_version_without_facts_gets_them(path):
    use(path, lambda store: store.add([chunk("a", 0, [1.0])]))
    sql(path, "DROP TABLE facts")
    use(path, lambda store: store.bind_model("m", record=True))
    assert sql(path, "SELECT value FROM facts") == [[("m",)]]


def test_a_file_that_is_no_database_is_an_error_with_the_reason(path):
    path.write_bytes(b"plain text" * 500)
    for _ in range(2):
        with pytest.raises(EmbeddingStoreError, match=r"memory\.sqlite: file is not a database"):
            use(path, lambda store: store.count())


def test_a_folder_in_the_place_of_the_file_is_an_error(tmp_path):
    with pytest.raises(EmbeddingStoreError, match="unable to open"):
        use(tmp_path, lambda store: store.count())


def test_data_survives_closing_and_another_event_loop(path):
    store = AsyncSqliteEmbeddingStore(path)
    asyncio.run(store.add([chunk("a", 0, [1.0, 0.0], "text", title="T")]))
    (hit,) = asyncio.run(store.query([1.0, 0.0]))
    assert (hit.text, hit.score, hit.metadata) == ("text", 1.0, {"title": "T"})
    asyncio.run(store.aclose())
    assert asyncio.run(store.count()) == 1
    asyncio.run(store.aclose())
    for thread in threading.enumerate():
        if thread.name.startswith("article-memory"):
            thread.join(10)
            assert not thread.is_alive()


def test_memory_only_lasts_until_it_is_closed():
    async def go():
        store = AsyncSqliteEmbeddingStore(":memory:")
        await store.add([chunk("a", 0, [1.0])])
        assert await store.count() == 1
        await store.aclose()
        assert await store.count() == 0
        await store.aclose()

    asyncio.run(go())


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE chunks SET metadata = '{broken' WHERE record_id = 'bad'",
        "UPDATE chunks SET metadata = '[1]' WHERE record_id = 'bad'",
        "UPDATE chunks SET metadata = x'ff00' WHERE record_id = 'bad'",
        "UPDATE chunks SET text = x'ff00' WHERE record_id = 'bad'",
        "UPDATE chunks SET vector = x'00' WHERE record_id = 'bad'",
        "UPDATE chunks SET vector = 'text' WHERE record_id = 'bad'",
        "UPDATE chunks SET vector = x'0000c07f0000c07f' WHERE record_id = 'bad'",
        "UPDATE chunks SET dim = 7 WHERE record_id = 'bad'",
    ],
)
def test_one_damaged_row_does_not_fail_queries(path, damage):
    """The damaged row is the best match; the next ones take its place, still top_k of them."""
    good = [chunk(f"good{n}", 0, [1.0, n / 10]) for n in range(1, 5)]
    use(path, lambda store: store.add([chunk("bad", 0, [1.0, 0.0]), *good]))
    sql(path, damage)
    assert keys(use(path, lambda store: store.query([1.0, 0.0], 3))) == [("good1", 0), ("good2", 0), ("good3", 0)]


def test_undecodable_text_is_shown_with_replacement_characters(path):
    use(path, lambda store: store.add([chunk("bad", 0, [1.0])]))
    sql(path, "UPDATE chunks SET text = CAST(x'61ff62' AS TEXT)")
    assert use(path, lambda store: store.query([1.0]))[0].text == "a\ufffdb"


def test_listing_records_names_the_one_whose_metadata_is_damaged(path):
    use(path, lambda store: store.add([chunk("a", 0, [1.0]), chunk("b", 0, [1.0])]))
    sql(path, "UPDATE chunks SET metadata = '[]' WHERE record_id = 'b'")

    async def listed(store):
        return [record.record_id async for record in store.iter_records(1)]

    with pytest.raises(EmbeddingStoreError, match="metadata of record 'b'"):
        use(path, listed)


def test_a_failing_write_leaves_what_was_there(path):
    """A trigger stands for a full disk: the second row of the transaction fails."""
    use(path, lambda store: store.add([chunk("a", 0, [1.0], "old"), chunk("a", 1, [1.0], "old")]))
    sql(
        path,
        "CREATE TRIGGER full BEFORE INSERT ON chunks WHEN new.chunk_index = 1 BEGIN SELECT RAISE(ABORT, 'full'); END",
    )

    async def go(store):
        with pytest.raises(EmbeddingStoreError, match=r"cannot replace a record in .*: full"):
            await store.replace_record("a", [chunk("a", 0, [1.0], "new"), chunk("a", 1, [1.0], "new")])
        return [record.passages async for record in store.iter_records()]

    assert use(path, go) == [("old", "old")]


def test_vectors_are_read_again_only_after_a_write_from_anywhere(path, monkeypatch, cases):
    (case,) = cases("sqlite.snapshot")
    loads = []
    read = ChunkFile._read_vectors
    monkeypatch.setattr(ChunkFile, "_read_vectors", lambda self, *rest: loads.append(1) or read(self, *rest))

    async def go(store):
        other = AsyncSqliteEmbeddingStore(path)
        await store.add([chunk("a", 0, [1.0, 0.0])])
        for _ in range(3):
            await store.query([1.0, 0.0])
        await store.add([chunk("b", 0, [1.0, 0.0])])
        assert len(await store.query([1.0, 0.0])) == 2
        await other.add([chunk("c", 0, [1.0, 0.0])])
        for _ in range(2):
            assert len(await store.query([1.0, 0.0])) == 3
        await other.aclose()

    use(path, go)
    assert len(loads) == case["expected"]["reloads"]


def test_recorded_cancellation(cases, path, monkeypatch):
    """The second operation starts when the thread of the first has ended; the write is kept."""
    assert cases("sqlite.cancellation")[0]["expected"]["write_outcome"] == "kept (committed)"
    order = []
    add = ChunkFile.add

    def slow_add(self, chunks):
        order.append("starts")
        time.sleep(0.15)
        add(self, chunks)
        order.append("ends")

    monkeypatch.setattr(ChunkFile, "add", slow_add)

    async def go(store):
        task = asyncio.create_task(store.add([chunk("a", 0, [1.0])]))
        while not order:
            await asyncio.sleep(0.005)
        for _ in range(5):  # cancelled again and again while it waits
            task.cancel()
            await asyncio.sleep(0.01)
            assert not task.done()
        counted = asyncio.create_task(store.count())
        with pytest.raises(asyncio.CancelledError):
            await task
        assert order == ["starts", "ends"]
        return await counted

    assert use(path, go) == 1


def test_a_write_cancelled_in_the_queue_never_happens(path, monkeypatch):
    gate = threading.Event()
    count = ChunkFile.count
    monkeypatch.setattr(ChunkFile, "count", lambda self: gate.wait(5) and count(self))

    async def go(store):
        blocker = asyncio.create_task(store.count())
        await asyncio.sleep(0.02)
        queued = asyncio.create_task(store.add([chunk("a", 0, [1.0])]))
        await asyncio.sleep(0.02)
        queued.cancel()
        with pytest.raises(asyncio.CancelledError):
            await queued
        gate.set()
        await blocker
        return await store.count()

    assert use(path, go) == 0


def test_two_hundred_random_cancellations_leave_the_store_consistent(path):
    """Each replace writes one version of a record, of as many chunks as the version says: never a mixture."""
    generator = random.Random(7)

    async def write(store, record, version):
        await store.replace_record(record, [chunk(record, n, [1.0, n], f"v{version}") for n in range(version % 9 + 1)])

    async def go(store):
        cancelled = version = 0
        while cancelled < 200:
            tasks = []
            for _ in range(6):
                version += 1
                writes = generator.random() < 0.8
                record = f"r{generator.randrange(4)}"
                work = write(store, record, version) if writes else store.query([1.0, 1.0])
                tasks.append(asyncio.create_task(work))
            await asyncio.sleep(generator.random() * 0.004)
            for task in tasks:
                for _ in range(generator.choice([0, 1, 1, 3])):
                    task.cancel()
                    if generator.random() < 0.5:
                        await asyncio.sleep(0)
            results = await asyncio.gather(*tasks, return_exceptions=True)
            cancelled += sum(isinstance(result, asyncio.CancelledError) for result in results)
            unexpected = [
                r for r in results if isinstance(r, BaseException) and not isinstance(r, asyncio.CancelledError)
            ]
            assert not unexpected
            async for record in store.iter_records():
                (text,) = set(record.passages)
                assert len(record.passages) == int(text[1:]) % 9 + 1
        await store.replace_record("r0", [chunk("r0", 0, [1.0, 0.0], "last")])
        return (await store.query([1.0, 0.0], 1))[0].text

    assert use(path, go) == "last"
    assert sql(path, "PRAGMA integrity_check") == [[("ok",)]]


def _write(path, name, rounds, barrier):
    barrier.wait(30)

    async def go(store):
        for n in range(rounds):
            await store.replace_record(f"{name}{n}", [chunk(f"{name}{n}", i, [1.0, i]) for i in range(3)])
            await store.query([1.0, 0.0])

    use(path, go)


def test_two_processes_that_write_at_once_lose_nothing(path):
    context = multiprocessing.get_context("fork")
    for attempt in range(4):  # the moment both create the file is the delicate one
        file = path.with_name(f"{attempt}.sqlite")
        barrier = context.Barrier(2)
        rounds = 60 if attempt == 0 else 2
        workers = [context.Process(target=_write, args=(file, name, rounds, barrier)) for name in "ab"]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert [worker.exitcode for worker in workers] == [0, 0]
        assert use(file, lambda store: store.count()) == 2 * rounds * 3


@pytest.mark.slow
def test_a_query_over_100_000_chunks_takes_at_most_60_ms(path):
    generator = np.random.default_rng(0)
    file = ChunkFile(path)
    for start in range(0, 100_000, 5_000):
        vectors = generator.normal(size=(5_000, 384)).astype(np.float32)
        file.add(
            encode([EmbeddingChunk(f"r{(start + n) // 20:05}", n % 20, "text", v, {}) for n, v in enumerate(vectors)])
        )
    file.close()

    async def go(store):
        assert await store.count() == 100_000
        await store.query(generator.normal(size=384).tolist())
        seconds = []
        for n in range(100):
            vector = generator.normal(size=384).tolist()
            started = time.perf_counter()
            assert len(await store.query(vector, 10, exclude_record_id=f"r{n:05}")) == 10
            seconds.append(time.perf_counter() - started)
        return sorted(seconds)[94]

    assert use(path, go) <= 0.060
