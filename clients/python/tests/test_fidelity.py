"""Any id is preserved byte for byte. Payloads are preserved, or rejected before anything is sent."""

from __future__ import annotations

import unittest
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import Any

from tidemark import StateUpdate, StoredEvent, TidemarkError
from tidemark.ids import segment_of
from tidemark.payloads import to_json

from .case import HOSTILE_IDS, StoreCase, new_name

PAYLOADS: list[Any] = [
    {"nul": "a\0b", "": "empty key", "__proto__": {"x": 1}, "constructor": 2},
    {"lone": "\ud800", "pair": "\U0001f30a", "decomposed": "e\u0301"},
    {"big": 2**53 - 1, "small": -(2**53) + 1, "fraction": 0.1, "huge": 1e300, "tiny": 5e-324, "negative zero": -0.0},
    {"none": None, "true": True, "false": False, "lists": [[], [[]], {}]},
    {"long": "x" * 70_000, "ünïcödé": "日本語 العربية"},
]


class HostileIds(StoreCase):
    async def test_of_traces_sessions_and_items(self) -> None:
        mark = new_name("mark")
        for id in HOSTILE_IDS:
            await self.store.save_event(StoredEvent(id, 1.0, mark, payload={"id": id}))
            await self.store.save_update(StateUpdate(id, id, "PROGRESS", mark, update_id=f"{mark}{id}"[:128]))
        for id in HOSTILE_IDS:
            events = [it for it in await self.store.load_history(id) if it.kind == mark]
            self.assertEqual([(it.trace_id, it.payload) for it in events], [(id, {"id": id})])
            updates = [it for it in await self.store.list_updates(id, task_id=id) if it.content == mark]
            self.assertEqual([(it.session_id, it.task_id) for it in updates], [(id, id)])

    async def test_of_memory_pauses_and_trajectories(self) -> None:
        session = new_name("session")
        for id in HOSTILE_IDS:
            await self.store.save_memory_state(id, {"id": id, "session": session})
            await self.store.save_planner_state(f"{session[:60]}{id}"[:128], {"id": id})
            await self.store.save_trajectory(f"{session}{id}"[:128], session, {"query": id, "steps": []})
        for id in HOSTILE_IDS:
            self.assertEqual(await self.store.load_memory_state(id), {"id": id, "session": session})
            self.assertEqual(await self.store.load_planner_state(f"{session[:60]}{id}"[:128]), {"id": id})
            self.assertEqual((await self.store.get_trajectory(f"{session}{id}"[:128], session)).query, id)

    async def test_of_records_and_runs(self) -> None:
        mark = new_name("mark")
        for id in HOSTILE_IDS:
            await self.store.kv.put(id, {id: mark})
            await self.store.runs.append_event({"runId": id, "eventType": "Note", "idempotencyKey": mark})
        for id in HOSTILE_IDS:
            self.assertEqual(await self.store.kv.get_field(id, id), mark.encode())
            events = await self.store.runs.fetch_events(id)
            self.assertEqual([it["runId"] for it in events if it["idempotencyKey"] == mark], [id])

    async def test_are_rejected_when_invalid(self) -> None:
        store = self.store
        for bad in ("", "a\0b", "\ud800", "x" * 513, 7, None):
            for call in (store.list_tasks, store.load_memory_state, store.runs.fetch_events, store.kv.get):
                failure = await self.failure_of(call(bad))  # type: ignore[operator]
                self.assertEqual(failure.code, "INVALID_ARGUMENT", f"{call} of {bad!r}")

    def test_are_distinct_in_paths(self) -> None:
        segments = [segment_of(id, "id") for id in HOSTILE_IDS]
        self.assertEqual(len(set(segments)), len(HOSTILE_IDS))
        for segment in segments:
            self.assertNotIn(segment, (".", ".."))
            self.assertTrue(segment.isascii() and "/" not in segment and "?" not in segment and "#" not in segment)


class Payloads(StoreCase):
    async def test_are_returned_equal(self) -> None:
        trace = new_name("trace")
        for number, payload in enumerate(PAYLOADS):
            await self.store.save_event(StoredEvent(trace, float(number), "k", payload=payload))
            await self.store.save_memory_state(trace, payload)
            self.assertEqual(await self.store.load_memory_state(trace), payload)
        self.assertEqual([it.payload for it in await self.store.load_history(trace)], PAYLOADS)

    async def test_are_rejected_before_anything_is_sent(self) -> None:
        cycle: list[Any] = []
        cycle.append(cycle)
        deep: Any = 1
        for _ in range(65):
            deep = [deep]
        refused = [
            ({"a": [1, float("nan")]}, "state.a[1]"),
            ({"a": float("inf")}, "state.a"),
            ({"a": {"b": datetime.now(timezone.utc)}}, "state.a.b"),
            ({"a": {1: "one"}}, "state.a"),
            ({"a": {1, 2}}, "state.a"),
            ({"a": b"bytes"}, "state.a"),
            ({"a": cycle}, "state"),
            ({"a": deep}, "state"),
            ("text", "state"),
        ]
        await self.store.close()
        for state, field in refused:
            failure = await self.failure_of(self.store.save_memory_state("key", state))  # type: ignore[arg-type]
            self.assertEqual((failure.code, failure.field), ("INVALID_PAYLOAD", field))


class Conversion(unittest.TestCase):
    def test_of_objects_with_plain_values(self) -> None:
        class Colour(Enum):
            RED = "red"

        class Text(str):
            pass

        @dataclass
        class Point:
            x: int
            colour: Colour

        class Model:
            def model_dump(self, *, mode: str) -> list[str]:
                return [mode]

        class Old:
            def to_dict(self) -> dict[str, Any]:
                return {"point": Point(1, Colour.RED)}

        given = {"t": (1, Text("x")), Colour.RED: Model(), "old": Old()}
        wanted = {"t": [1, "x"], "red": ["json"], "old": {"point": {"x": 1, "colour": "red"}}}
        self.assertEqual(to_json(given, "value"), wanted)

    def test_of_an_object_that_never_ends(self) -> None:
        class Endless:
            def to_dict(self) -> Any:
                return self

        with self.assertRaises(TidemarkError) as caught:
            to_json(Endless(), "value")
        self.assertEqual(caught.exception.code, "INVALID_PAYLOAD")
