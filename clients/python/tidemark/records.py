"""Records and the results of calls on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

Value = str | int | float | bool | bytes
"""A value to write. Text and numbers are stored as their text, so `True` becomes `true`."""
Operator = Literal["eq", "ne", "lt", "gt", "lte", "gte", "in"]
Predicate = tuple[str, Operator, Value | list[Value]]
"""A field, an operator, and the value to compare with."""

Sealed = bool | Collection[str]
"""The fields to encrypt in storage: `True` for all that are written, or their names. The server needs a codec."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it was read."""

    fields: Mapping[str, bytes]
    revision: int
    ttl: timedelta | None
    """Remaining time to live; `None` if it never expires."""
    sealed: tuple[str, ...] = ()
    """Names of the fields that are encrypted in storage."""

    def text(self, field: str) -> str | None:
        """Returns a field as text, or `None` if it is missing."""
        value = self.fields.get(field)
        return None if value is None else value.decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """An operation of a batch: replaces a record including its time to live."""

    key: str
    fields: Mapping[str, Value]
    ttl: timedelta | None = None
    sealed: Sealed = False
    expected: Mapping[str, Value | None] | None = None
    """Values that fields must have. `None` means absent."""
    expected_revision: int | None = None
    """The revision that the record must have. 0 means that there must be no record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFields:
    """An operation of a batch: writes some fields and keeps the others and the time to live. `None` removes a field."""

    key: str
    fields: Mapping[str, Value | None]
    ttl: timedelta | None = None
    """A new time to live; `None` keeps it."""
    if_exists: bool = False
    sealed: Sealed = False
    expected: Mapping[str, Value | None] | None = None
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """An operation of a batch: removes a record."""

    key: str
    expected: Mapping[str, Value | None] | None = None
    expected_revision: int | None = None


Operation = Put | SetFields | Delete


@dataclass(frozen=True, slots=True)
class UnmetCondition:
    """The first operation of a batch whose condition did not hold."""

    index: int
    key: str
    condition: Literal["expected", "expectedRevision", "ifExists"]
    field: str | None
    record: Record | None
    """The record as it is now."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch: the revision of each record, or the condition that did not hold."""

    written: bool
    revisions: tuple[int | None, ...] = ()
    """In the order of the operations; `None` where there is no record afterwards."""
    existed: tuple[bool, ...] = ()
    """Whether each record existed before."""
    unmet: UnmetCondition | None = None


@dataclass(frozen=True, slots=True)
class SwapResult:
    """The result of a swap: whether the fields were written, and the record as it is afterwards."""

    swapped: bool
    record: Record | None


@dataclass(frozen=True, slots=True)
class ScanPage:
    """A page of a scan."""

    items: tuple[tuple[str, Record], ...]
    next: str | None
    """The cursor of the next page; `None` if this is the last one."""
    damaged: tuple[str, ...]
    """Keys of the page whose records cannot be read, because a stored value is damaged."""
