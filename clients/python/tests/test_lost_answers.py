"""Lost responses: a write with a key is settled by a retry, and an outcome that cannot be settled is reported."""

from __future__ import annotations

import time
from datetime import timedelta

from tidemark import PlannerEvent, RemoteBinding, StateStore, SteeringEvent, StoredEvent, TaskState

from .case import PATIENCE_SECONDS, StoreCase, new_name
from .servers import LossyProxy, shared_server

SHORT_SECONDS = 2.0
ALWAYS = 1_000_000


class LostAnswers(StoreCase):
    """`self.store` reaches the server; `self.lossy` reaches it through a proxy that loses responses."""

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.proxy = await self.enterAsyncContext(LossyProxy(shared_server().port))
        self.lossy = await self.enterAsyncContext(StateStore(self.proxy.url, timeout=PATIENCE_SECONDS))

    async def short(self) -> StateStore:
        return await self.enterAsyncContext(StateStore(self.proxy.url, timeout=SHORT_SECONDS))

    async def test_every_save_is_done_once(self) -> None:
        name = new_name("name")
        context = {"session_id": name, "task_id": "t"}
        saves = [
            lambda: self.lossy.save_event(StoredEvent(name, 1.0, "k")),
            lambda: self.lossy.save_remote_binding(RemoteBinding(name, None, "t", "http://a")),
            lambda: self.lossy.save_planner_state(name, {"step": 1}),
            lambda: self.lossy.save_memory_state(name, {"turn": 1}),
            lambda: self.lossy.save_task(TaskState("t", name, "RUNNING", "FOREGROUND", 0, context)),
            lambda: self.lossy.save_update({"session_id": name, "task_id": "t", "update_type": "RESULT", "content": 1}),
            lambda: self.lossy.save_steering(SteeringEvent(name, "t", "CANCEL")),
            lambda: self.lossy.save_trajectory(name, name, {"query": "q", "steps": []}),
            lambda: self.lossy.save_planner_event(name, PlannerEvent("finish", 1.0, 0)),
            lambda: self.lossy.runs.append_event({"runId": name, "eventType": "Note"}),
            lambda: self.lossy.save_events_bulk([StoredEvent(name, 2.0, "k"), StoredEvent(name, 3.0, "k")]),
            lambda: self.lossy.kv.set_fields(name, {"a": 1}),
        ]
        for save in saves:
            self.proxy.losses = 2
            await save()
            self.assertEqual(self.proxy.losses, 0)
        self.assertEqual(len(await self.store.load_history(name)), 3)
        self.assertEqual(len(await self.store.list_remote_bindings(name)), 1)
        self.assertEqual(await self.store.load_planner_state(name), {"step": 1})
        self.assertEqual([it.version for it in await self.store.list_memory(name)], [1])
        self.assertEqual(len(await self.store.list_tasks(name)), 1)
        self.assertEqual(len(await self.store.list_updates(name)), 1)
        self.assertEqual(len(await self.store.list_steering(name)), 1)
        self.assertEqual(await self.store.list_traces(name), [name])
        self.assertEqual(len(await self.store.list_planner_events(name)), 1)
        self.assertEqual([it["runSeq"] for it in await self.store.runs.fetch_events(name)], [1])

    async def test_a_pause_consumed_with_a_lost_response_is_returned_on_retry(self) -> None:
        token = new_name("token")
        await self.store.save_planner_state(token, {"step": 1})
        self.proxy.losses = 2
        self.assertEqual(await self.lossy.load_planner_state(token), {"step": 1})
        self.assertEqual(await self.store.load_planner_state(token), {})

    async def test_a_swap_that_won_with_a_lost_response_has_still_won(self) -> None:
        key = new_name("key")
        self.proxy.losses = 1
        self.assertTrue(await self.lossy.kv.compare_and_swap(key, "state", None, "claimed"))
        self.proxy.losses = 1
        self.assertFalse(await self.lossy.kv.compare_and_swap(key, "state", None, "claimed"))

    async def test_a_record_is_written_once_for_a_request(self) -> None:
        key, put, set_field = new_name("key"), new_name("request"), new_name("request")
        hour = timedelta(hours=1)
        revision = await self.store.kv.put(key, {"n": 1}, ttl=hour, request_id=put)
        self.proxy.losses = 1
        self.assertEqual(await self.lossy.kv.put(key, {"n": 1}, ttl=hour, request_id=put), revision)
        revision = await self.store.kv.set_field(key, "n", 2, request_id=set_field)
        self.proxy.losses = 1
        self.assertEqual(await self.lossy.kv.set_field(key, "n", 2, request_id=set_field), revision)

    async def test_a_delete_whose_answer_was_lost_is_done_once(self) -> None:
        key = new_name("key")
        await self.store.kv.put(key, {"n": 1})
        self.proxy.losses = 1
        self.assertTrue(await self.lossy.kv.delete(key))
        await self.store.kv.put(key, {"n": 2})
        request = new_name("request")
        self.assertTrue(await self.store.kv.delete(key, request_id=request))
        await self.store.kv.put(key, {"n": 3})
        self.assertTrue(await self.lossy.kv.delete(key, request_id=request))
        self.assertEqual(await self.store.kv.get_field(key, "n"), b"3")

    async def test_an_append_behind_a_fence_is_settled_by_its_key(self) -> None:
        run = new_name("run")
        self.proxy.losses = 1
        result = await self.lossy.runs.append_event({"runId": run, "eventType": "Note"}, expected_seq=0)
        self.assertEqual((result.run_seq, result.idempotent, result.persisted), (1, True, False))

    async def test_the_same_artifact_has_the_same_reference(self) -> None:
        session = new_name("session")
        self.proxy.losses = 1
        ref = await self.lossy.artifact_store.put_text("hello", scope={"session_id": session})
        refs = await self.store.artifact_store.list(scope={"session_id": session})
        self.assertEqual([it.id for it in refs], [ref.id])

    async def test_reads_are_retried(self) -> None:
        trace = new_name("trace")
        await self.store.save_event(StoredEvent(trace, 1.0, "k"))
        self.proxy.losses = 2
        self.assertEqual(len(await self.lossy.load_history(trace)), 1)

    async def test_a_write_without_a_response_is_unknown_and_its_error_settles_it(self) -> None:
        session = new_name("session")
        store = await self.short()
        self.proxy.losses = ALWAYS
        members = {"session_id": session, "task_id": "t", "update_type": "RESULT", "content": 1}
        started = time.monotonic()
        failure = await self.failure_of(store.save_update(members))
        self.assertLess(time.monotonic() - started, PATIENCE_SECONDS)
        self.assertEqual((failure.code, failure.retryable, failure.outcome), ("OUTCOME_UNKNOWN", True, "unknown"))
        self.assertGreater(failure.attempts, 1)
        assert failure.write is not None
        self.assertEqual(failure.write.method, "save_update")
        await self.store.save_update(**failure.write.arguments)
        self.assertEqual(len(await self.store.list_updates(session)), 1)

    async def test_the_error_of_an_append_carries_the_event_with_its_id(self) -> None:
        run = new_name("run")
        store = await self.short()
        self.proxy.losses = ALWAYS
        failure = await self.failure_of(store.runs.append_event({"runId": run, "eventType": "Note"}))
        assert failure.write is not None
        result = await self.store.runs.append_event(**failure.write.arguments)
        self.assertEqual((result.run_seq, result.idempotent), (1, True))

    async def test_a_later_attempt_that_fails_does_not_undo_the_write(self) -> None:
        key = new_name("key")
        store = await self.short()
        self.proxy.losses = 1
        self.proxy.before_loss = self.proxy.refuse
        failure = await self.failure_of(store.save_memory_state(key, {"turn": 1}))
        self.assertEqual((failure.code, failure.outcome), ("OUTCOME_UNKNOWN", "unknown"))
        self.assertGreater(failure.attempts, 1)
        self.assertEqual(await self.store.load_memory_state(key), {"turn": 1})

    async def test_a_write_that_a_retry_would_not_settle_is_sent_once(self) -> None:
        ref = await self.store.artifact_store.put_text(new_name("text"))
        before = self.proxy.requests
        self.proxy.losses = 1
        failure = await self.failure_of(self.lossy.artifact_store.delete(ref.id))
        self.assertEqual((failure.code, failure.attempts, self.proxy.requests - before), ("OUTCOME_UNKNOWN", 1, 1))
        self.assertFalse(await self.store.artifact_store.exists(ref.id))

    async def test_a_server_that_cannot_be_reached_wrote_nothing(self) -> None:
        store = await self.short()
        await self.proxy.refuse()
        failure = await self.failure_of(store.save_memory_state("key", {}))
        self.assertEqual((failure.code, failure.retryable, failure.outcome), ("UNAVAILABLE", True, "rejected"))

    async def test_a_rejection_after_a_lost_response_has_an_unknown_outcome(self) -> None:
        token = new_name("token")
        self.proxy.losses = 1
        self.proxy.before_loss = lambda: self.store.load_planner_state(token)
        failure = await self.failure_of(self.lossy.save_planner_state(token, {"step": 1}))
        self.assertEqual((failure.code, failure.outcome, failure.attempts), ("TOKEN_CONSUMED", "unknown", 2))
