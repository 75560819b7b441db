"""Every line of a record file is accepted or refused with a reason; nothing is dropped in silence."""

import json

import pytest

from stackroom.records.jsonl import extract_processed_text_record, gate, iter_jsonl, read_record_file


def record(identity="WO-7::2", **changes):
    return {
        "record_id": identity,
        "doc_id": "WO-7",
        "doc_type": "WO",
        "chunk_index": 2,
        "embedding_text": "bearing  replaced",
        "metadata": {},
        "provenance": {},
    } | changes


def test_the_gate_of_the_reference_cases(shared):
    cases = json.loads((shared / "vectors/records-and-articles.json").read_text())["vectors"]
    checked = 0
    for case in (case for case in cases if case["function"] == "extract_processed_text_record"):
        found = extract_processed_text_record(case["input"])
        if case["expected"] is None:
            assert found is None, case["id"]
        elif "under processed_text_record" in case["expected"]:
            assert found == case["input"]["processed_text_record"], case["id"]
        else:
            assert found == case["input"], case["id"]
        checked += 1
    assert checked == 7


def test_the_reading_of_the_reference_case(shared, tmp_path):
    cases = json.loads((shared / "vectors/records-and-articles.json").read_text())["vectors"]
    (case,) = [case for case in cases if case["function"] == "iter_jsonl"]
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(case["input"]["lines"]))
    values = list(iter_jsonl(path))
    assert [value for _, value in values if isinstance(value, dict)] == case["expected"]["yields"]
    assert [number for number, value in values if isinstance(value, ValueError)] == case["expected"][
        "warnings_for_lines"
    ]


def test_refused_lines_are_reported_with_line_id_and_reason(tmp_path):
    path = tmp_path / "mixed.jsonl"
    lines = [
        json.dumps(record("A::0")),
        "",
        "{broken",
        json.dumps([1, 2]),
        json.dumps({"record_id": "B::0", "doc_id": "B"}),
        json.dumps(record("C::0", embedding_text="  \n ")),
        json.dumps({"chunk_id": "c1", "processed_text_record": record("D::0")}),
        json.dumps({"processed_text_record": record("E::0", metadata=None)}),
    ]
    path.write_text("\n".join(lines))
    read = read_record_file(path)
    assert [item["record_id"] for item in read.records] == ["A::0", "D::0"]
    assert [(line.line, line.record_id) for line in read.refused] == [
        (3, None),
        (4, None),
        (5, "B::0"),
        (6, "C::0"),
        (8, "E::0"),
    ]
    assert read.refused[0].reason.startswith("not valid JSON")
    assert "doc_type" in read.refused[2].reason
    assert "embedding_text" in read.refused[3].reason
    assert read.refused[4].reason == "`metadata` is not an object"


def test_of_equal_ids_the_last_one_wins_and_the_repetition_is_reported(tmp_path):
    path = tmp_path / "twice.jsonl"
    path.write_text("\n".join(json.dumps(record("A::0", embedding_text=text)) for text in ("old", "new")))
    read = read_record_file(path)
    assert [item["embedding_text"] for item in read.records] == ["new"]
    assert read.repeated == ["A::0"]


@pytest.mark.parametrize("raw", [b"\xff\xfe{}", b"[" * 100_000, b'{"a": \x00}'])
def test_hostile_lines_are_refused_not_raised(tmp_path, raw):
    path = tmp_path / "hostile.jsonl"
    path.write_bytes(raw + b"\n" + json.dumps(record()).encode())
    read = read_record_file(path)
    assert len(read.records) == 1
    assert [line.line for line in read.refused] == [1]


def test_a_byte_order_mark_is_no_error(tmp_path):
    path = tmp_path / "bom.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(record()).encode())
    assert len(read_record_file(path).records) == 1


def test_the_gate_says_what_is_missing():
    assert gate({"record_id": "a"}).startswith("keys missing: doc_id, doc_type")
    assert gate(record()) is None
