"""Runs: appended once, read in order, followed across restarts of the server."""

from __future__ import annotations

import asyncio
import unittest
import uuid
from contextlib import aclosing
from typing import Any

from tidemark import StateStore, TidemarkError
from tidemark import runs as runs_module
from tidemark.live import EventParser
from tidemark.transport import Request

from .case import StoreCase, new_name
from .servers import Server


def note(run: str, number: int) -> dict[str, Any]:
    return {"runId": run, "eventType": "Note", "idempotencyKey": f"note-{number}", "payload": {"number": number}}


class LostTail:
    """Responds like a server whose store went back to an earlier head of a run."""

    tenant = None

    def __init__(self) -> None:
        self.seq = 0
        self.rewrites = 0

    async def call(self, request: Request) -> LostTail:
        if request.method == "POST":
            self.seq += 1
        return self

    append = call

    def json(self) -> dict[str, Any]:
        result = {"eventId": "e", "runSeq": self.seq, "persistedAt": "2026-02-16T09:30:00.000Z"}
        return {**result, "idempotent": False, "persisted": True, "seq": self.seq, "rewrites": self.rewrites}


class Heads(unittest.IsolatedAsyncioTestCase):
    async def test_that_went_back_are_reported_once(self) -> None:
        alerts: list[dict[str, Any]] = []
        server = LostTail()
        runs = runs_module.Runs(server, alerts.append)  # type: ignore[arg-type]
        for number in range(5):
            await runs.append_event(note("run", number))
        server.seq = 2
        for number in range(5, 8):
            await runs.append_event(note("run", number))
        expected = {"code": "HEAD_WENT_BACK", "severity": "P1", "tenantId": "default", "runId": "run"}
        self.assertEqual(alerts, [{**expected, "knownSeq": 5, "currentSeq": 3}])

    async def test_that_a_rewrite_explains_are_not_reported(self) -> None:
        alerts: list[dict[str, Any]] = []
        server = LostTail()
        runs = runs_module.Runs(server, alerts.append)  # type: ignore[arg-type]
        for number in range(3):
            await runs.append_event(note("run", number))
        server.seq, server.rewrites = 1, 1
        await runs.append_event(note("run", 4))
        self.assertEqual(alerts, [])


class Runs(StoreCase):
    async def test_number_their_events_and_keep_each_key_once(self) -> None:
        run = new_name("run")
        first = await self.store.runs.append_event(note(run, 1))
        again = await self.store.runs.append_event({**note(run, 1), "payload": {"number": "other"}})
        outcomes = [(it.run_seq, it.persisted, it.idempotent, it.payload_matches) for it in (first, again)]
        self.assertEqual(outcomes, [(1, True, False, True), (1, False, True, False)])
        self.assertEqual((again.event_id, again.persisted_at), (first.event_id, first.persisted_at))
        results = await asyncio.gather(*(self.store.runs.append_event(note(run, n)) for n in range(2, 12)))
        self.assertEqual(sorted(it.run_seq for it in results), list(range(2, 12)))

    async def test_begin_a_new_life_after_they_were_deleted(self) -> None:
        run, runs = new_name("run"), self.store.runs
        await runs.append_event(note(run, 1))
        await self.store.runs._transport.call(Request("DELETE", f"/v1/runs/{run}"))
        self.assertEqual((await self.failure_of(runs.append_event(note(run, 2)))).code, "RUN_DELETED")
        begun = await runs.append_event(note(run, 1), life="new")
        self.assertEqual((begun.run_seq, begun.persisted, begun.life), (1, True, 2))
        self.assertEqual((await runs.append_event(note(run, 2), life=2)).run_seq, 2)
        late = await self.failure_of(runs.append_event(note(run, 3)))
        self.assertEqual((late.code, late.write), ("RUN_DELETED", None))
        self.assertEqual([it["runSeq"] for it in await runs.fetch_events(run, life=2)], [1, 2])
        self.assertEqual(await runs.fetch_events(run, life=1), [])
        snapshot = await runs.project_snapshot(run, life=2)
        self.assertEqual((snapshot["lastEventSeq"], snapshot["life"]), (2, 2))
        self.assertIsNone(await runs.get_snapshot(run, life=1))

    async def test_are_read_by_sequence(self) -> None:
        run = new_name("run")
        for number in range(5):
            await self.store.runs.append_event(note(run, number))
        page = await self.store.runs.fetch_events(run, after_seq=1, limit=2)
        self.assertEqual([(it["runSeq"], it["payload"]) for it in page], [(2, {"number": 1}), (3, {"number": 2})])
        self.assertEqual(await self.store.runs.fetch_events(new_name("run")), [])

    async def test_are_counted(self) -> None:
        plan = new_name("plan")
        for number in range(3):
            scope = {"runId": new_name("run"), "planId": plan, "labels": {"n": str(number % 2)}}
            await self.store.runs.append_event({**scope, "eventType": "RunQueued" if number == 0 else "RunStarted"})
        self.assertEqual(await self.store.runs.count(plan_id=plan), (3, True))
        self.assertEqual(await self.store.runs.count(plan_id=plan, status="PENDING"), (1, True))
        self.assertEqual(await self.store.runs.count(plan_id=plan, labels={"n": "1"}), (1, True))
        self.assertEqual(await self.store.runs.count(plan_id=new_name("plan")), (0, True))

    async def test_expire_by_the_label_of_their_first_event(self) -> None:
        runs = self.store.runs
        expired, kept = new_name("run"), new_name("run")
        await runs.append_event({"runId": expired, "eventType": "RunStarted", "labels": {"tidemark.expires": "20ms any"}})
        await runs.append_event({"runId": kept, "eventType": "RunStarted", "labels": {"tidemark.expires": "20ms"}})
        await asyncio.sleep(0.1)
        self.assertEqual(await runs.fetch_events(expired), [])
        self.assertEqual(len(await runs.fetch_events(kept)), 1)
        late = await self.failure_of(runs.append_event({"runId": expired, "eventType": "Progress"}))
        self.assertEqual(late.code, "RUN_DELETED")
        deleted, cursor = await runs.delete_expired()
        self.assertEqual((deleted >= 1, cursor), (True, None))
        wrong = {"runId": new_name("run"), "eventType": "RunStarted", "labels": {"tidemark.expires": "soon"}}
        self.assertEqual((await self.failure_of(runs.append_event(wrong))).code, "INVALID_ARGUMENT")

    async def test_pass_through_the_feed_with_notices_where_asked(self) -> None:
        run = new_name("run")
        cursor = None
        while (page := await self.store.runs.feed_page(cursor=cursor)).get("next") not in (None, cursor):
            cursor = page["next"]
        await self.store.runs.append_event(note(run, 1))
        await self.store.runs._transport.call(Request("DELETE", f"/v1/runs/{run}"))
        items = (await self.store.runs.feed_page(cursor=cursor, notices=True))["items"]
        notices = [it["notice"] for it in items if it.get("notice", {}).get("runId") == run]
        self.assertEqual([(it["kind"], it["life"]) for it in notices], [("deleted", 1)])
        self.assertTrue(all("event" in it for it in (await self.store.runs.feed_page(cursor=cursor))["items"]))

    async def test_are_listed_by_their_last_update(self) -> None:
        plan = new_name("plan")
        runs = [new_name("run") for _ in range(3)]
        for run in [*runs, runs[0]]:
            await self.store.runs.append_event({"runId": run, "eventType": "Note", "planId": plan})
            await asyncio.sleep(0.01)
        first = await self.store.runs.list_runs(order_by="updatedAt", plan_id=plan, limit=2)
        rest = await self.store.runs.list_runs(order_by="updatedAt", plan_id=plan, cursor=first["next"])
        listed = [it["runId"] for it in [*first["items"], *rest["items"]]]
        self.assertEqual(listed, [runs[0], runs[2], runs[1]])
        created = (await self.store.runs.list_runs(plan_id=plan))["items"]
        self.assertEqual([it["runId"] for it in created], list(reversed(runs)))

    async def test_that_are_intact_are_not_quarantined(self) -> None:
        run = new_name("run")
        await self.store.runs.append_event(note(run, 1))
        listed = await self.store.runs.list_quarantined(state="any", limit=1_000)
        self.assertNotIn(run, [it["runId"] for it in listed])
        self.assertEqual((await self.failure_of(self.store.runs.release_run(run))).code, "NOT_FOUND")

    async def test_have_a_snapshot(self) -> None:
        run = new_name("run")
        self.assertIsNone(await self.store.runs.get_snapshot(run))
        await self.store.runs.append_event({"runId": run, "eventType": "RunStarted"})
        await self.store.runs.append_event({"runId": run, "eventType": "StepStarted", "stepId": "s"})
        snapshot = await self.store.runs.get_snapshot(run)
        assert snapshot is not None
        self.assertEqual((snapshot["runId"], snapshot["status"]), (run, "RUNNING"))

    async def test_rebuild_their_snapshot_and_verify_it(self) -> None:
        run = new_name("run")
        await self.store.runs.append_event({"runId": run, "eventType": "RunStarted"})
        self.assertEqual((await self.store.runs.refresh_snapshot(run))["folded"], 1)
        self.assertEqual((await self.store.runs.refresh_snapshot(run))["folded"], 0)
        self.assertEqual((await self.store.runs.refresh_snapshot(run, full=True))["folded"], 1)
        report = await self.store.runs.verify(run)
        self.assertEqual((report["ok"], report["snapshot"]), (True, {"runSeq": 1, "ok": True}))

    async def test_fill_in_the_envelope_of_an_event(self) -> None:
        run = new_name("run")
        for _ in range(2):
            await self.store.runs.append_event({"runId": run, "eventType": "UserSaid", "payload": {"text": "hi"}})
        keyed = {"runId": run, "eventType": "UserSaid", "idempotencyKey": "message-7"}
        results = [await self.store.runs.append_event(keyed) for _ in range(2)]
        self.assertEqual([(it.run_seq, it.persisted) for it in results], [(3, True), (3, False)])
        events = await self.store.runs.fetch_events(run)
        self.assertEqual(len({it["eventId"] for it in events}), 3)
        for event in events:
            self.assertEqual(uuid.UUID(event["eventId"]).version, 4)
            self.assertRegex(event["emittedAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$")
            filled = [event[it] for it in ("tenantId", "projectId", "environmentId", "planId", "planVersion")]
            self.assertEqual(filled, ["default", "default", "default", "default", "1"])
            self.assertEqual((event["engineAttemptId"], event["logicalAttemptId"]), (1, 1))

    async def test_report_all_faults_of_an_event(self) -> None:
        faulty = {"runId": "", "eventType": "Note", "eventId": "1", "emittedAt": "yesterday", "engineAttemptId": 0}
        failure = await self.failure_of(self.store.runs.append_event(faulty))
        fields = ["runId", "eventId", "emittedAt", "engineAttemptId"]
        self.assertEqual([it["field"] for it in failure.errors], fields)
        self.assertEqual(failure.errors[0], {"field": failure.field, "rule": failure.rule})

    async def test_have_a_snapshot_of_every_sequence(self) -> None:
        run = new_name("run")
        for event_type in ("RunStarted", "RunCompleted"):
            await self.store.runs.append_event({"runId": run, "eventType": event_type})
        snapshots = [await self.store.runs.project_snapshot(run, at_seq=it) for it in (1, None)]
        self.assertEqual([it["status"] for it in snapshots], ["RUNNING", "COMPLETED"])
        failure = await self.failure_of(self.store.runs.project_snapshot(new_name("run")))
        self.assertEqual(failure.code, "RUN_NOT_FOUND")

    async def test_reject_an_append_behind_the_fence(self) -> None:
        run = new_name("run")
        await self.store.runs.append_event(note(run, 1))
        failure = await self.failure_of(self.store.runs.append_event(note(run, 2), expected_seq=0))
        self.assertEqual((failure.code, failure.current, failure.outcome), ("SEQ_CONFLICT", 1, "rejected"))

    async def test_report_which_member_of_an_event_is_wrong(self) -> None:
        failure = await self.failure_of(self.store.runs.append_event({"runId": "r", "eventType": "StepStarted"}))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "stepId"))
        failure = await self.failure_of(self.store.runs.append_event({"eventType": "Note"}))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "runId"))


class Tails(StoreCase):
    async def test_yield_stored_events_and_then_new_ones(self) -> None:
        run = new_name("run")
        for number in range(3):
            await self.store.runs.append_event(note(run, number))
        seen: list[int] = []
        async with aclosing(self.store.runs.tail(run, after_seq=1)) as events:
            async for event in events:
                seen.append(event["runSeq"])
                if event["runSeq"] == 3:
                    await self.store.runs.append_event(note(run, 3))
                if event["runSeq"] == 4:
                    break
        self.assertEqual(seen, [2, 3, 4])

    async def test_end_when_the_store_is_closed(self) -> None:
        run = new_name("run")
        await self.store.runs.append_event(note(run, 0))
        seen = []
        async for event in self.store.runs.tail(run):
            seen.append(event["runSeq"])
            asyncio.get_running_loop().call_later(0.05, lambda: asyncio.create_task(self.store.close()))
        self.assertEqual(seen, [1])

    async def test_end_when_the_store_is_closed_without_a_server(self) -> None:
        store = StateStore("http://127.0.0.1:1")
        asyncio.get_running_loop().call_later(0.2, lambda: asyncio.create_task(store.close()))
        self.assertEqual([event async for event in store.runs.tail("run")], [])

    async def test_disconnect_when_they_are_cancelled(self) -> None:
        async def follow() -> None:
            async for _ in self.store.runs.tail(new_name("run")):
                pass

        following = asyncio.create_task(follow())
        await asyncio.sleep(0.1)
        following.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await following
        await self.store.close()

    async def test_raise_permanent_errors(self) -> None:
        for call in (self.store.runs.tail(""), self.store.runs.tail("run", after_seq=-1)):
            with self.assertRaises(TidemarkError) as caught:
                await anext(call)
            self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")


class Restarts(StoreCase):
    """A tail continues without gaps or repeats while the server is killed, stopped and restarted."""

    WRITES = 300
    RESTARTS = 4

    async def test_leave_no_gap_and_no_repeat(self) -> None:
        server = await asyncio.to_thread(Server)
        self.addCleanup(server.dispose)
        store = StateStore(server.url, timeout=60.0)
        self.addAsyncCleanup(store.close)
        run = "run"
        seen: list[dict[str, Any]] = []

        async def follow() -> None:
            async with aclosing(store.runs.tail(run)) as events:
                async for event in events:
                    seen.append(event)
                    if len(seen) == self.WRITES:
                        return

        async def restart() -> None:
            for number in range(1, self.RESTARTS + 1):
                while len(seen) < number * self.WRITES // (self.RESTARTS + 1):
                    await asyncio.sleep(0.005)
                await asyncio.to_thread(server.kill if number % 2 else server.stop)
                await asyncio.to_thread(server.start)

        following, restarting = asyncio.create_task(follow()), asyncio.create_task(restart())
        for number in range(self.WRITES):
            await store.runs.append_event(note(run, number))
        await asyncio.wait_for(asyncio.gather(following, restarting), 60)
        self.assertEqual([it["runSeq"] for it in seen], list(range(1, self.WRITES + 1)))
        self.assertEqual([it["payload"]["number"] for it in seen], list(range(self.WRITES)))


class EventStreams(unittest.TestCase):
    def test_are_read_from_chunks_of_any_size(self) -> None:
        stream = 'retry: 1000\n\nid: 1\nevent: run.event\ndata: {"a":"ü: "}\n\n:\n\nevent: end\ndata: {}\n\n'.encode()
        for size in range(1, len(stream)):
            parser = EventParser()
            pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
            events = [(it.id, it.event, it.data) for piece in pieces for it in parser.feed(piece)]
            self.assertEqual(events, [("1", "run.event", '{"a":"ü: "}'), ("1", "end", "{}")])
