"""Pictures by their first bytes, and their size in pixels, which is checked before any of them is decoded."""

import warnings
from pathlib import Path

from stackroom.config import LimitSettings
from stackroom.formats import Media
from stackroom.media.finding import Finding
from stackroom.outcome import Failed, ReasonCode

_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_BMP_HEADERS = frozenset({12, 40, 52, 56, 64, 108, 124})


def is_picture(head: bytes) -> bool:
    """Say whether a file begins like a picture that can be read by OCR."""
    if head.startswith(_SIGNATURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP"):
        return True
    return head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADERS


def inspect_picture(path: Path, limits: LimitSettings) -> Finding:
    """Read the header of a picture and compare its size with the limits."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about size: the limit below is ours; about damage: it shows later
            with Image.open(path) as picture:
                width, height = picture.size
                frames = getattr(picture, "n_frames", 1) if picture.format == "TIFF" else 1
    except Image.DecompressionBombError:
        return Finding(Media.IMAGE, problem=_too_large(path, "too many", limits))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
        message = f"{path.name} is a damaged picture: {type(error).__name__}"
        return Finding(Media.IMAGE, problem=Failed(ReasonCode.CORRUPT, message, {"error": str(error)}))
    if width * height > limits.max_image_megapixels * 1_000_000:
        return Finding(Media.IMAGE, problem=_too_large(path, f"{width * height / 1e6:,.0f}", limits))
    if frames > limits.max_pages:
        message = f"{path.name} has {frames:,} pages; the limit is {limits.max_pages:,}"
        return Finding(Media.IMAGE, problem=Failed(ReasonCode.TOO_LARGE, message, {"pages": frames}))
    return Finding(Media.IMAGE)


def _too_large(path: Path, megapixels: str, limits: LimitSettings) -> Failed:
    message = f"{path.name} has {megapixels} megapixels; the limit is {limits.max_image_megapixels}"
    return Failed(ReasonCode.TOO_LARGE, message)
