"""Counting in English, for messages."""


def count(number: int, noun: str, several: str | None = None) -> str:
    """Return, for instance, ``1 file`` or ``3 files``.

    Args:
        number: how many.
        noun: what one of them is called.
        several: what more than one are called (default: the noun with an s).
    """
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def are(number: int) -> str:
    """Return ``is`` or ``are``, the verb that follows :func:`count`."""
    return "is" if number == 1 else "are"
