"""Ids in paths: percent-encoded, with a leading tilde where URL parsing would change the id (`.`, `..`, a leading
tilde)."""

from __future__ import annotations

from urllib.parse import quote

from .errors import invalid_argument

_MAX_BYTES = 512
_RULE = "well-formed Unicode text of 1 to 512 UTF-8 bytes without NUL"


def check_id(value: object, field: str) -> str:
    """Returns the id. Raises `INVALID_ARGUMENT` with the field if it is invalid."""
    if isinstance(value, str) and 0 < _utf8_length(value) <= _MAX_BYTES and "\0" not in value:
        return value
    raise invalid_argument(field, _RULE)


def check_prefix(value: object, field: str) -> str:
    """Checks a prefix of ids, which may be empty."""
    return "" if value == "" else check_id(value, field)


def segment_of(value: object, field: str) -> str:
    """Encodes an id as a path segment."""
    text = check_id(value, field)
    encoded = quote(text, safe="")
    return f"~{encoded}" if text in (".", "..") or text.startswith("~") else encoded


def _utf8_length(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return 0
