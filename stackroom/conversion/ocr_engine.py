"""Reading text off pictures with the recognition models that the package rapidocr ships; no download.

The models read upright lines only, so a page that lies on its side or upside down is found out and turned first.
Knows pictures, not documents.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from rapidocr import RapidOCR

LONGEST_SIDE = 2000
"""Pixels of the longer side above which a picture is reduced before lines are looked for. On scans of papers and
reports, 2600 read the same words in 1.3 times the time."""
SMALLER_SIDE = 1000
"""The same for a second look at a picture on which nothing was found: on a nearly empty page with rules, the detector
misses a line at full size that it finds on the smaller picture."""
PROBED_LINES = 6
"""Longest lines that are read both ways up to tell a page from its upside-down twin."""
SURE = 0.85
"""Confidence of the longest lines from which a page need not be tried upside down: upright print is read with 0.87 and
more, upside-down print with at most 0.70 (nine scans, among them Fraktur)."""
TALL = 1.5
"""Height over width from which the box of a line counts as standing on end."""
LEAST_SCORE = 0.5
"""Confidence below which a line is taken for noise (rapidocr's own value)."""

_TURNS = {1: Image.Transpose.ROTATE_270, 2: Image.Transpose.ROTATE_180, 3: Image.Transpose.ROTATE_90}


class Line(NamedTuple):
    """A line of text found on a picture."""

    text: str
    box: tuple[float, float, float, float]
    """Left, top, right, bottom in pixels."""
    score: float
    """Mean confidence of its characters, 0 to 1."""


class Reading(NamedTuple):
    """What is written on a picture."""

    picture: Image.Image
    """The picture, upright."""
    quarter_turns: int
    """How often it was turned clockwise by a right angle to stand upright: 0 to 3."""
    lines: list[Line]
    """From top to bottom, in pixels of the upright picture."""


def turn(picture: Image.Image, quarter_turns: int) -> Image.Image:
    """Return the picture turned clockwise by right angles."""
    return picture.transpose(_TURNS[quarter_turns % 4]) if quarter_turns % 4 else picture


class TextReader:
    """Line detection and recognition. Not thread-safe; the models load on first use (0.3 s)."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._engine: RapidOCR | None = None

    def read(self, picture: Image.Image) -> Reading:
        """Read a picture, whichever way up it is."""
        lines = self._lines(picture)
        if not lines:
            return Reading(picture, 0, [])
        if _lies_on_its_side(lines):
            # The engine turns tall crops counter-clockwise, so its confidence says which of the two ways is up.
            turns = 3 if _confidence(lines) >= self._probe(turn(picture, 1)) else 1
            return self._turned(picture, turns)
        sure = _confidence(lines)
        if sure < SURE and self._probe(turn(picture, 2)) > sure:
            return self._turned(picture, 2)
        return Reading(picture, 0, _legible(lines))

    def _turned(self, picture: Image.Image, turns: int) -> Reading:
        upright = turn(picture, turns)
        return Reading(upright, turns, _legible(self._lines(upright)))

    def _probe(self, picture: Image.Image) -> float:
        """Return how surely the longest lines of a picture are read, without reading the others."""
        pixels = _pixels(picture)
        engine = self._open()
        reduced, _ = engine.preprocess_img(pixels)
        found = engine._load_det_model()(reduced)
        if found.boxes is None:
            return 0.0
        corners = np.asarray(found.boxes)
        longest = np.argsort(-np.ptp(corners[:, :, 0], axis=1))[:PROBED_LINES]
        read = engine.recognize_txt(engine.crop_text_regions(reduced, corners[longest]))
        boxes = corners[longest]
        return _confidence([_line(*item) for item in zip(boxes, read.txts or (), read.scores or (), strict=False)])

    def _lines(self, picture: Image.Image) -> list[Line]:
        """Return every line found, legible or not."""
        engine = self._open()
        for side in (LONGEST_SIDE, SMALLER_SIDE):
            engine.max_side_len = side
            found = engine(_pixels(picture), use_det=True, use_cls=False, use_rec=True)
            engine.max_side_len = LONGEST_SIDE
            if found.boxes is not None and found.txts is not None:
                return [_line(*item) for item in zip(found.boxes, found.txts, found.scores, strict=True)]
        return []

    def _open(self) -> Any:
        if self._engine is None:
            from rapidocr import RapidOCR

            self._engine = RapidOCR(
                params={
                    "Global.log_level": "critical",
                    "Global.max_side_len": LONGEST_SIDE,
                    "Global.text_score": 0.0,  # illegible lines tell a page that is upside down
                    "Rec.rec_batch_num": 1,  # batches are padded to their longest line: a quarter slower on a CPU
                    "EngineConfig.onnxruntime.intra_op_num_threads": self._threads,
                    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
                }
            )
        return self._engine


def _line(corners: Any, text: str, score: float) -> Line:
    across, down = np.asarray(corners)[:, 0], np.asarray(corners)[:, 1]
    return Line(text, (float(across.min()), float(down.min()), float(across.max()), float(down.max())), float(score))


def _legible(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line.score >= LEAST_SCORE]


def _lies_on_its_side(lines: list[Line]) -> bool:
    """True if most of the print, by length, runs from top to bottom."""
    spans = [(right - left, bottom - top) for _, (left, top, right, bottom), _ in lines]
    length = sum(max(span) for span in spans)
    return sum(down for across, down in spans if down > TALL * across) > length / 2


def _confidence(lines: list[Line]) -> float:
    """Return the mean score of the longest lines, weighted by the length of their text."""
    longest = sorted(lines, key=lambda line: -max(line.box[2] - line.box[0], line.box[3] - line.box[1]))[:PROBED_LINES]
    weight = sum(len(line.text) for line in longest)
    return sum(line.score * len(line.text) for line in longest) / weight if weight else 0.0


def _pixels(picture: Image.Image) -> np.ndarray:
    """Return a picture as (height, width, 3) bytes in the order blue, green, red."""
    return np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:, :, ::-1])
