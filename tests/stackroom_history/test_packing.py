"""What is stored for an event comes back as it was; everything else is left alone."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom_history.packing import pack, unpack

EVENT = json.dumps(
    {
        "__class__": "EventLogEntry",
        "dagster_event": {"__class__": "DagsterEvent", "event_type_value": "ASSET_CHECK_EVALUATION", "pid": 23209},
        "user_message": "Größe ≠ 0",
    },
    ensure_ascii=False,
)


@given(st.text())
def test_every_text_comes_back_whether_it_is_packed_or_not(text):
    assert unpack(pack(text)) == text
    event = '{"__class__": "' + text
    assert isinstance(pack(event), bytes)
    assert unpack(pack(event)) == event


def test_an_event_shrinks_to_a_third_and_keys_stay_searchable():
    assert len(pack(EVENT)) < len(EVENT.encode()) / 3
    assert pack('["notes", "chunks"]') == '["notes", "chunks"]'
    assert pack(None) is None
    assert unpack(None) is None


def test_what_cannot_be_read_says_so():
    with pytest.raises(ValueError, match="packed by a newer version"):
        unpack(b"\x07abc")
    with pytest.raises(ValueError, match="is damaged"):
        unpack(pack(EVENT)[:1] + b"\xff\xff\xff")
