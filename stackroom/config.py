"""The whole of ``stackroom.yaml``, and how it is read. This module validates and nothing else; it opens no store.

:func:`load_config` turns whatever is wrong into one :class:`~stackroom.errors.ConfigError` that names the key, the
value and what is allowed. The sections are in :mod:`stackroom.settings`.
"""

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import override

from stackroom.errors import ConfigError
from stackroom.remembered import read_added_corpora, read_moved_stores
from stackroom.settings import (
    STORE_SCHEMES,
    Bm25Settings,
    ChunkingSettings,
    ConversionSettings,
    Corpus,
    EmbedderSettings,
    EvaluationSettings,
    FilterField,
    LimitSettings,
    MetadataSettings,
    OcrSettings,
    RecordSettings,
    RetentionSettings,
    RetrievalSettings,
    ScheduleSettings,
    Section,
    Tuning,
    check_store_uri,
)

__all__ = [
    "CONFIG_FILE",
    "CONFIG_VARIABLE",
    "CORPUS_NAME",
    "STATE_VARIABLE",
    "STORE_SCHEMES",
    "STORE_VARIABLE",
    "Bm25Settings",
    "ChunkingSettings",
    "Config",
    "ConversionSettings",
    "Corpus",
    "EmbedderSettings",
    "EvaluationSettings",
    "FilterField",
    "LimitSettings",
    "MetadataSettings",
    "OcrSettings",
    "RecordSettings",
    "RetentionSettings",
    "RetrievalSettings",
    "ScheduleSettings",
    "Section",
    "Tuning",
    "check_store_uri",
    "load_config",
]

CONFIG_FILE = "stackroom.yaml"
STATE_VARIABLE = "STACKROOM_STATE"
CONFIG_VARIABLE = "STACKROOM_CONFIG"
STORE_VARIABLE = "STACKROOM_STORE_"
"""Followed by the name of a corpus in capitals."""

CORPUS_NAME = re.compile(r"[a-z][a-z0-9_]{1,39}")
_NOT_WRITTEN = frozenset({"project_folder", "config_file"})
"""Fields of :class:`Config` that are known from where the file lies."""
_Model = TypeVar("_Model", bound=BaseModel)


class Config(Section):
    """The whole of ``stackroom.yaml``, with the corpora added from the command line merged in."""

    project_folder: Path
    state_folder: Path
    corpora: dict[str, Corpus]
    records: dict[str, RecordSettings] = Field(default_factory=dict)
    limits: LimitSettings = LimitSettings()
    schedules: ScheduleSettings = ScheduleSettings()
    retention: RetentionSettings = RetentionSettings()
    config_file: Path = Path(CONFIG_FILE)
    """The file that was read: ``stackroom.yaml``, or the one that ``STACKROOM_CONFIG`` names."""

    @property
    def file_in_words(self) -> str:
        """How to call the settings file in a message: by its name in the project folder, elsewhere by its path."""
        file = self.config_file
        return file.name if file.parent in (self.project_folder, Path()) else str(file)

    def corpus(self, name: str) -> Corpus:
        """Return a corpus.

        Raises:
            ConfigError: there is none of that name; the message lists those there are.
        """
        try:
            return self.corpora[name]
        except KeyError:
            raise ConfigError(
                f"there is no corpus {name!r}; known: {', '.join(sorted(self.corpora)) or 'none'}"
            ) from None

    def vector_store_uri(self, name: str) -> str:
        """Return the store URI of a corpus (default: the Chroma folder of the state folder)."""
        return self.corpus(name).vector_store or self.default_store_uri

    @property
    def default_store_uri(self) -> str:
        """Store URI of corpora that name none: a Chroma folder in the state folder."""
        return f"chroma:{self.state_folder / 'stores' / 'chroma'}"


def load_config(project_folder: Path, environment: Mapping[str, str] | None = None) -> Config:
    """Read ``stackroom.yaml`` of a project and the corpora added from the command line.

    Args:
        project_folder: folder that holds ``stackroom.yaml``.
        environment: environment variables (default: the process's own). ``STACKROOM_STATE`` moves the state folder,
            ``STACKROOM_CONFIG`` names another file, ``STACKROOM_FOLDER_<CORPUS>`` and ``STACKROOM_STORE_<CORPUS>``
            override the folder and the vector store of a corpus. A store that was moved is used in place of the
            one that was configured then.

    Raises:
        ConfigError: naming the file, the key, the value and what is allowed.
    """
    environment = os.environ if environment is None else environment
    project_folder = project_folder.resolve()
    path = project_folder / environment.get(CONFIG_VARIABLE, CONFIG_FILE)
    raw = _read_yaml(path)
    state = Path(environment.get(STATE_VARIABLE) or raw.pop("state_folder", None) or ".stackroom").expanduser()
    raw.pop("state_folder", None)
    state = (project_folder / state).resolve()
    defaults = raw.pop("defaults", None) or {}
    _validate(Tuning, defaults, path, "defaults")
    corpora = dict(raw.pop("corpora", None) or {})
    added = {name: body for name, body in read_added_corpora(state).items() if name not in corpora}
    merged = {name: _corpus(name, body, defaults, project_folder, environment, path) for name, body in corpora.items()}
    for name, body in added.items():
        merged[name] = _with_defaults({**body, "folder": Path(body["folder"])}, defaults)
    moved = read_moved_stores(state)
    for name, body in merged.items():
        configured = body.get("vector_store")
        elsewhere = moved[name].in_place_of(configured) if name in moved else None
        body["vector_store"] = environment.get(f"{STORE_VARIABLE}{name.upper()}") or elsewhere or configured
    records = {
        name: _with_defaults(
            _with_folder(body, f"records.{name}", project_folder, path),
            {key: value for key, value in defaults.items() if key in RecordSettings.model_fields},
        )
        for name, body in (raw.pop("records", None) or {}).items()
    }
    return _validate(
        Config,
        {
            **raw,
            "project_folder": project_folder,
            "state_folder": state,
            "corpora": merged,
            "records": records,
            "config_file": path,
        },
        path,
        "",
    )


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice in a mapping; YAML forbids it, PyYAML would drop the first without a word."""

    @override
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node)
            if key in seen:
                problem = f"the key {key!r} stands here for the second time; join the two"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def _read_yaml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ConfigError(f"{path} does not exist; run from the project folder or set {CONFIG_VARIABLE}")
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), _StrictLoader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from error
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise ConfigError(f"{path} must be a mapping of sections (corpora:, defaults:, limits:, …)")
    return raw


def _corpus(
    name: str, body: Any, defaults: Mapping[str, Any], project: Path, environment: Mapping[str, str], path: Path
) -> dict[str, Any]:
    if not CORPUS_NAME.fullmatch(str(name)):
        raise ConfigError(
            f"{path}: corpora: {name!r} is not a corpus name; allowed are 2 to 40 small letters, digits and "
            "underscores, starting with a letter"
        )
    merged = _with_folder(body, f"corpora.{name}", project, path, environment.get(f"STACKROOM_FOLDER_{name.upper()}"))
    return _with_defaults(merged, defaults)


def _with_defaults(merged: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    for section, values in defaults.items():
        if isinstance(values, dict):
            merged[section] = {**values, **(merged.get(section) or {})}
        else:
            merged.setdefault(section, values)
    return merged


def _with_folder(body: Any, where: str, project: Path, path: Path, override: str | None = None) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise ConfigError(f"{path}: {where} must be a mapping with at least `folder`")
    folder = override or body.get("folder")
    if not isinstance(folder, (str, Path)) or not str(folder):
        raise ConfigError(f"{path}: {where}.folder is missing; give the path of a folder")
    resolved = (project / Path(folder).expanduser()).resolve()
    # A folder that is not there (an unplugged disk) keeps neither the other corpora nor the search from working;
    # whoever wants to look into it is told.
    if resolved.exists() and not resolved.is_dir():
        raise ConfigError(f"{path}: {where}.folder: {folder!s} is not a folder")
    return {**body, "folder": resolved}


def _validate(model: type[_Model], values: Any, path: Path, where: str) -> _Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        lines = [_problem(model, problem, where) for problem in error.errors()]
        raise ConfigError("\n".join(f"{path}: {line}" for line in lines)) from error


def _problem(model: type[BaseModel], problem: Any, where: str) -> str:
    location = ".".join([*([where] if where else []), *(str(part) for part in problem["loc"])])
    if problem["type"] == "extra_forbidden":
        known = _known_keys(model, problem["loc"][:-1])
        close = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return f"{location}: unknown key{hint} (allowed: {', '.join(known)})"
    return f"{location}: {problem['input']!r}: {problem['msg']}"


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Follow a location through nested sections, mappings and sequences and return the keys allowed there."""
    current: Any = model
    for part in location:
        if isinstance(current, type) and issubclass(current, BaseModel):
            current = current.model_fields[str(part)].annotation
        else:  # a key of a mapping or an index of a sequence: the element type is the last type argument but "..."
            current = [argument for argument in get_args(current) if argument is not Ellipsis][-1]
    if isinstance(current, type) and issubclass(current, BaseModel):
        return sorted(current.model_fields.keys() - _NOT_WRITTEN)
    return []
