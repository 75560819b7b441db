"""Makes record files: condition reports, work orders and others about a small plant, the same for the same seed."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

TYPES = ("CR", "WO", "SOP", "ECA", "OE", "BULLETIN")
PARTS = ("pump", "valve", "fan", "motor", "breaker", "heat exchanger", "snubber", "relay", "strainer", "gearbox")
FAULTS = ("seal leak", "bearing wear", "high vibration", "stem binding", "trip on overload", "fouling", "corrosion")
ACTIONS = ("replaced", "inspected", "lubricated", "aligned", "isolated", "tested", "adjusted")


def records(count: int, seed: int = 7) -> Iterator[dict]:
    """Yield records of all types in turn; each names one to three components and a place."""
    random_ = random.Random(seed)
    for number in range(count):
        doc_type = TYPES[number % len(TYPES)]
        part, fault, action = random_.choice(PARTS), random_.choice(FAULTS), random_.choice(ACTIONS)
        document = f"{doc_type}-{number // 3}"
        components = random_.sample([f"C-{one:04}" for one in range(max(20, count // 20))], random_.randint(1, 3))
        yield {
            "record_id": f"{document}::{number}",
            "doc_id": document,
            "doc_type": doc_type,
            "chunk_index": number,
            "embedding_text": f"Unit {number % 4}: {part} {number} found with {fault}; {action} on shift {number % 9}.",
            "metadata": {"unit": number % 4, "component_ids": components, "mechanisms": [fault], "asset_id": "A"},
            "provenance": {"chunk_id": f"c{number}", "page_start": 1, "page_end": 2},
        }


def write(path: Path, rows: list[dict]) -> Path:
    """Write records as a JSONL file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
