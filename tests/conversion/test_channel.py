"""Messages survive any cut of the stream, and nothing but messages is believed."""

import json
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.conversion.channel import BrokenChannelError, Decoder, encode, receive

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
messages = st.dictionaries(st.text(), values, max_size=4)


@given(st.lists(messages, max_size=5), st.integers(1, 40))
def test_messages_arrive_whole_however_the_stream_is_cut(sent, step):
    stream = b"".join(map(encode, sent))
    decoder = Decoder()
    arrived = [
        message for start in range(0, len(stream), step) for message in decoder.feed(stream[start : start + step])
    ]
    assert arrived == sent


def test_lone_surrogates_of_broken_text_layers_survive():
    assert Decoder().feed(encode({"text": "\ud835x"})) == [{"text": "\ud835x"}]


def test_an_absurd_length_is_refused_before_memory_is_asked_for():
    with pytest.raises(BrokenChannelError, match="72340172838076673 bytes"):
        Decoder().feed(b"\x01" * 8)


def test_what_is_not_json_is_refused():
    with pytest.raises(BrokenChannelError, match="not JSON"):
        Decoder().feed((4).to_bytes(8, "big") + b"{a:}")


def test_the_end_of_the_stream_is_told_from_silence():
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(encode({"a": 1})[:-1])
        decoder = Decoder()
        assert receive(ours, decoder) == []
        theirs.close()
        assert receive(ours, decoder) is None


def test_messages_are_plain_json_after_their_length():
    assert json.loads(encode({"a": ["ü"]})[8:]) == {"a": ["ü"]}
