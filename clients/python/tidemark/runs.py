"""Runs: events appended once and in order, read by sequence, followed live. Members have the names of the contract."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from .errors import TidemarkError, Write, invalid_argument, invalid_payload
from .ids import segment_of
from .live import follow
from .payloads import encode, to_json
from .transport import Request, Transport
from .wire import time_of_text, time_text

RunEvent = dict[str, Any]
"""A run event with the member names of the contract: `runId`, `eventType`, `payload`, `runSeq`, …"""

_DEFAULT_NAME = "default"


@dataclass(frozen=True, slots=True)
class AppendResult:
    """The result of an append."""

    event_id: str
    run_seq: int
    persisted_at: datetime
    idempotent: bool
    """Whether an event with this key was already stored; the other fields are those of the stored event."""
    persisted: bool
    payload_matches: bool
    """False if the event stored under the key differs from the one that was sent."""


Alert = dict[str, Any]
"""An alert: `code`, `severity`, `tenantId`, `runId` and, for `HEAD_WENT_BACK`, `knownSeq` and `currentSeq`."""

_MOST_HEADS = 10_000

_Run = tuple[str | None, str]
"""Tenant and id of a run. The server knows the tenant if the client does not."""


class Runs:
    """Run events over HTTP."""

    def __init__(self, transport: Transport, on_alert: Callable[[Alert], None] | None = None) -> None:
        self._transport = transport
        self._on_alert = on_alert
        self._heads: dict[_Run, int] = {}
        self._has_ranges = False

    async def append_event(self, event: Mapping[str, Any], *, expected_seq: int | None = None) -> AppendResult:
        """Appends an event, once per `idempotencyKey`. Only `runId` and `eventType` are required.

        Missing ids, times, attempts, scope and plan are filled in before the first attempt, so that retries and
        `error.write` carry the same ids. Two events of an own type are stored as two unless both have the same
        `idempotencyKey`. The error of a refused event has all of its faults in `errors`.

        With `expected_seq` it fails with `SEQ_CONFLICT` unless that is the run's last sequence.
        """
        given = to_json(event, "event")
        if not isinstance(given, dict):
            raise invalid_payload("event", "a JSON object")
        whole = {**self._envelope(), **given}
        arguments = {"event": whole, "expected_seq": expected_seq}
        request = Request(
            "POST",
            "/v1/events",
            {"expectedSeq": expected_seq},
            body=encode(whole),
            write=Write("runs.append_event", arguments),
        )
        run = (whole.get("tenantId"), str(whole.get("runId")))
        # The head before the call began: responses may arrive out of order.
        known = self._heads.get(run)
        result = (await self._transport.call(request)).json()
        if self._on_alert is not None and result["persisted"]:
            await self._remember(run, known, result["runSeq"])
        return AppendResult(
            event_id=result["eventId"],
            run_seq=result["runSeq"],
            persisted_at=time_of_text(result["persistedAt"]),
            idempotent=result["idempotent"],
            persisted=result["persisted"],
            payload_matches=result.get("payloadMatches", True),
        )

    async def fetch_events(
        self,
        run_id: str,
        *,
        after_seq: int = 0,
        before_seq: int | None = None,
        order: str = "oldest",
        limit: int = 1_000,
    ) -> list[RunEvent]:
        """Returns events after `after_seq` and before `before_seq`, in order; `[]` for an unknown run.

        With `order="newest"` the last events come first. To continue, pass the sequence of the last one as
        `before_seq`. Servers of version 0.1 cannot do this: it fails with `UNSUPPORTED`.
        """
        query: dict[str, Any] = {"afterSeq": _integer(after_seq, "afterSeq"), "limit": _integer(limit, "limit")}
        if before_seq is not None or order != "oldest":
            await self._require_ranges()
            query["beforeSeq"] = None if before_seq is None else _integer(before_seq, "beforeSeq")
            query["order"] = order
        answer = await self._transport.call(Request("GET", _events_path(run_id), query))
        return answer.json()["items"]

    async def _require_ranges(self) -> None:
        # A server of version 0.1 would ignore the options and return other events.
        if self._has_ranges:
            return
        info = (await self._transport.call(Request("GET", "/v1/info"))).json()
        if "wireVersion" not in info:
            raise TidemarkError(
                "UNSUPPORTED", "The server is too old for before_seq and for reading the newest events first"
            )
        self._has_ranges = True

    async def tail(self, run_id: str, *, after_seq: int = 0) -> AsyncIterator[RunEvent]:
        """Yields events after `after_seq`, then each new one, without gaps or repeats, across restarts of the server.

        Ends when the store is closed. Use `contextlib.aclosing` to disconnect as soon as you leave the loop.
        """
        request = Request("GET", _events_path(run_id), {"afterSeq": _integer(after_seq, "afterSeq")})
        async with aclosing(follow(self._transport, request)) as events:
            async for event in events:
                yield json.loads(event.data)

    async def get_snapshot(self, run_id: str) -> dict[str, Any] | None:
        """Returns the stored snapshot of a run, which may lag behind its events; `None` for an unknown run."""
        answer = await self._transport.find(Request("GET", f"/v1/runs/{segment_of(run_id, 'runId')}"))
        return None if answer is None else answer.json()

    async def project_snapshot(self, run_id: str, *, at_seq: int | None = None) -> dict[str, Any]:
        """Returns the snapshot with all events of the run, or with those up to `at_seq`.

        Fails with `RUN_NOT_FOUND` for an unknown run.
        """
        query = {"atSeq": None if at_seq is None else _integer(at_seq, "atSeq")}
        path = f"/v1/runs/{segment_of(run_id, 'runId')}/snapshot"
        return (await self._transport.call(Request("GET", path, query))).json()

    async def list_quarantined(self, *, state: str = "quarantined", limit: int = 100) -> list[dict[str, Any]]:
        """Returns runs in which damage was found. `state` is `quarantined`, `released` or `any`."""
        query = {"state": state, "limit": _integer(limit, "limit")}
        answer = await self._transport.call(Request("GET", "/v1/quarantines", query))
        return answer.json()["items"]

    async def release_run(self, run_id: str) -> dict[str, Any]:
        """Releases a repaired run: consumers receive its events from the first one that was skipped.

        Fails with `CORRUPT_EVENT` while it is still damaged, and with `NOT_FOUND` if it was never quarantined.
        """
        path = f"/v1/runs/{segment_of(run_id, 'runId')}/release"
        request = Request("POST", path, write=Write("runs.release_run", {"run_id": run_id}))
        return (await self._transport.call(request)).json()

    async def refresh_snapshot(self, run_id: str, *, full: bool = False) -> dict[str, Any]:
        """Folds new events into the stored snapshot and returns `snapshot` and `folded`.

        With `full` the snapshot is rebuilt from the first event.
        """
        path = f"/v1/runs/{segment_of(run_id, 'runId')}/snapshot/refresh"
        # Omitted when false: older servers do not know it.
        query = {"full": "true"} if full else {}
        write = Write("runs.refresh_snapshot", {"run_id": run_id, "full": full})
        return (await self._transport.call(Request("POST", path, query, write=write))).json()

    async def verify(self, run_id: str) -> dict[str, Any]:
        """Recomputes the hash chain of a run and compares the stored snapshot with it. `ok` is the result."""
        path = f"/v1/runs/{segment_of(run_id, 'runId')}/integrity"
        return (await self._transport.call(Request("GET", path))).json()

    async def _remember(self, run: _Run, known: int | None, run_seq: int) -> None:
        """Remembers the head of a run, and reports a run that lost events which this client saw (`HEAD_WENT_BACK`)."""
        is_back = known is not None and run_seq <= known
        head = await self._head_of(run) if is_back else None
        seen = self._heads.pop(run, 0)
        self._heads[run] = run_seq if is_back else max(seen, run_seq)
        if len(self._heads) > _MOST_HEADS:
            del self._heads[next(iter(self._heads))]
        # A redaction or a restore may explain a lower head, and so may a head that cannot be read.
        if head is not None and head.get("rewrites", 0) == 0 and self._on_alert is not None:
            tenant_id, run_id = run
            tenant_id = tenant_id or head.get("tenantId", _DEFAULT_NAME)
            alert = {"code": "HEAD_WENT_BACK", "severity": "P1", "tenantId": tenant_id, "runId": run_id}
            self._on_alert({**alert, "knownSeq": known, "currentSeq": run_seq})

    async def _head_of(self, run: _Run) -> dict[str, Any] | None:
        tenant_id, run_id = run
        request = Request("GET", f"/v1/runs/{segment_of(run_id, 'runId')}/head", {"tenantId": tenant_id})
        try:
            return (await self._transport.call(request)).json()
        except TidemarkError:
            return None

    def _envelope(self) -> RunEvent:
        tenant = self._transport.tenant
        return {
            "eventId": str(uuid.uuid4()),
            "emittedAt": time_text(datetime.now(timezone.utc), "emittedAt"),
            # Otherwise the server uses the tenant of the token, or `default`.
            **({} if tenant is None else {"tenantId": tenant}),
            "projectId": _DEFAULT_NAME,
            "environmentId": _DEFAULT_NAME,
            "planId": _DEFAULT_NAME,
            "planVersion": "1",
            "engineAttemptId": 1,
            "logicalAttemptId": 1,
        }


def _events_path(run_id: object) -> str:
    return f"/v1/runs/{segment_of(run_id, 'runId')}/events"


def _integer(value: object, field: str) -> int:
    if isinstance(value, int):
        return value
    raise invalid_argument(field, "an integer")
