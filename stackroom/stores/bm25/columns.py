"""Metadata of an index by field, so that a filter becomes a mask over all rows before anything is ranked.

Every field is stored as its distinct values and one code per row. A clause of a filter is put to the reference
evaluator once per distinct value; the answer for a row is then a table look-up. So a filter here cannot disagree with
the evaluator, and costs the same however many rows it leaves.
"""

import json
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from stackroom.stores.bm25.arrays import open_arrow, sync_file
from stackroom.stores.bm25.corpus import SourceCorpus

_CODES, _VALUES = "field_codes.arrow", "field_values.arrow"
_ABSENT = -1
_REMEMBERED_MASKS = 32

Matches = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
"""The reference evaluator: metadata of a document and a filter in canonical form to the answer."""


class ColumnWriter:
    """Collects the metadata of rows by field (four bytes a row and field, and the distinct values, in memory)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._codes: dict[str, array[int]] = {}
        self._values: dict[str, dict[str, int]] = {}
        self._rows = 0

    def add(self, corpus: SourceCorpus) -> None:
        """Append the chunks of a source."""
        for metadata in corpus.metadata:
            for field, value in metadata.items():
                codes = self._codes.setdefault(field, array("i"))
                codes.extend([_ABSENT] * (self._rows - len(codes)))
                values = self._values.setdefault(field, {})
                # The JSON text keeps 1, 1.0 and true apart, which compare equal as keys of a dict.
                codes.append(values.setdefault(json.dumps(value, ensure_ascii=False), len(values)))
            self._rows += 1

    def carry(self, columns: "Columns", first: int, last: int) -> None:
        """Append rows ``first`` to ``last`` (without) of another index."""
        for field, number in columns.fields.items():
            old = columns.codes(number)[first:last]
            filled = old != _ABSENT
            if not filled.any():
                continue
            distinct, firsts, places = np.unique(old[filled], return_index=True, return_inverse=True)
            codes, values = self._codes.setdefault(field, array("i")), self._values.setdefault(field, {})
            by_appearance = np.argsort(firsts)
            known = np.empty(distinct.size, dtype=np.int32)
            known[by_appearance] = [
                values.setdefault(text, len(values)) for text in columns.texts(number, distinct[by_appearance])
            ]
            new = np.full(old.size, _ABSENT, dtype=np.int32)
            new[filled] = known[places]
            codes.extend([_ABSENT] * (self._rows - len(codes)))
            codes.frombytes(new.tobytes())
        self._rows += last - first

    def close(self) -> None:
        """Write codes and values."""
        names = sorted(self._codes)
        for name in names:
            self._codes[name].extend([_ABSENT] * (self._rows - len(self._codes[name])))
        codes = pa.record_batch(
            [pa.array(np.asarray(self._codes[name], dtype=np.int32)) for name in names] or [pa.array([], pa.int32())],
            names=names or [""],
        )
        values = pa.record_batch(
            [
                pa.array(names, pa.string()),
                pa.array([list(self._values[name]) for name in names], pa.large_list(pa.large_string())),
            ],
            names=["field", "values"],
        )
        for file, batch in ((_CODES, codes), (_VALUES, values)):
            with pa.OSFile(str(self._folder / file), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
                writer.write_batch(batch)
            sync_file(self._folder / file)


class Columns:
    """Answers filters over the rows of an opened index. Safe to share between threads."""

    def __init__(self, folder: Path, rows: int, matches: Matches) -> None:
        """Open the columns.

        Args:
            folder: the index version.
            rows: number of rows.
            matches: the reference evaluator.
        """
        self._rows = rows
        self._matches = matches
        self._codes = open_arrow(folder / _CODES).get_batch(0)
        values = open_arrow(folder / _VALUES).get_batch(0)
        self._values = values.column(1)
        self.fields = {name: number for number, name in enumerate(values.column(0).to_pylist())}
        """Fields with their numbers."""
        self._masks: OrderedDict[str, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    def kinds(self) -> dict[str, str]:
        """Return every field with what its first value is: ``list``, ``string``, ``int``, ``float`` or ``bool``."""
        names = {"str": "string"}
        firsts = {name: type(json.loads(self._values[number].as_py()[0])) for name, number in self.fields.items()}
        return {name: names.get(kind.__name__, kind.__name__) for name, kind in firsts.items()}

    def codes(self, number: int) -> np.ndarray:
        """Return which value of a field each row has, -1 for none: (rows,) int32."""
        codes: np.ndarray = self._codes.column(number).to_numpy(zero_copy_only=True)
        return codes

    def texts(self, number: int, codes: np.ndarray) -> list[str]:
        """Return values of a field as JSON."""
        values: list[str] = self._values[number].values.take(pa.array(codes)).to_pylist()
        return values

    def mask(self, canonical: Mapping[str, Any]) -> np.ndarray:
        """Return which rows match a filter in canonical form: (rows,) bool, not to be changed."""
        key = json.dumps(canonical, sort_keys=True, default=str)
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        mask = self._evaluate(canonical)
        with self._lock:
            self._masks[key] = mask
            while len(self._masks) > _REMEMBERED_MASKS:
                self._masks.popitem(last=False)
        return mask

    def _evaluate(self, clause: Mapping[str, Any]) -> np.ndarray:
        ((key, value),) = clause.items()
        if key == "$and":
            return np.asarray(np.all([self._evaluate(member) for member in value], axis=0))
        if key == "$or":
            return np.asarray(np.any([self._evaluate(member) for member in value], axis=0))
        number = self.fields.get(key)
        if number is None:
            return np.zeros(self._rows, dtype=bool)
        distinct = [json.loads(text) for text in self._values[number].as_py()]
        # The last place answers for code -1: a row without the field never matches.
        table = np.array([*(self._matches({key: one}, clause) for one in distinct), False], dtype=bool)
        return np.take(table, self.codes(number))
