"""`ArtifactStore`: bytes and long texts by reference, so that PenguiFlow can keep tool outputs out of a context."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from . import models
from .errors import TidemarkError, Write, invalid_argument
from .ids import segment_of
from .payloads import encode, to_json
from .request import Request
from .transport import Transport
from .wire import of_wire, to_wire

_LABELLED_BYTES = "application/vnd.tidemark.artifact"
_PAGE = 1_000


class ArtifactStore:
    """Artifacts over HTTP.

    PenguiFlow looks up artifacts by id alone, while the server stores each with the tenant of its scope. The ids of
    such artifacts therefore end with an `@` and the tenant.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def put_bytes(
        self,
        data: bytes,
        *,
        mime_type: str | None = None,
        filename: str | None = None,
        namespace: str | None = None,
        scope: Any = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Any:
        """Stores bytes and returns their reference, which is the same for equal bytes, scope and namespace."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise invalid_argument("data", "bytes")
        about = {"mime_type": mime_type, "filename": filename, "namespace": namespace, "scope": scope, "meta": meta}
        return await self._put(bytes(data), about, Write("artifact_store.put_bytes", {"data": data, **about}))

    async def put_text(
        self,
        text: str,
        *,
        mime_type: str = "text/plain",
        filename: str | None = None,
        namespace: str | None = None,
        scope: Any = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Any:
        """Stores text as UTF-8 and returns its reference."""
        try:
            data = text.encode()
        except (AttributeError, UnicodeEncodeError) as error:
            raise invalid_argument("text", "well-formed Unicode text") from error
        about = {"mime_type": mime_type, "filename": filename, "namespace": namespace, "scope": scope, "meta": meta}
        return await self._put(data, about, Write("artifact_store.put_text", {"text": text, **about}))

    async def get(self, artifact_id: str, *, start: int = 0, end: int | None = None) -> bytes | None:
        """Returns the bytes, or `None` if the artifact is unknown or expired.

        With `start` or `end`, returns only that part of the bytes, like a slice.
        """
        _check_range(start, end)
        request = _request("GET", artifact_id)
        if start == 0 and end is None:
            answer = await self._transport.find(request)
            return None if answer is None else answer.body
        if start == end:  # HTTP has no empty ranges.
            return b"" if await self.exists(artifact_id) else None
        last = "" if end is None else end - 1
        try:
            answer = await self._transport.find(replace(request, headers={"range": f"bytes={start}-{last}"}))
        except TidemarkError as error:
            if error.code == "INVALID_ARGUMENT" and error.field == "range":
                return b""
            raise
        if answer is None:
            return None
        # A server of version 0.1 sends the whole artifact.
        return answer.body if answer.status == 206 else answer.body[start:end]

    async def get_ref(self, artifact_id: str) -> Any | None:
        """Returns the reference, or `None` if the artifact is unknown or expired."""
        answer = await self._transport.find(_request("GET", artifact_id, "/ref"))
        return None if answer is None else _ref(answer.json())

    async def exists(self, artifact_id: str) -> bool:
        """Returns whether the artifact exists and has not expired."""
        return await self.get_ref(artifact_id) is not None

    async def delete(self, artifact_id: str) -> bool:
        """Removes the reference and returns whether it existed.

        Not retried after a lost response, because a retry would return `False`.
        """
        write = Write("artifact_store.delete", {"artifact_id": artifact_id})
        return (await self._transport.call(_request("DELETE", artifact_id, write=write))).json()["deleted"]

    async def list(self, *, scope: Any = None) -> builtins.list[Any]:
        """Returns the references whose scope matches every part that is not `None`, ordered by id."""
        refs: builtins.list[Any] = []
        query: dict[str, str | int | None] = {"scope": _scope_text(_scope(scope)), "limit": _PAGE}
        while True:
            page = (await self._transport.call(Request("GET", "/v1/artifacts", query))).json()
            refs.extend(map(_ref, page["items"]))
            if "next" not in page:
                return refs
            query["cursor"] = page["next"]

    async def _put(self, data: bytes, about: Mapping[str, Any], write: Write) -> Any:
        label = {
            "mimeType": about["mime_type"],
            "filename": about["filename"],
            "namespace": about["namespace"],
            "scope": _scope(about["scope"]),
            "source": to_json(about["meta"], "meta"),
        }
        given = {name: value for name, value in label.items() if value is not None}
        body = encode(given) + b"\n" + data
        request = Request("POST", "/v1/artifacts", body=body, content_type=_LABELLED_BYTES, write=write)
        return _ref((await self._transport.call(request)).json())


def _request(method: str, artifact_id: object, part: str = "", write: Write | None = None) -> Request:
    if not isinstance(artifact_id, str):
        raise invalid_argument("artifact_id", "text")
    stored_id, _, tenant = artifact_id.partition("@")
    query = {"scope": _scope_text({"tenantId": unquote(tenant)}) if tenant else None}
    path = f"/v1/artifacts/{segment_of(stored_id, 'artifact_id')}{part}"
    return Request(method, path, query, write=write, is_settled_by_itself=write is None)


def _check_range(start: object, end: object) -> None:
    if not isinstance(start, int) or isinstance(start, bool) or start < 0:
        raise invalid_argument("start", "an integer of at least 0")
    if end is not None and (not isinstance(end, int) or isinstance(end, bool) or end < start):
        raise invalid_argument("end", f"an integer of at least {start}")


def _scope(scope: Any) -> dict[str, Any] | None:
    if scope is None:
        return None
    parts = to_wire(models.ArtifactScope, scope)
    return {name: value for name, value in parts.items() if value is not None}


def _scope_text(scope: Mapping[str, Any] | None) -> str | None:
    return encode(scope).decode() if scope else None


def _ref(wire: Mapping[str, Any]) -> Any:
    scope = wire["scope"]
    tenant = scope.get("tenantId")
    parts = {**wire, "id": wire["id"] if tenant is None else f"{wire['id']}@{quote(tenant, safe='')}"}
    return of_wire(models.ArtifactRef, {**parts, "scope": of_wire(models.ArtifactScope, scope) if scope else None})
