"""Bytes of a text file to text."""

import codecs


def decode(data: bytes, *, whole: bool = True) -> str:
    """Return the text of a file: by its byte-order mark, else as UTF-8, else as Windows-1252.

    Args:
        data: of the file.
        whole: false if it is only the beginning, which may end in the middle of a character.
    """
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace").lstrip("\ufeff")
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data, whole)
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")  # nearly every byte means something there
