"""Whether the tokens of a source are what its chunks and metadata say. They are made again and compared."""

from stackroom.outcome import Failed
from stackroom.stages import bm25_corpus
from stackroom.stages.bench import FileWork
from stackroom.stages.rows import plain_rows
from stackroom.stores.bm25.corpus import read_corpus, tokenise_rows

_ARRAYS = ("term_ids", "counts", "heading_counts", "row_ends")
_LISTS = ("chunk_ids", "texts", "metadata", "vocabulary")


def altered_tokens(work: FileWork) -> str | None:
    """Return what the token artefact of a source has that its chunks and metadata do not say; None if nothing.

    Raises:
        ArtefactError: it is missing or damaged.
    """
    corpus = read_corpus(work.artefact(bm25_corpus.STAGE, "pkl"))
    gathered = plain_rows(work)
    if isinstance(gathered, Failed):  # another check says so
        return None
    expected = tokenise_rows(gathered[0], work.bench.analyser)
    differing = [name for name in _LISTS if list(getattr(corpus, name)) != list(expected[name])]
    differing += [name for name in _ARRAYS if getattr(corpus, name).tolist() != list(expected[name])]
    if corpus.header.source_id != work.source_id or corpus.header.analyser != work.bench.analyser.identity:
        differing.append("header")
    return ", ".join(differing) or None
