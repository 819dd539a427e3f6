"""`StateStore`: a Tidemark server as the state store of PenguiFlow, with every required and optional method."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from . import models
from .artifacts import ArtifactStore
from .errors import TidemarkError, Write, invalid_argument, invalid_payload
from .ids import check_id, check_prefix, segment_of
from .kv import Kv
from .native import build_trajectory
from .payloads import encode, to_json
from .runs import Alert, Runs
from .request import Query, Request
from .transport import Transport
from .wire import names_of, of_wire, time_of_text, to_wire

_MEMORY_PAGE = 1_000
_EVENTS_PER_REQUEST = 1_000
_BYTES_PER_REQUEST = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """A memory state without its content."""

    key: str
    version: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The properties of the server's store that matter to writers of records."""

    backend: str
    encrypts: bool
    """Whether fields can be sealed: the store was opened with a codec that encrypts."""
    field_bytes: int
    """The maximum size of a field of a record."""


class StateStore:
    """The state store of an agent framework, backed by a Tidemark server.

    Every call returns or raises a `TidemarkError` within `timeout` seconds and a short grace period. Transient failures
    are retried within that time. Every write here is idempotent, so a retry does not apply it twice. A store may be
    used from any number of tasks.

    Example::

        async with StateStore("http://127.0.0.1:7420", token=key) as store:
            flow = create(..., state_store=store)
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        tenant: str | None = None,
        timeout: float = 5.0,
        on_alert: Callable[[Alert], None] | None = None,
        missing_pause: Literal["empty", "none"] = "empty",
    ) -> None:
        """`token` is an API key or a JWT. `tenant` selects the tenant for a token that may access several.

        `missing_pause` is what `load_planner_state` returns for a token that is unknown, expired or consumed: `"empty"`
        for `{}`, as PenguiFlow 2.7 expects, or `"none"` for `None`, as newer versions do.

        With `on_alert` the store remembers the last event it appended to each run, and reports runs that lost events.
        """
        if missing_pause not in ("empty", "none"):
            raise invalid_argument("missing_pause", 'one of "empty" and "none"')
        self._missing_pause: Literal["empty", "none"] = missing_pause
        self._transport = Transport(url, token, tenant, timeout)
        self._artifacts = ArtifactStore(self._transport)
        self.runs = Runs(self._transport, on_alert)
        """Run events: append, read, follow."""
        self.kv = Kv(self._transport)
        """Records of named fields."""

    @property
    def artifact_store(self) -> ArtifactStore:
        """Bytes and long texts by reference."""
        return self._artifacts

    async def close(self) -> None:
        """Ends live reads and waits for pending calls."""
        await self._transport.close()

    async def ping(self) -> bool:
        """Returns whether the server and its engine respond."""
        try:
            return (await self._transport.call(Request("GET", "/v1/ping"))).json()["ok"]
        except TidemarkError as error:
            if error.code in ("UNAVAILABLE", "TIMEOUT", "OVERLOADED", "STORAGE_ERROR"):
                return False
            raise

    async def info(self) -> StoreInfo:
        """Returns the properties of the server's store."""
        answer = (await self._transport.call(Request("GET", "/v1/info"))).json()
        return StoreInfo(answer["backend"], answer.get("encrypts", False), answer["limits"]["fieldBytes"])

    async def __aenter__(self) -> StateStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def save_event(self, event: Any) -> None:
        """Saves a runtime event. Saving the same event again changes nothing."""
        body = to_wire(models.StoredEvent, event)
        await self._save("save_event", {"event": names_of(models.StoredEvent, body)}, "/v1/flow-events", body)

    async def save_events_bulk(self, events: Iterable[Any]) -> None:
        """Saves runtime events in order, with as few requests as possible. Saving the same events again changes nothing.

        If it fails, the first events may be stored; calling it again with all events stores the
        others.
        """
        bodies = [to_wire(models.StoredEvent, event) for event in events]
        write = Write("save_events_bulk", {"events": [names_of(models.StoredEvent, body) for body in bodies]})
        for part in _parts([encode(body) for body in bodies]):
            await self._transport.call(Request("POST", "/v1/flow-events", body=part, write=write))

    async def load_history(self, trace_id: str | None) -> list[Any]:
        """Returns all events of a trace by `ts`, then by insertion. `None` returns the events without a trace."""
        query = {"traceId": None if trace_id is None else check_id(trace_id, "traceId")}
        return await self._list("/v1/flow-events", models.StoredEvent, query)

    async def save_remote_binding(self, binding: Any) -> None:
        """Saves the remote worker of a task. The last save for a trace, context and task wins."""
        body = to_wire(models.RemoteBinding, binding)
        arguments = {"binding": names_of(models.RemoteBinding, body)}
        await self._save("save_remote_binding", arguments, "/v1/bindings", body)

    async def list_remote_bindings(self, trace_id: str) -> list[Any]:
        """Returns the remote workers of a trace."""
        return await self._list(f"/v1/traces/{segment_of(trace_id, 'traceId')}/bindings", models.RemoteBinding)

    async def find_binding(
        self,
        *,
        router_session_id: str,
        agent_url: str,
        remote_skill: str,
        tenant_id: str | None = None,
        user_id: str | None = None,
    ) -> Any | None:
        """Returns the most recently updated binding that matches and is not terminal, or `None`.

        A `tenant_id` or `user_id` of `None` matches only a binding without one.
        """
        query = {"routerSessionId": check_id(router_session_id, "routerSessionId"), "agentUrl": agent_url}
        query["remoteSkill"] = check_id(remote_skill, "remoteSkill")
        for name, value in (("tenantId", tenant_id), ("userId", user_id)):
            if value is not None:
                query[name] = check_id(value, name)
        answer = await self._transport.call(Request("POST", "/v1/bindings/find", body=encode(query)))
        binding = answer.json()["binding"]
        return None if binding is None else of_wire(models.RemoteBinding, binding)

    async def list_bindings(self, *, router_session_id: str) -> list[Any]:
        """Returns the bindings of a router's session, most recently updated first."""
        path = f"/v1/sessions/{segment_of(router_session_id, 'routerSessionId')}/bindings"
        return await self._list(path, models.RemoteBinding)

    async def mark_binding_terminal(self, *, trace_id: str, context_id: str | None, task_id: str) -> None:
        """Marks a binding as terminal, so that `find_binding` passes it over. An unknown binding is no error."""
        arguments = {"trace_id": trace_id, "context_id": context_id, "task_id": task_id}
        body: dict[str, Any] = {"traceId": check_id(trace_id, "traceId"), "taskId": check_id(task_id, "taskId")}
        body["contextId"] = None if context_id is None else check_id(context_id, "contextId")
        await self._save("mark_binding_terminal", arguments, "/v1/bindings/terminal", body)

    async def save_planner_state(self, token: str, payload: Mapping[str, Any]) -> None:
        """Saves the payload of a pause for an hour. Fails with `TOKEN_CONSUMED` if the token was
        already used."""
        body = {"token": check_id(token, "token"), "payload": _json_object(payload, "payload")}
        await self._save("save_planner_state", {"token": token, "payload": payload}, "/v1/pauses", body)

    async def load_planner_state(self, token: str, *, request_id: str | None = None) -> dict[str, Any] | None:
        """Returns the content of a pause to exactly one caller.

        A missing, expired or consumed token returns `{}`, or `None` with `missing_pause="none"`. The server answers with
        an empty object for them, so a pause without content looks the same.

        A retry with the same `request_id` returns it again, which settles a lost response.
        """
        arguments = {"token": check_id(token, "token"), "request_id": request_id or _new_request_id()}
        body = {"token": token, "requestId": arguments["request_id"]}
        write = Write("load_planner_state", arguments)
        answer = await self._transport.call(Request("POST", "/v1/pauses/load", body=encode(body), write=write))
        content: dict[str, Any] = answer.json()
        return None if content == {} and self._missing_pause == "none" else content

    async def save_memory_state(self, key: str, state: Mapping[str, Any], *, request_id: str | None = None) -> None:
        """Saves a memory state; the last write wins."""
        request_id = request_id or _new_request_id()
        arguments = {"key": key, "state": state, "request_id": request_id}
        body = {"state": _json_object(state, "state"), "requestId": request_id}
        await self._save("save_memory_state", arguments, f"/v1/memory/{segment_of(key, 'key')}", body, method="PUT")

    async def load_memory_state(self, key: str) -> dict[str, Any] | None:
        """Returns exactly what was saved; `None` for an unknown key."""
        answer = await self._transport.find(Request("GET", f"/v1/memory/{segment_of(key, 'key')}"))
        return None if answer is None else answer.json()["state"]

    async def list_memory(self, prefix: str = "") -> list[MemoryInfo]:
        """Returns the keys of memory states in byte order, with version and time."""
        found: list[MemoryInfo] = []
        query: dict[str, str | int | None] = {"prefix": check_prefix(prefix, "prefix"), "limit": _MEMORY_PAGE}
        while True:
            page = (await self._transport.call(Request("GET", "/v1/memory", query))).json()
            for item in page["items"]:
                found.append(MemoryInfo(item["key"], item["version"], time_of_text(item["updatedAt"])))
            if "next" not in page:
                return found
            query["cursor"] = page["next"]

    async def save_task(self, state: Any) -> None:
        """Saves a task. An older version than the stored one changes nothing."""
        body = to_wire(models.TaskState, state)
        arguments = {"state": names_of(models.TaskState, body)}
        await self._save("save_task", arguments, _session_path(body["sessionId"], "tasks"), body)

    async def list_tasks(self, session_id: str) -> list[Any]:
        """Returns all tasks of a session in order of creation; `[]` for an unknown session."""
        return await self._list(_session_path(session_id, "tasks"), models.TaskState)

    async def save_update(self, update: Any) -> None:
        """Saves an update. The first one saved under an `update_id` wins."""
        body = to_wire(models.StateUpdate, update)
        arguments = {"update": names_of(models.StateUpdate, body)}
        await self._save("save_update", arguments, _session_path(body["sessionId"], "updates"), body)

    async def list_updates(
        self, session_id: str, *, task_id: str | None = None, since_id: str | None = None, limit: int = 500
    ) -> list[Any]:
        """Returns updates by arrival, after `since_id` if it is known. `limit` cuts off the end,
        so paging never skips items."""
        query = _cursor_query(task_id, since_id, limit)
        return await self._list(_session_path(session_id, "updates"), models.StateUpdate, query)

    async def save_steering(self, event: Any) -> None:
        """Saves a steering event with its payload sanitised. The first one saved under an `event_id` wins."""
        body = to_wire(models.SteeringEvent, event)
        arguments = {"event": names_of(models.SteeringEvent, body)}
        await self._save("save_steering", arguments, _session_path(body["sessionId"], "steering"), body)

    async def list_steering(
        self, session_id: str, *, task_id: str | None = None, since_id: str | None = None, limit: int = 500
    ) -> list[Any]:
        """Returns steering events in order of arrival, with the same cursor as `list_updates`."""
        query = _cursor_query(task_id, since_id, limit)
        return await self._list(_session_path(session_id, "steering"), models.SteeringEvent, query)

    async def save_trajectory(self, trace_id: str, session_id: str, trajectory: Any) -> None:
        """Saves a trajectory as the session's latest. Fails with `SESSION_MISMATCH` for a trace of another session."""
        serialise = getattr(trajectory, "serialise", None)
        body = {"trajectory": _json_object(serialise() if callable(serialise) else trajectory, "trajectory")}
        arguments = {"trace_id": trace_id, "session_id": session_id, "trajectory": trajectory}
        await self._save("save_trajectory", arguments, _trajectory_path(trace_id, session_id), body, method="PUT")

    async def get_trajectory(self, trace_id: str, session_id: str) -> Any | None:
        """Returns the trajectory of a trace; `None` if it is unknown or of another session."""
        answer = await self._transport.find(Request("GET", _trajectory_path(trace_id, session_id)))
        return None if answer is None else build_trajectory(answer.json())

    async def list_traces(self, session_id: str, limit: int = 50) -> list[str]:
        """Returns the traces of a session, most recent first."""
        answer = await self._transport.call(Request("GET", _session_path(session_id, "traces"), {"limit": limit}))
        return answer.json()["items"]

    async def save_planner_event(self, trace_id: str, event: Any) -> None:
        """Saves a planner event. Saving the same event again changes nothing."""
        body = to_wire(models.PlannerEvent, event)
        arguments = {"trace_id": trace_id, "event": names_of(models.PlannerEvent, body)}
        await self._save("save_planner_event", arguments, _planner_events_path(trace_id), body)

    async def list_planner_events(self, trace_id: str) -> list[Any]:
        """Returns the planner events of a trace in order of arrival."""
        return await self._list(_planner_events_path(trace_id), models.PlannerEvent)

    async def _save(
        self, name: str, arguments: Mapping[str, Any], path: str, body: Mapping[str, Any], method: str = "POST"
    ) -> None:
        await self._transport.call(Request(method, path, body=encode(body), write=Write(name, arguments)))

    async def _list(self, path: str, kind: type, query: Query | None = None) -> list[Any]:
        answer = await self._transport.call(Request("GET", path, query or {}))
        return [of_wire(kind, item) for item in answer.json()["items"]]


def _parts(items: list[bytes]) -> Iterator[bytes]:
    """Yields JSON arrays of the items, each small enough for one request."""
    part: list[bytes] = []
    size = 0
    for item in items:
        if part and (len(part) == _EVENTS_PER_REQUEST or size + len(item) > _BYTES_PER_REQUEST):
            yield b"[" + b",".join(part) + b"]"
            part, size = [], 0
        part.append(item)
        size += len(item)
    if part:
        yield b"[" + b",".join(part) + b"]"


def _new_request_id() -> str:
    return uuid.uuid4().hex


def _json_object(value: object, field: str) -> dict[str, Any]:
    plain = to_json(value, field)
    if isinstance(plain, dict):
        return plain
    raise invalid_payload(field, "a JSON object")


def _session_path(session_id: object, part: str) -> str:
    return f"/v1/sessions/{segment_of(session_id, 'sessionId')}/{part}"


def _trajectory_path(trace_id: object, session_id: object) -> str:
    return f"{_session_path(session_id, 'trajectories')}/{segment_of(trace_id, 'traceId')}"


def _planner_events_path(trace_id: object) -> str:
    return f"/v1/traces/{segment_of(trace_id, 'traceId')}/planner-events"


def _cursor_query(task_id: str | None, since_id: str | None, limit: int) -> dict[str, str | int | None]:
    if not isinstance(limit, int):
        raise invalid_argument("limit", "an integer from 1 to 10000")
    return {
        "taskId": None if task_id is None else check_id(task_id, "taskId"),
        "sinceId": check_id(since_id, "sinceId") if since_id else None,
        "limit": limit,
    }
