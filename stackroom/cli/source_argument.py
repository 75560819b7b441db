"""Which file is meant (by its path in the corpus, any path, or its name if only one has it), and which corpus."""

import errno
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stackroom.cli.output import program
from stackroom.config import Config
from stackroom.errors import ConfigError, SourceError
from stackroom.identity import display_name, source_id

MOST_LISTED = 10


@dataclass(frozen=True)
class Source:
    """A file of a corpus."""

    corpus: str
    source_id: str


def find_source(config: Config, text: str, corpus: str | None = None) -> Source:
    """Return the file that a user names.

    Args:
        config: the project's settings.
        text: source id, path, or base name.
        corpus: corpus to look in; None for all.

    Raises:
        ConfigError: no file or several are meant, or there is no such corpus.
    """
    found = matching_sources(config, text, [corpus] if corpus is not None else sorted(config.corpora))
    if len(found) == 1:
        return found[0]
    where = f"corpus {corpus}" if corpus is not None else "any corpus"
    if not found:
        _refuse_links(config, text, [corpus] if corpus is not None else sorted(config.corpora))
        raise ConfigError(f"{text!r} is no file of {where}; `{program()} status --all` lists all files")
    listed = "; ".join(f"{one.corpus}: {display_name(one.source_id)}" for one in found[:MOST_LISTED])
    raise ConfigError(f"{text!r} may be {len(found)} files ({listed}); give the whole path, or --corpus")


def only_corpus(config: Config, corpus: str | None) -> str:
    """Return the corpus that is meant: the one named, or the only one there is.

    Raises:
        ConfigError: there is no such corpus, or none was named and there are several.
    """
    if corpus is None and len(config.corpora) != 1:
        raise ConfigError(f"say which corpus with --corpus; there are {', '.join(sorted(config.corpora)) or 'none'}")
    name = corpus if corpus is not None else next(iter(config.corpora))
    config.corpus(name)
    return name


def matching_sources(config: Config, text: str, corpora: list[str]) -> list[Source]:
    """Return the files that ``text`` may mean, by the first reading that fits any: id, path, base name.

    Raises:
        ConfigError: there is no such corpus.
    """
    recorded = {name: _recorded(config, name) for name in corpora}
    for reading in (_by_id, _by_path, _by_name):
        found = [
            Source(name, source)
            for name, known in recorded.items()
            for source in reading(text, config.corpus(name).folder, known)
        ]
        if found:
            return found
    return []


def _recorded(config: Config, corpus: str) -> list[str]:
    from stackroom.ledger import Ledger
    from stackroom.state import StateFolder

    config.corpus(corpus)
    path = StateFolder(config.state_folder).ledger
    if not path.exists():  # opening a ledger creates it
        return []
    ledger = Ledger(path)
    try:
        return [state.source_id for state in ledger.sources(corpus)]
    finally:
        ledger.close()


def _by_id(text: str, folder: Path, known: list[str]) -> list[str]:
    try:
        identity = source_id(PurePosixPath(text))
    except SourceError:
        return []
    here = (folder / identity).is_file() and _link_on_the_way(folder, identity) is None
    return [identity] if identity in known or here else []


def _link_on_the_way(folder: Path, identity: str) -> Path | None:
    """Return the first link to a folder, or link that leads back to itself, on the way to a file of a corpus."""
    path = folder
    for part in PurePosixPath(identity).parts:
        path = path / part
        if path.is_symlink() and not path.is_file():
            return path if path.is_dir() or _is_loop(path) else None
    return None


def _is_loop(path: Path) -> bool:
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _refuse_links(config: Config, text: str, corpora: list[str]) -> None:
    """Refuse a path that goes through a link to a folder, which no scan follows.

    Raises:
        ConfigError: it does; the message names the link.
    """
    for name in corpora:
        folder = config.corpus(name).folder
        link = _link_on_the_way(folder, text) if not Path(text).is_absolute() else None
        if link is None:
            continue
        if _is_loop(link):
            raise ConfigError(f"{text!r}: {link} is a link that leads back to itself; give the path of the file itself")
        raise ConfigError(
            f"{text!r} goes through {link}, a link to a folder, which is not followed; give the path of the file itself"
        )


def _by_path(text: str, folder: Path, known: list[str]) -> list[str]:
    try:
        path = Path(text).expanduser().resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, or no home folder
        raise ConfigError(f"{text!r} cannot be followed ({error}); give the path of the file itself") from error
    if not path.is_relative_to(folder) or path == folder:
        return []
    identity = source_id(path.relative_to(folder))
    return [identity] if identity in known or path.is_file() else []


def _by_name(text: str, _folder: Path, known: list[str]) -> list[str]:
    return [source for source in known if PurePosixPath(source).name == text]
