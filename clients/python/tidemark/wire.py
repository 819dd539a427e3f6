"""Conversion of objects to and from JSON: names in camelCase, times in RFC 3339 and UTC."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any

from .errors import invalid_argument
from .native import build
from .payloads import to_json

_MISSING = object()
_TIMES = frozenset({"created_at", "updated_at"})
_FLOATS = frozenset({"ts"})


@cache
def camel(name: str) -> str:
    """Converts `trace_id` to `traceId`."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def to_wire(kind: type, value: object) -> dict[str, Any]:
    """Returns the members that a class of `models` declares, from an object or a mapping with the same names."""
    if isinstance(value, Mapping):
        _refuse_others(kind, value)
    elif not dataclasses.is_dataclass(value) and callable(getattr(value, "to_dict", None)):
        value = value.to_dict()
    wire: dict[str, Any] = {}
    for it in dataclasses.fields(kind):
        name, convert = camel(it.name), time_text if it.name in _TIMES else to_json
        wire[name] = convert(_read(value, it), name)
    return wire


def names_of(kind: type, wire: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a mapping for which `to_wire` returns the same members, including defaults that were filled in."""
    return {it.name: wire[camel(it.name)] for it in dataclasses.fields(kind)}


def of_wire(kind: type, wire: Mapping[str, Any]) -> Any:
    """Builds an object from its JSON members. Missing members get their defaults."""
    fields: dict[str, Any] = {}
    for it in dataclasses.fields(kind):
        if camel(it.name) not in wire:
            continue
        member = wire[camel(it.name)]
        if it.name in _TIMES:
            member = time_of_text(member)
        elif it.name in _FLOATS:
            member = float(member)
        fields[it.name] = member
    return build(kind, fields)


def time_text(value: object, field: str) -> str:
    """Returns a time as RFC 3339 in UTC. Text is passed on, and the server checks it."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime) and value.utcoffset() is not None:
        return value.astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z"
    raise invalid_argument(field, "a datetime with its time zone, or an RFC 3339 text in UTC")


def time_of_text(text: str) -> datetime:
    """Parses an RFC 3339 time."""
    return datetime.fromisoformat(text)


def duration_ms(value: object, field: str) -> int:
    """Returns the whole milliseconds of a `timedelta`."""
    if isinstance(value, timedelta) and value >= timedelta(milliseconds=1):
        return value // timedelta(milliseconds=1)
    raise invalid_argument(field, "a timedelta of at least a millisecond")


def _refuse_others(kind: type, value: Mapping[Any, Any]) -> None:
    names = [it.name for it in dataclasses.fields(kind)]
    for name in value:
        if name not in names:
            raise invalid_argument(str(name), f"one of {', '.join(names)}")


def _read(value: object, it: dataclasses.Field[Any]) -> Any:
    member = value.get(it.name, _MISSING) if isinstance(value, Mapping) else getattr(value, it.name, _MISSING)
    if member is not _MISSING:
        return member
    if it.default is not dataclasses.MISSING:
        return it.default
    if it.default_factory is not dataclasses.MISSING:
        return it.default_factory()
    raise invalid_argument(camel(it.name), "given")
