"""Messages between a converter and its worker processes: JSON objects, each preceded by its length.

JSON, not pickle: a worker reads hostile files, and what comes out of it must not be able to run code in the parent.
"""

import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!Q")
MAX_MESSAGE_BYTES = 1 << 30
"""A longer message is a sign of a corrupted stream; the chunks of a 10,000-page book take some 50 MB."""

Message = dict[str, Any]


class BrokenChannelError(OSError):
    """The bytes on the channel are not messages."""


def encode(message: Message) -> bytes:
    """Return a message as bytes, length first. Lone surrogates (from broken PDFs) survive."""
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return _LENGTH.pack(len(body)) + body


class Decoder:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Take bytes as they come and return the messages that are complete.

        Raises:
            BrokenChannelError: the bytes are not messages.
        """
        self._buffer += data
        messages = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MAX_MESSAGE_BYTES:
                raise BrokenChannelError(f"a message of {length} bytes is announced")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                break
            try:
                messages.append(json.loads(self._buffer[_LENGTH.size : end]))
            except ValueError as error:
                raise BrokenChannelError(f"a message is not JSON: {error}") from error
            del self._buffer[:end]
        return messages


def receive(connection: socket.socket, decoder: Decoder) -> list[Message] | None:
    """Block until bytes arrive and return the messages they complete (perhaps none); None at the end of the stream."""
    try:
        data = connection.recv(1 << 16)
    except ConnectionResetError:
        return None
    return decoder.feed(data) if data else None
