"""The exceptions a caller of the library may catch.

An expected outcome of processing one file (encrypted, timed out, no text) is not an exception but a value:
see :mod:`stackroom.outcome`.
"""


class StackroomError(Exception):
    """Base of every error the library raises on purpose."""


class ConfigError(StackroomError, ValueError):
    """A setting is unknown, of the wrong type, or names something that does not exist."""


class SourceError(StackroomError):
    """A source folder or file cannot be read."""


class ArtefactError(StackroomError):
    """An artefact is missing, unreadable, or written by an incompatible version."""


class UnsafePickleError(ArtefactError):
    """A pickle asks for a global (a class or function) and was therefore not loaded."""


class ConversionError(StackroomError):
    """Worker processes cannot be started; a file that cannot be converted is a value, not an exception."""


class EmbeddingError(StackroomError):
    """A model cannot be opened, or gave vectors that cannot be used."""


class EmbeddingUnavailableError(EmbeddingError):
    """An embedding service did not answer or kept refusing for now; trying again later may help."""


class StoreError(StackroomError):
    """A store cannot be opened, read or written."""


class EmbeddingStoreError(StoreError):
    """An article memory cannot be opened, read or written."""


class StoreNotFoundError(StoreError, FileNotFoundError):
    """There is no store or collection of that name, and it was not to be created."""


class StoreUnavailableError(StoreError):
    """A store does not answer; trying again later may help."""


class StoreLockedError(StoreUnavailableError):
    """Another process is writing to the same embedded store; the message names it."""


class ModelMismatchError(StoreError):
    """A store was written with another embedding model than the one now in use; both are named."""


class FilterError(StackroomError, ValueError, TypeError):
    """A metadata filter is not a sentence of the filter language.

    A ValueError for everything that can be wrong; also a TypeError, so that code which expected one for an operand of
    the wrong type goes on working.
    """


class QueryError(StackroomError, ValueError):
    """A search cannot be run as asked: an empty query, or a number of hits that is not one."""


class MetadataMapError(StackroomError, ValueError):
    """A curated metadata map cannot be used; the message names file, line and remedy."""


class RecordError(StackroomError, ValueError):
    """A record collection or record query cannot be used as asked."""
