"""Tasks, updates, steering and trajectories of sessions."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from enum import Enum

from tidemark import StateUpdate, SteeringEvent, TaskState

from .case import StoreCase, new_name

NOON = datetime(2026, 2, 16, 12, 0, 0, 123456, tzinfo=timezone.utc)


class Status(str, Enum):
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"


def task(session: str, task_id: str, status: str = Status.RUNNING, at: datetime = NOON) -> TaskState:
    context = {"session_id": session, "task_id": task_id}
    return TaskState(task_id, session, status, "BACKGROUND", 1, context, created_at=NOON, updated_at=at)


def update(session: str, update_id: str, task_id: str = "t") -> StateUpdate:
    return StateUpdate(session, task_id, "PROGRESS", {"of": update_id}, update_id=update_id, created_at=NOON)


class Tasks(StoreCase):
    async def test_returns_saved_tasks_in_order_of_creation(self) -> None:
        session = new_name("session")
        first = task(session, "b")
        first.result, first.progress, first.description, first.trace_id = {"n": [1]}, {"done": 1}, "d", "trace"
        await self.store.save_task(first)
        await self.store.save_task(task(session, "a"))
        stored, second = await self.store.list_tasks(session)
        self.assertEqual([stored.task_id, second.task_id], ["b", "a"])
        self.assertEqual((stored.status, stored.task_type, stored.priority), ("RUNNING", "BACKGROUND", 1))
        self.assertEqual((stored.result, stored.progress), ({"n": [1]}, {"done": 1}))
        self.assertEqual((stored.description, stored.trace_id, stored.error), ("d", "trace", None))
        self.assertEqual((stored.created_at, stored.updated_at), (NOON, NOON))

    async def test_an_older_save_changes_nothing(self) -> None:
        session = new_name("session")
        await self.store.save_task(task(session, "t", Status.COMPLETE, NOON + timedelta(seconds=1)))
        await self.store.save_task(task(session, "t", Status.RUNNING, NOON))
        (stored,) = await self.store.list_tasks(session)
        self.assertEqual(stored.status, "COMPLETE")

    async def test_accepts_times_of_any_zone_and_rejects_those_without(self) -> None:
        session = new_name("session")
        await self.store.save_task(task(session, "t", at=NOON.astimezone(timezone(timedelta(hours=5)))))
        (stored,) = await self.store.list_tasks(session)
        self.assertEqual(stored.updated_at, NOON)
        failure = await self.failure_of(self.store.save_task(task(session, "t", at=NOON.replace(tzinfo=None))))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "updatedAt"))

    async def test_is_empty_for_an_unknown_session(self) -> None:
        for read in (self.store.list_tasks, self.store.list_updates, self.store.list_steering, self.store.list_traces):
            self.assertEqual(await read(new_name("session")), [])


class Updates(StoreCase):
    async def test_pages_after_a_cursor_without_skipping(self) -> None:
        session = new_name("session")
        for number in range(7):
            await self.store.save_update(update(session, f"u{number}"))
        seen: list[str] = []
        while page := await self.store.list_updates(session, since_id=seen[-1] if seen else None, limit=3):
            seen += [it.update_id for it in page]
        self.assertEqual(seen, [f"u{number}" for number in range(7)])

    async def test_an_unknown_cursor_means_from_the_start_and_a_task_is_filtered_after_it(self) -> None:
        session = new_name("session")
        for number in range(4):
            await self.store.save_update(update(session, f"u{number}", "even" if number % 2 == 0 else "odd"))
        ids = [it.update_id for it in await self.store.list_updates(session, since_id="nobody knows")]
        self.assertEqual(ids, ["u0", "u1", "u2", "u3"])
        after = await self.store.list_updates(session, task_id="even", since_id="u1")
        self.assertEqual([it.update_id for it in after], ["u2"])

    async def test_the_first_of_an_id_wins(self) -> None:
        session = new_name("session")
        await self.store.save_update(update(session, "u"))
        again = update(session, "u")
        again.content = {"of": "another"}
        await self.store.save_update(again)
        (stored,) = await self.store.list_updates(session)
        self.assertEqual((stored.content, stored.update_type, stored.created_at), ({"of": "u"}, "PROGRESS", NOON))

    async def test_adds_an_id_and_a_time_to_a_mapping_without(self) -> None:
        session = new_name("session")
        members = {"session_id": session, "task_id": "t", "update_type": "RESULT", "content": "text"}
        await self.store.save_update(members)
        await self.store.save_update(members)
        ids = {it.update_id for it in await self.store.list_updates(session)}
        self.assertEqual(len(ids), 2)

    async def test_rejects_a_limit_out_of_range(self) -> None:
        for limit in (0, 10_001):
            failure = await self.failure_of(self.store.list_updates("s", limit=limit))
            self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "limit"))


class Steering(StoreCase):
    async def test_keeps_order_and_sanitises_payloads(self) -> None:
        session = new_name("session")
        sent = SteeringEvent(session, "t", "USER_MESSAGE", "e1", {"text": "x" * 10_000}, "trace", "operator", NOON)
        await self.store.save_steering(sent)
        await self.store.save_steering(SteeringEvent(session, "t", "CANCEL", "e2"))
        first, second = await self.store.list_steering(session)
        self.assertEqual([first.event_id, second.event_id], ["e1", "e2"])
        self.assertEqual((first.event_type, first.source, first.trace_id), ("USER_MESSAGE", "operator", "trace"))
        self.assertEqual((first.created_at, second.payload, second.source), (NOON, {}, "user"))
        self.assertLess(len(first.payload["text"]), 5_000)
        after = await self.store.list_steering(session, task_id="t", since_id="e1", limit=1)
        self.assertEqual([it.event_id for it in after], ["e2"])


class Trajectories(StoreCase):
    async def test_belong_to_one_session_and_are_listed_by_their_last_save(self) -> None:
        session, (first, second) = new_name("session"), (new_name("trace"), new_name("trace"))
        trajectory = {"query": "q", "steps": [], "metadata": {"a": 1}}
        for trace in (first, second, first):
            await self.store.save_trajectory(trace, session, trajectory)
        self.assertEqual(await self.store.list_traces(session), [first, second])
        self.assertEqual(await self.store.list_traces(session, limit=1), [first])
        stored = await self.store.get_trajectory(first, session)
        self.assertEqual((stored.query, stored.metadata, stored.serialise()["steps"]), ("q", {"a": 1}, []))
        self.assertIsNone(await self.store.get_trajectory(first, new_name("session")))
        self.assertIsNone(await self.store.get_trajectory(new_name("trace"), session))
        failure = await self.failure_of(self.store.save_trajectory(first, new_name("session"), trajectory))
        self.assertEqual(failure.code, "SESSION_MISMATCH")

    async def test_accepts_objects_that_serialise_themselves(self) -> None:
        class Own:
            def serialise(self) -> dict[str, object]:
                return {"query": "own", "steps": []}

        session, trace = new_name("session"), new_name("trace")
        await self.store.save_trajectory(trace, session, Own())
        stored = await self.store.get_trajectory(trace, session)
        self.assertEqual(stored.query, "own")
        again = new_name("trace")
        await self.store.save_trajectory(again, session, stored)
        self.assertEqual((await self.store.get_trajectory(again, session)).query, "own")
