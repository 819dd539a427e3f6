"""Runtime events, remote bindings and planner events."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tidemark import PlannerEvent, RemoteBinding, StoredEvent

from .case import StoreCase, new_name


def event(trace_id: str | None, ts: float, **payload: Any) -> StoredEvent:
    return StoredEvent(trace_id, ts, "node_end", "llm_node", "llm_node_1", payload)


class Events(StoreCase):
    async def test_returns_saved_events(self) -> None:
        trace = new_name("trace")
        await self.store.save_event(event(trace, 1702857600.123, latency_ms=100, flow_error={"code": "X"}))
        (stored,) = await self.store.load_history(trace)
        self.assertEqual(stored.trace_id, trace)
        self.assertEqual(stored.ts, 1702857600.123)
        self.assertEqual((stored.kind, stored.node_name, stored.node_id), ("node_end", "llm_node", "llm_node_1"))
        self.assertEqual(stored.payload, {"latency_ms": 100, "flow_error": {"code": "X"}})

    async def test_returns_whole_seconds_as_floats(self) -> None:
        trace = new_name("trace")
        await self.store.save_event(event(trace, 3.0))
        (stored,) = await self.store.load_history(trace)
        self.assertIsInstance(stored.ts, float)

    async def test_saves_many_events_in_order_and_once(self) -> None:
        trace = new_name("trace")
        events = [event(trace, 1.0, number=number) for number in range(2_001)]
        for large in events[100:120]:
            large.payload["text"] = "x" * 500_000
        for _ in range(2):
            await self.store.save_events_bulk(iter(events))
        stored = await self.store.load_history(trace)
        self.assertEqual([it.payload["number"] for it in stored], list(range(2_001)))
        await self.store.save_events_bulk([])

    async def test_is_empty_for_an_unknown_trace(self) -> None:
        self.assertEqual(await self.store.load_history(new_name("trace")), [])

    async def test_orders_by_time_then_by_insertion(self) -> None:
        trace = new_name("trace")
        for number, ts in enumerate([3.0, 1.0, 2.0, 1.0]):
            await self.store.save_event(event(trace, ts, number=number))
        history = await self.store.load_history(trace)
        self.assertEqual([it.payload["number"] for it in history], [1, 3, 2, 0])

    async def test_keeps_the_same_event_once(self) -> None:
        trace = new_name("trace")
        await asyncio.gather(*(self.store.save_event(event(trace, 1.0, a=1)) for _ in range(10)))
        self.assertEqual(len(await self.store.load_history(trace)), 1)

    async def test_keeps_events_of_no_trace_apart(self) -> None:
        mark = new_name("mark")
        await self.store.save_event(event(None, 1.0, mark=mark))
        of_none = [it for it in await self.store.load_history(None) if it.payload.get("mark") == mark]
        self.assertEqual([it.trace_id for it in of_none], [None])
        for name in ("None", "null", "__global__"):
            self.assertEqual(await self.store.load_history(name), [])

    async def test_accepts_mappings_objects_and_objects_that_convert_themselves(self) -> None:
        @dataclass
        class Mine:
            trace_id: str
            ts: float
            kind: str
            node_name: None
            node_id: None
            payload: dict[str, Any]

        class Convertible:
            def to_dict(self) -> dict[str, Any]:
                return {"trace_id": trace, "ts": 3.0, "kind": "k"}

        trace = new_name("trace")
        members = {"trace_id": trace, "ts": 1.0, "kind": "k", "node_name": None, "node_id": None, "payload": {}}
        await self.store.save_event(members)
        await self.store.save_event(Mine(**{**members, "ts": 2.0}))
        await self.store.save_event(Convertible())
        await self.store.save_event(SimpleNamespace(**{**members, "ts": 4.0}))
        self.assertEqual([it.ts for it in await self.store.load_history(trace)], [1.0, 2.0, 3.0, 4.0])

    async def test_rejects_unknown_and_missing_members(self) -> None:
        failure = await self.failure_of(self.store.save_event({"trace_id": "t", "ts": 1.0, "kind": "k", "paylod": {}}))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "paylod"))
        failure = await self.failure_of(self.store.save_event({"trace_id": "t", "kind": "k"}))
        self.assertEqual((failure.code, failure.field, failure.rule), ("INVALID_ARGUMENT", "ts", "given"))

    async def test_raises_the_error_of_the_server(self) -> None:
        failure = await self.failure_of(self.store.save_event(event("t", 1.0, id=2**53 + 1)))
        self.assertEqual((failure.code, failure.retryable, failure.outcome), ("INVALID_PAYLOAD", False, "rejected"))
        failure = await self.failure_of(self.store.save_event(StoredEvent("t", 1.0, "")))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "kind"))
        failure = await self.failure_of(self.store.save_event(event("t", 1.0, text="x" * 600_000)))
        self.assertEqual(failure.code, "PAYLOAD_TOO_LARGE")


class Bindings(StoreCase):
    async def test_keeps_the_last_of_a_trace_context_and_task(self) -> None:
        trace = new_name("trace")
        await self.store.save_remote_binding(RemoteBinding(trace, None, "task", "http://old:1"))
        await self.store.save_remote_binding(RemoteBinding(trace, None, "task", "http://new:1"))
        await self.store.save_remote_binding(
            {"trace_id": trace, "context_id": "c", "task_id": "task", "agent_url": "http://other:1"}
        )
        bindings = await self.store.list_remote_bindings(trace)
        workers = {(it.context_id, it.agent_url) for it in bindings}
        self.assertEqual(workers, {(None, "http://new:1"), ("c", "http://other:1")})
        self.assertEqual({(it.trace_id, it.task_id) for it in bindings}, {(trace, "task")})


class RouterBindings(StoreCase):
    def bound(self, trace: str, session: str, **changes: Any) -> RemoteBinding:
        return RemoteBinding(trace, "c", "t", "http://a", router_session_id=session, remote_skill="s", **changes)

    async def test_every_member_comes_back(self) -> None:
        trace, session = new_name("trace"), new_name("session")
        binding = self.bound(
            trace, session, tenant_id="acme", user_id="ada", last_remote_task_id="t7", metadata={"source": {"a": [1]}}
        )
        await self.store.save_remote_binding(binding)
        self.assertEqual(await self.store.list_bindings(router_session_id=session), [binding])
        self.assertEqual(await self.store.list_remote_bindings(trace), [binding])
        found = await self.store.find_binding(
            router_session_id=session, agent_url="http://a", remote_skill="s", tenant_id="acme", user_id="ada"
        )
        self.assertEqual(found, binding)
        worker = {"router_session_id": session, "agent_url": "http://a", "remote_skill": "s"}
        self.assertIsNone(await self.store.find_binding(**worker))

    async def test_finds_the_most_recent_that_is_not_terminal(self) -> None:
        session = new_name("session")
        older, newer = new_name("trace"), new_name("trace")
        for trace in (older, newer):
            await self.store.save_remote_binding(self.bound(trace, session))
        worker = {"router_session_id": session, "agent_url": "http://a", "remote_skill": "s"}
        self.assertEqual((await self.store.find_binding(**worker)).trace_id, newer)
        await self.store.mark_binding_terminal(trace_id=newer, context_id="c", task_id="t")
        self.assertEqual((await self.store.find_binding(**worker)).trace_id, older)
        listed = await self.store.list_bindings(router_session_id=session)
        self.assertEqual([(it.trace_id, it.is_terminal) for it in listed], [(newer, True), (older, False)])
        await self.store.mark_binding_terminal(trace_id=newer, context_id=None, task_id="unknown")

    async def test_refuses_wrong_ids_by_name(self) -> None:
        failure = await self.failure_of(self.store.list_bindings(router_session_id=""))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "routerSessionId"))
        self.assertIsInstance(failure, ValueError)
        failure = await self.failure_of(self.store.mark_binding_terminal(trace_id="t", context_id="", task_id="t"))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "contextId"))


class PlannerEvents(StoreCase):
    async def test_keeps_order_of_arrival_and_the_same_event_once(self) -> None:
        trace = new_name("trace")
        first = PlannerEvent("step_start", 2.0, 0, thought="hm", extra={"tool": "search"})
        second = PlannerEvent("finish", 1.0, 1, latency_ms=1.5, token_estimate=7, error="e", node_name="n")
        for it in (first, second, first):
            await self.store.save_planner_event(trace, it)
        events = await self.store.list_planner_events(trace)
        self.assertEqual([it.event_type for it in events], ["step_start", "finish"])
        self.assertEqual((events[0].thought, events[0].extra, events[0].ts), ("hm", {"tool": "search"}, 2.0))
        last = events[1]
        self.assertEqual((last.latency_ms, last.token_estimate, last.error, last.node_name), (1.5, 7, "e", "n"))
        self.assertEqual(await self.store.list_planner_events(new_name("trace")), [])
