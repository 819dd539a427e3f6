"""Runs: events appended once and in order, read by sequence, followed live. Members have the names of the contract."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal

from .errors import TidemarkError, Write, invalid_argument, invalid_payload
from .ids import segment_of
from .live import follow
from .payloads import encode, to_json
from .request import Request
from .transport import Transport
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
    life: int = 1
    """The life of the run: how many times a run with this id has begun."""


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

    async def append_event(
        self,
        event: Mapping[str, Any],
        *,
        expected_seq: int | None = None,
        life: int | Literal["new"] | None = None,
    ) -> AppendResult:
        """Appends an event, once per `idempotencyKey`. Only `runId` and `eventType` are required.

        Missing ids, times, attempts, scope and plan are filled in before the first attempt, so
        that retries and `error.write` have the same ids. Two events of a custom type are stored
        as two unless both have the same `idempotencyKey`. If an event is refused, the error
        lists all of its faults in `errors`.

        With `expected_seq` it fails with `SEQ_CONFLICT` unless that is the run's last sequence.

        After a run was deleted, `life="new"` begins its next life, and later appends to that life
        name its number, which the result has. Any other append to it fails with `RUN_DELETED`.
        """
        given = to_json(event, "event")
        if not isinstance(given, dict):
            raise invalid_payload("event", "a JSON object")
        whole = {**self._envelope(), **given}
        arguments: dict[str, Any] = {"event": whole, "expected_seq": expected_seq}
        if life is not None:
            arguments["life"] = life if life == "new" else _integer(life, "life")
        request = Request(
            "POST",
            "/v1/events",
            {"expectedSeq": expected_seq, **_life_query(life)},
            body=encode(whole),
            write=Write("runs.append_event", arguments),
        )
        run = (whole.get("tenantId"), str(whole.get("runId")))
        # The head before the call began, because responses may arrive out of order.
        known = self._heads.get(run)
        result = (await self._transport.append(request)).json()
        if self._on_alert is not None and result["persisted"]:
            await self._remember(run, known, result["runSeq"])
        return AppendResult(
            event_id=result["eventId"],
            run_seq=result["runSeq"],
            persisted_at=time_of_text(result["persistedAt"]),
            idempotent=result["idempotent"],
            persisted=result["persisted"],
            payload_matches=result.get("payloadMatches", True),
            life=result.get("life", 1),
        )

    async def fetch_events(
        self,
        run_id: str,
        *,
        after_seq: int = 0,
        before_seq: int | None = None,
        order: str = "oldest",
        limit: int = 1_000,
        life: int | None = None,
    ) -> list[RunEvent]:
        """Returns events after `after_seq` and before `before_seq`, in order; `[]` for an unknown run.

        With `life`, a run that is in another life counts as unknown.

        With `order="newest"` the last events come first. To continue, pass the sequence of the last one as
        `before_seq`. Servers of version 0.1 cannot do this: it fails with `UNSUPPORTED`.
        """
        query: dict[str, Any] = {"afterSeq": _integer(after_seq, "afterSeq"), "limit": _integer(limit, "limit")}
        query |= _life_query(life)
        if before_seq is not None or order != "oldest":
            await self._require_ranges()
            query["beforeSeq"] = None if before_seq is None else _integer(before_seq, "beforeSeq")
            query["order"] = order
        answer = await self._transport.call(Request("GET", _events_path(run_id), query))
        return answer.json()["items"]

    async def count(
        self,
        *,
        status: str | None = None,
        plan_id: str | None = None,
        project_id: str | None = None,
        environment_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> tuple[int, bool]:
        """Counts the runs that meet all conditions, and returns whether the count is exact; otherwise there may be more."""
        query: dict[str, Any] = {"status": status, "planId": plan_id, "projectId": project_id}
        query["environmentId"] = environment_id
        if labels is not None:
            query["labels"] = encode(dict(labels)).decode()
        answer = (await self._transport.call(Request("GET", "/v1/run-count", query))).json()
        return answer["count"], answer["exact"]

    async def delete_expired(self, *, cursor: str | None = None, limit: int = 100) -> tuple[int, str | None]:
        """Deletes at most `limit` expired runs, and returns their number and the cursor to continue with.

        The cursor is `None` once all runs have been examined. A run expires if its first event has the label
        `tidemark.expires`: with `30d`, 30 days after its last event once it has ended; with `1h any` also if it
        has not ended. To readers, an expired run is deleted even before this call. Needs a key with the scope `admin`.
        """
        arguments = {"cursor": cursor, "limit": _integer(limit, "limit")}
        body = {name: value for name, value in arguments.items() if value is not None}
        request = Request(
            "POST", "/v1/expired-runs", body=encode(body), write=Write("runs.delete_expired", arguments)
        )
        answer = (await self._transport.call(request)).json()
        return answer["deleted"], answer.get("next")

    async def list_runs(
        self,
        *,
        order: str = "newest",
        order_by: str = "createdAt",
        status: str | None = None,
        plan_id: str | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> dict[str, Any]:
        """Returns a page of runs: `items` and, if there are more, `next`, the cursor to continue with.

        With `order_by="updatedAt"`, runs are in the order of their last event. That needs a store with the capability
        `runs.listByUpdate`; otherwise it fails with `UNSUPPORTED`.
        """
        query: dict[str, Any] = {"order": order, "status": status, "planId": plan_id, "cursor": cursor}
        query["limit"] = _integer(limit, "limit")
        if order_by != "createdAt":
            await self._require_capability("runs.listByUpdate")
            query["orderBy"] = order_by
        return (await self._transport.call(Request("GET", "/v1/runs", query))).json()

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

    async def tail(self, run_id: str, *, after_seq: int = 0, life: int | None = None) -> AsyncIterator[RunEvent]:
        """Yields events after `after_seq`, then each new one, without gaps or repeats, across restarts of the server.

        Ends when the store is closed. Use `contextlib.aclosing` to disconnect as soon as you leave the loop.
        With `life`, only events of that life of the run are yielded.
        """
        query = {"afterSeq": _integer(after_seq, "afterSeq"), **_life_query(life)}
        request = Request("GET", _events_path(run_id), query)
        async with aclosing(follow(self._transport, request)) as events:
            async for event in events:
                yield json.loads(event.data)

    async def feed_page(
        self,
        *,
        cursor: str | None = None,
        notices: bool = False,
        limit: int = 1_000,
    ) -> dict[str, Any]:
        """Returns a page of the events of all runs: `items` and `next`, the cursor to continue with.

        If `next` equals the cursor you passed, you are up to date. With `notices`, items may also have a `notice`
        instead of an `event`: a run was deleted, archived, redacted, restored, quarantined or released. Servers of
        version 0.1 have no notices: it fails with `UNSUPPORTED`.
        """
        query: dict[str, Any] = {"cursor": cursor, "limit": _integer(limit, "limit")}
        if notices:
            await self._require_capability("runs.notices")
            query["notices"] = "true"
        return (await self._transport.call(Request("GET", "/v1/events", query))).json()

    async def _require_capability(self, capability: str) -> None:
        # A server that does not know the option would ignore it and return something else.
        info = (await self._transport.call(Request("GET", "/v1/info"))).json()
        if not info.get("capabilities", {}).get(capability):
            raise TidemarkError("UNSUPPORTED", f"The store of this server has no {capability}")

    async def get_snapshot(self, run_id: str, *, life: int | None = None) -> dict[str, Any] | None:
        """Returns the stored snapshot of a run, which may lag behind its events; `None` for an unknown run."""
        path = f"/v1/runs/{segment_of(run_id, 'runId')}"
        answer = await self._transport.find(Request("GET", path, _life_query(life)))
        return None if answer is None else answer.json()

    async def project_snapshot(
        self, run_id: str, *, at_seq: int | None = None, life: int | None = None
    ) -> dict[str, Any]:
        """Returns the snapshot with all events of the run, or with those up to `at_seq`.

        Fails with `RUN_NOT_FOUND` for an unknown run.
        """
        query = {"atSeq": None if at_seq is None else _integer(at_seq, "atSeq"), **_life_query(life)}
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
        # Omitted when false, because older servers do not know it.
        query = {"full": "true"} if full else {}
        write = Write("runs.refresh_snapshot", {"run_id": run_id, "full": full})
        return (await self._transport.call(Request("POST", path, query, write=write))).json()

    async def verify(self, run_id: str) -> dict[str, Any]:
        """Recomputes the hash chain of a run and compares the stored snapshot with it. `ok` is the
        overall result."""
        path = f"/v1/runs/{segment_of(run_id, 'runId')}/integrity"
        return (await self._transport.call(Request("GET", path))).json()

    async def _remember(self, run: _Run, known: int | None, run_seq: int) -> None:
        """Remembers the head of a run, and reports a run that has lost events which this client
        had seen (`HEAD_WENT_BACK`)."""
        is_back = known is not None and run_seq <= known
        head = await self._head_of(run) if is_back else None
        seen = self._heads.pop(run, 0)
        self._heads[run] = run_seq if is_back else max(seen, run_seq)
        if len(self._heads) > _MOST_HEADS:
            del self._heads[next(iter(self._heads))]
        # A redaction or a restore may explain a lower head, and a head that cannot be read proves nothing.
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


def _life_query(life: object) -> dict[str, Any]:
    # Omitted when not given, because servers of version 0.1 do not know it.
    if life is None:
        return {}
    return {"life": life if life == "new" else _integer(life, "life")}


def _integer(value: object, field: str) -> int:
    if isinstance(value, int):
        return value
    raise invalid_argument(field, "an integer")
