"""Launchpad forms for settings: a Dagster config class with the fields, defaults and descriptions of a Section.

The sections of ``stackroom.config`` stay the one definition of every setting; Dagster cannot show them itself because
it knows no literals, tuples or paths.
"""

import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import dagster as dg
from pydantic import Field, create_model

from stackroom.config import Section

_Section = TypeVar("_Section", bound=Section)


def mirror(section: type[Section]) -> type[dg.Config]:
    """Return a Dagster config class that mirrors a settings section."""
    fields: dict[str, Any] = {}
    for name, field in section.model_fields.items():
        allowed = _choices(field.annotation)
        description = " ".join((field.description or "").split()) + (
            f" One of: {', '.join(allowed)}." if allowed else ""
        )
        default = _plain(field.get_default(call_default_factory=True))
        fields[name] = (_launchpad_type(field.annotation), Field(default=default, description=description.strip()))
    return create_model(f"{section.__name__}Form", __base__=dg.Config, __doc__=section.__doc__, **fields)


def form_of(form: type[dg.Config], settings: Section) -> Any:
    """Return a form filled with the values of a section."""
    return form(**{name: _plain(value) for name, value in settings})


def settings_of(section: type[_Section], form: dg.Config) -> _Section:
    """Return the validated section a form describes.

    Raises:
        pydantic.ValidationError: a value typed into the launchpad is not allowed.
    """
    return section.model_validate({name: getattr(form, name) for name in section.model_fields})


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _choices(annotation: Any) -> list[str]:
    if get_origin(annotation) is Literal:
        return [str(choice) for choice in get_args(annotation)]
    return [choice for argument in get_args(annotation) for choice in _choices(argument)]


def _launchpad_type(annotation: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return str
    if origin in (Union, types.UnionType):
        inner = next(argument for argument in arguments if argument is not type(None))
        return _launchpad_type(inner) | None
    if origin is tuple:
        return list[_launchpad_type(arguments[0])]  # type: ignore[misc]
    if annotation is Path:
        return str
    return annotation
