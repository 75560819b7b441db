"""Reading pickles without running anything: built-in containers, text and numbers, and named stand-ins at most.

A pickle can only act through a global (a class or function) that it asks for. The reader here refuses every one, or
gives a stand-in class of ours for the few that a caller allows. Nothing outside this file loads a keyword corpus.
"""

import io
import pickle
import pickletools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from stackroom.errors import ArtefactError, UnsafePickleError

# What a damaged or hostile stream raises while it is read; none of these means that something was executed.
_DAMAGE = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    IndexError,
    KeyError,
    AttributeError,
    TypeError,
    OverflowError,
    MemoryError,
    RecursionError,
)

_CALLING_OPCODES = frozenset(
    {"REDUCE", "INST", "OBJ", "EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID", "NEXT_BUFFER", "READONLY_BUFFER"}
)
"""Opcodes that call something or fetch objects from elsewhere; no corpus ever written needs them."""


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: BinaryIO, allowed: Mapping[tuple[str, str], type]) -> None:
        super().__init__(stream)
        self._allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._allowed[module, name]
        except KeyError:
            wanted = ", ".join(".".join(pair) for pair in self._allowed) or "none"
            raise UnsafePickleError(
                f"it asks for {module}.{name}; only built-in containers, text and numbers are loaded (allowed classes: "
                f"{wanted}), because anything else can run code"
            ) from None


def read_pickles(
    path: Path, allowed: Mapping[tuple[str, str], type] | None = None, most: int | None = None
) -> Iterator[Any]:
    """Yield the objects of a file of consecutive pickles.

    Args:
        path: the file.
        allowed: (module, name) of a class to the class of ours that stands in for it; by default none is allowed.
        most: stop after so many objects; by default at the end of the file.

    Raises:
        UnsafePickleError: the file asks for a class or function that is not allowed; nothing was executed.
        ArtefactError: the file is missing or damaged.
    """
    try:
        stream = path.open("rb")
    except OSError as error:
        raise ArtefactError(f"{path} cannot be read: {error.strerror}") from error
    with stream:
        read = 0
        while (most is None or read < most) and stream.peek(1):
            try:
                value = _Unpickler(stream, allowed or {}).load()
            except UnsafePickleError as error:
                raise UnsafePickleError(f"{path} was refused: {error}") from None
            except _DAMAGE as error:
                reason = str(error) or type(error).__name__
                raise ArtefactError(f"{path} is damaged: {reason}; nothing of it was used") from error
            read += 1
            yield value


def refuse_calls(path: Path) -> None:
    """Look through the opcodes of a foreign file before any of it is loaded.

    Raises:
        UnsafePickleError: an opcode calls something, or makes room for more objects than the file can hold (which
            would exhaust memory while loading).
        ArtefactError: the file is missing or damaged.
    """
    try:
        stream = path.open("rb")
    except OSError as error:
        raise ArtefactError(f"{path} cannot be read: {error.strerror}") from error
    with stream:
        size = path.stat().st_size
        while stream.peek(1):
            try:
                _check_one(stream, size)
            except UnsafePickleError as error:
                raise UnsafePickleError(f"{path} was refused: {error}") from None
            except _DAMAGE as error:
                raise ArtefactError(f"{path} is damaged: {str(error) or type(error).__name__}") from error


def _check_one(stream: io.BufferedReader, size: int) -> None:
    for opcode, argument, position in pickletools.genops(stream):
        if opcode.name in _CALLING_OPCODES:
            raise UnsafePickleError(
                f"opcode {opcode.name} at byte {position} would call or fetch something; a corpus needs none of that"
            )
        if opcode.name in {"PUT", "BINPUT", "LONG_BINPUT"} and int(argument or 0) > size:
            raise UnsafePickleError(
                f"opcode {opcode.name} at byte {position} numbers object {argument} in a file of {size} bytes"
            )
