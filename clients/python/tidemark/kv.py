"""Records of named byte fields: written as a whole or field by field, compared and swapped,
scanned in key order."""

from __future__ import annotations

import base64
import math
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from typing import Any

from .errors import Write, invalid_argument
from .ids import check_id, check_prefix, segment_of
from .payloads import encode
from .records import (
    BatchResult,
    Delete,
    Operation,
    Predicate,
    Put,
    Record,
    ScanPage,
    Sealed,
    SetFields,
    SwapResult,
    UnmetCondition,
    Value,
)
from .request import Request
from .transport import Transport
from .wire import duration_ms

_PAGE = 200
_FIRST_PAGE = 16
"""The first page of a scan is small, because the reader may need only the first records."""
_DELETED_AT_ONCE = 500


class Kv:
    """Records over HTTP. A write is retried under the same `request_id` after a lost response, so it is applied once.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, key: str) -> Record | None:
        """Returns the record, or `None` if it is missing."""
        answer = await self._transport.find(Request("GET", _path(key)))
        return None if answer is None else _record(answer.json())

    async def get_many(self, keys: Iterable[str]) -> list[Record | None]:
        """Returns up to 1,000 records in the order of their keys, with `None` where there is none."""
        body = encode({"keys": [check_id(key, f"keys[{at}]") for at, key in enumerate(keys)]})
        answer = (await self._transport.call(Request("POST", "/v1/kv-lookup", body=body))).json()
        return [None if it is None else _record(it) for it in answer["items"]]

    async def put(
        self,
        key: str,
        fields: Mapping[str, Value],
        *,
        ttl: timedelta | None = None,
        sealed: Sealed = False,
        request_id: str | None = None,
    ) -> int:
        """Replaces the whole record, including its TTL, and returns its new revision."""
        request_id = request_id or uuid.uuid4().hex
        wire = {check_id(it, "fields (field name)"): _to_wire(value, f"fields.{it}") for it, value in fields.items()}
        body: dict[str, Any] = {"fields": wire, "requestId": request_id, **_sealed(sealed)}
        if ttl is not None:
            body["ttl"] = duration_ms(ttl, "ttl")
        arguments = {"key": key, "fields": fields, "ttl": ttl, "request_id": request_id, **_sealed(sealed)}
        write = Write("kv.put", arguments)
        return (await self._write("PUT", _path(key), body, write))["revision"]

    async def delete(self, key: str, *, request_id: str | None = None) -> bool:
        """Removes the record and returns whether it existed."""
        request_id = request_id or uuid.uuid4().hex
        write = Write("kv.delete", {"key": key, "request_id": request_id})
        request = Request("DELETE", _path(key), query={"requestId": request_id}, write=write)
        return (await self._transport.call(request)).json()["deleted"]

    async def get_field(self, key: str, field: str) -> bytes | None:
        """Returns the bytes of one field, or `None` if it is missing."""
        answer = await self._transport.find(Request("GET", _field_path(key, field)))
        return None if answer is None else _of_wire(answer.json()["value"])

    async def set_field(
        self, key: str, field: str, value: Value, *, sealed: bool = False, request_id: str | None = None
    ) -> int:
        """Writes one field, keeps the record's TTL, and returns its new revision."""
        request_id = request_id or uuid.uuid4().hex
        body = {"value": _to_wire(value, "value"), "requestId": request_id, **_sealed(sealed)}
        arguments = {"key": key, "field": field, "value": value, "request_id": request_id, **_sealed(sealed)}
        write = Write("kv.set_field", arguments)
        return (await self._write("PUT", _field_path(key, field), body, write))["revision"]

    async def set_fields(
        self,
        key: str,
        fields: Mapping[str, Value | None],
        *,
        if_exists: bool = False,
        sealed: Sealed = False,
        request_id: str | None = None,
    ) -> int | None:
        """Writes several fields in one step, keeps the others and the TTL, and returns the new
        revision.

        `None` removes a field, and a record without fields is removed. Returns `None` if there is no record afterwards,
        which also happens with `if_exists` for a missing record.
        """
        request_id = request_id or uuid.uuid4().hex
        wire = _fields(fields, "fields")
        arguments = {
            "key": key,
            "fields": fields,
            "if_exists": if_exists,
            "request_id": request_id,
            **_sealed(sealed),
        }
        body = {"fields": wire, "ifExists": if_exists, "requestId": request_id, **_sealed(sealed)}
        return (await self._write("PATCH", _path(key), body, Write("kv.set_fields", arguments)))["revision"]

    async def compare_and_swap(
        self, key: str, field: str, expected: Value | None, next: Value | None, *, request_id: str | None = None
    ) -> bool:
        """Writes a field if it has the expected bytes, and returns whether it did. `None` means absent."""
        arguments = {
            "key": key,
            "field": field,
            "expected": expected,
            "next": next,
            "request_id": request_id or uuid.uuid4().hex,
        }
        body = {
            "expected": None if expected is None else _to_wire(expected, "expected"),
            "next": None if next is None else _to_wire(next, "next"),
            "requestId": arguments["request_id"],
        }
        write = Write("kv.compare_and_swap", arguments)
        return (await self._write("POST", f"{_field_path(key, field)}/compare-and-swap", body, write))["swapped"]

    async def swap(
        self,
        key: str,
        *,
        set: Mapping[str, Value | None],
        expected: Mapping[str, Value | None] | None = None,
        expected_revision: int | None = None,
        sealed: Sealed = False,
        request_id: str | None = None,
    ) -> SwapResult:
        """Compares several fields, the revision, or both, and writes several fields if they match, in one step.

        In `expected`, `None` means absent; in `set`, `None` removes a field. A revision of 0 means that there must be
        no record.
        """
        request_id = request_id or uuid.uuid4().hex
        body: dict[str, Any] = {"set": _fields(set, "set"), "requestId": request_id, **_sealed(sealed)}
        arguments: dict[str, Any] = {"key": key, "set": set, "request_id": request_id, **_sealed(sealed)}
        if expected is not None:
            body["expected"] = _fields(expected, "expected")
            arguments["expected"] = expected
        if expected_revision is not None:
            body["expectedRevision"] = arguments["expected_revision"] = expected_revision
        answer = await self._write("POST", f"{_path(key)}/swap", body, Write("kv.swap", arguments))
        return SwapResult(answer["swapped"], None if answer["record"] is None else _record(answer["record"]))

    async def batch(self, operations: Iterable[Operation], *, request_id: str | None = None) -> BatchResult:
        """Writes up to 25 records in one step: all operations, or none if a condition of one does not hold.

        Each operation has its own key. Not every engine has batches; others fail with `UNSUPPORTED`.
        """
        request_id = request_id or uuid.uuid4().hex
        given = list(operations)
        body = {"operations": [_operation(it, at) for at, it in enumerate(given)], "requestId": request_id}
        write = Write("kv.batch", {"operations": given, "request_id": request_id})
        answer = await self._write("POST", "/v1/kv-batch", body, write)
        if not answer["written"]:
            return BatchResult(False, unmet=_unmet(answer["unmet"]))
        results = answer["results"]
        return BatchResult(True, tuple(it["revision"] for it in results), tuple(it["existed"] for it in results))

    async def scan(
        self,
        prefix: str = "",
        *,
        where: Iterable[Predicate] = (),
        max_results: int | None = None,
        start: str | None = None,
        end: str | None = None,
        reverse: bool = False,
    ) -> AsyncIterator[tuple[str, Record]]:
        """Yields keys under a prefix with their records, in byte order of keys, if every predicate matches.

        `start` is the lowest key, inclusive; `end` is the end of the range, exclusive.
        `reverse` yields the highest keys first.
        """
        body = _scan(prefix, where, max_results, start, end) | {"reverse": reverse}
        async for item in self._items(body):
            yield item["key"], _record(item["record"])

    async def scan_page(
        self,
        prefix: str = "",
        *,
        limit: int = _PAGE,
        cursor: str | None = None,
        start: str | None = None,
        end: str | None = None,
        reverse: bool = False,
    ) -> ScanPage:
        """Returns up to `limit` records of such a scan, and names the keys whose records are damaged.

        A page can have fewer records although more follow: `next` is set if they do.
        """
        body = _scan(prefix, (), None, start, end) | {"reverse": reverse, "limit": limit}
        if cursor is not None:
            body["cursor"] = cursor
        page = (await self._transport.call(Request("POST", "/v1/kv-scan", body=encode(body)))).json()
        items = tuple((it["key"], _record(it["record"])) for it in page["items"])
        return ScanPage(items, page.get("next"), tuple(page.get("damaged", ())))

    async def scan_keys(
        self,
        prefix: str = "",
        *,
        where: Iterable[Predicate] = (),
        max_results: int | None = None,
        start: str | None = None,
        end: str | None = None,
        reverse: bool = False,
    ) -> AsyncIterator[str]:
        """Yields the keys of such a scan. The server does not read the records, unless there are predicates."""
        body = _scan(prefix, where, max_results, start, end) | {"reverse": reverse, "keysOnly": True}
        async for item in self._items(body):
            yield item["key"]

    async def count(
        self,
        prefix: str = "",
        *,
        where: Iterable[Predicate] = (),
        start: str | None = None,
        end: str | None = None,
    ) -> tuple[int, bool]:
        """Returns the number of records of such a scan, and whether it is exact. If it is not
        exact, there are at least that many."""
        body = _scan(prefix, where, None, start, end)
        answer = (await self._transport.call(Request("POST", "/v1/kv-count", body=encode(body)))).json()
        return answer["count"], answer["exact"]

    async def delete_prefix(self, prefix: str, *, start: str | None = None, end: str | None = None) -> int:
        """Deletes all records under a prefix in steps, and returns their number. The prefix must
        not be empty.

        A record that is written after a step has passed its key stays. After a failure, calling it again deletes the
        rest.
        """
        body: dict[str, Any] = {"prefix": check_id(prefix, "prefix"), "limit": _DELETED_AT_ONCE, **_range(start, end)}
        write = Write("kv.delete_prefix", {"prefix": prefix, "start": start, "end": end})
        deleted = 0
        while True:
            step = await self._write("POST", "/v1/kv-delete", body, write)
            deleted += step["deleted"]
            if "next" not in step:
                return deleted
            body["cursor"] = step["next"]

    async def _items(self, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        body["limit"] = _FIRST_PAGE
        while True:
            page = (await self._transport.call(Request("POST", "/v1/kv-scan", body=encode(body)))).json()
            for item in page["items"]:
                yield item
            if "next" not in page:
                return
            body["cursor"] = page["next"]
            body["limit"] = _PAGE

    async def _write(self, method: str, path: str, body: Mapping[str, Any], write: Write) -> dict[str, Any]:
        return (await self._transport.call(Request(method, path, body=encode(body), write=write))).json()


def _path(key: object) -> str:
    return f"/v1/kv/{segment_of(key, 'key')}"


def _field_path(key: object, field: object) -> str:
    return f"{_path(key)}/fields/{segment_of(field, 'field')}"


def _scan(
    prefix: object, where: Iterable[Predicate], max_results: int | None, start: object, end: object
) -> dict[str, Any]:
    filter: dict[str, Any] = {"where": [_predicate(*it) for it in where]}
    if max_results is not None:
        filter["maxResults"] = max_results
    return {"prefix": check_prefix(prefix, "prefix"), "filter": filter, **_range(start, end)}


def _range(start: object, end: object) -> dict[str, str]:
    given = (("from", "start", start), ("to", "end", end))
    return {member: check_id(key, name) for member, name, key in given if key is not None}


def _predicate(field: object, operator: str, value: Any) -> dict[str, Any]:
    if operator == "in":
        wire: Any = [_to_wire(it, "filter.value") for it in value]
    else:
        wire = _to_wire(value, "filter.value")
    return {"field": check_id(field, "filter.field"), "op": operator, "value": wire}


def _sealed(sealed: Sealed) -> dict[str, Any]:
    if isinstance(sealed, bool):
        return {"sealed": True} if sealed else {}
    if isinstance(sealed, str):
        raise invalid_argument("sealed", "True or False, or a collection of names")
    return {"sealed": list(sealed)}


def _operation(operation: Operation, at: int) -> dict[str, Any]:
    path = f"operations[{at}]"
    if not isinstance(operation, Put | SetFields | Delete):
        raise invalid_argument(path, "a Put, SetFields or Delete")
    wire: dict[str, Any] = {"op": _OPS[type(operation)], "key": check_id(operation.key, f"{path}.key")}
    if operation.expected is not None:
        wire["expected"] = _fields(operation.expected, f"{path}.expected")
    if operation.expected_revision is not None:
        wire["expectedRevision"] = operation.expected_revision
    if isinstance(operation, Delete):
        return wire
    wire |= {"fields": _fields(operation.fields, f"{path}.fields"), **_sealed(operation.sealed)}
    if operation.ttl is not None:
        wire["ttl"] = duration_ms(operation.ttl, f"{path}.ttl")
    if isinstance(operation, SetFields) and operation.if_exists:
        wire["ifExists"] = True
    return wire


_OPS = {Put: "put", SetFields: "setFields", Delete: "delete"}


def _fields(fields: Mapping[str, Value | None], name: str) -> dict[str, Any]:
    return {
        check_id(it, f"{name} (field name)"): None if value is None else _to_wire(value, f"{name}.{it}")
        for it, value in fields.items()
    }


def _unmet(wire: Mapping[str, Any]) -> UnmetCondition:
    record = None if wire["record"] is None else _record(wire["record"])
    return UnmetCondition(wire["index"], wire["key"], wire["condition"], wire.get("field"), record)


def _to_wire(value: object, field: str) -> dict[str, str] | float:
    if isinstance(value, bool):
        return {"text": "true" if value else "false"}
    if isinstance(value, int):
        return {"text": str(value)}
    # The server formats fractions, so that all clients agree.
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(value).decode("ascii")}
    raise invalid_argument(field, "text, a finite number, a boolean or bytes")


def _of_wire(wire: Mapping[str, str]) -> bytes:
    return wire["text"].encode() if "text" in wire else base64.b64decode(wire["base64"])


def _record(wire: Mapping[str, Any]) -> Record:
    ttl = timedelta(milliseconds=wire["ttl"]) if "ttl" in wire else None
    fields = {name: _of_wire(value) for name, value in wire["fields"].items()}
    return Record(fields, wire["revision"], ttl, tuple(wire.get("sealed", ())))
