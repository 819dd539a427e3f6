"""JSON from Python values. Values that JSON would change or lose are rejected before anything is sent."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

from .errors import invalid_payload

_MAX_DEPTH = 64
_LEAVES = frozenset({str, int, bool, type(None)})


def encode(value: Any) -> bytes:
    """Returns the bytes of a JSON value. Escapes lone surrogates, which UTF-8 cannot represent."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def to_json(value: Any, field: str) -> Any:
    """Converts a value to plain JSON. Raises `INVALID_PAYLOAD` with the path of a value that cannot be converted.

    Mappings, lists, tuples, enums, dataclasses, and objects with `model_dump` or `to_dict` are converted to their
    contents.
    """
    return _plain(value, field, field, 0)


def _plain(value: Any, path: str, field: str, depth: int) -> Any:
    if type(value) in _LEAVES:
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise invalid_payload(path, "a finite number")
    if depth == _MAX_DEPTH:
        raise invalid_payload(field, f"nested at most {_MAX_DEPTH} levels deep and free of cycles")
    if isinstance(value, Enum):
        return _plain(value.value, path, field, depth + 1)
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {_key(key, path): _plain(value[key], f"{path}.{key}", field, depth + 1) for key in value}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{index}]", field, depth + 1) for index, item in enumerate(value)]
    return _plain(_held(value, path), path, field, depth + 1)


def _key(key: Any, path: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return key
    raise invalid_payload(path, "an object whose keys are text: JSON would turn others into text")


def _held(value: Any, path: str) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {it.name: getattr(value, it.name) for it in dataclasses.fields(value)}
    if callable(getattr(value, "model_dump", None)):
        return value.model_dump(mode="json")
    if callable(getattr(value, "to_dict", None)):
        return value.to_dict()
    raise invalid_payload(path, f"plain JSON, not a {type(value).__name__}: convert it first")
