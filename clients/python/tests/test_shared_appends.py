"""Appends that share a request, against a real server."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from tidemark import StateStore, TidemarkError
from tidemark.http import Connection

from .case import PATIENCE_SECONDS, StoreCase, new_name
from .servers import LossyProxy, shared_server


class SharedAppends(StoreCase):
    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.bodies: list[bytes] = []
        self.delay_seconds = 0.0
        send = Connection.send

        async def recorded(connection: Connection, method: str, head: bytes, body: bytes) -> Any:
            if method == "POST" and b"/v1/events" in head:
                self.bodies.append(body)
                if b"\n" in body:
                    await asyncio.sleep(self.delay_seconds)
            return await send(connection, method, head, body)

        Connection.send = recorded  # type: ignore[method-assign]
        self.addCleanup(setattr, Connection, "send", send)

    @property
    def sizes(self) -> list[int]:
        return [body.count(b"\n") or 1 for body in self.bodies]

    def append(self, run_id: str, key: str, **more: Any) -> Any:
        return self.store.runs.append_event({"runId": run_id, "eventType": "Note", "idempotencyKey": key, **more})

    async def test_share_one_request_in_order(self) -> None:
        run_id = new_name("run")
        results = await asyncio.gather(*(self.append(run_id, f"k{n}") for n in range(50)))
        self.assertEqual(self.sizes, [50])
        self.assertEqual([it.run_seq for it in results], list(range(1, 51)))
        stored = await self.store.runs.fetch_events(run_id)
        self.assertEqual([it["idempotencyKey"] for it in stored], [f"k{n}" for n in range(50)])

    async def test_have_an_outcome_each(self) -> None:
        run_id = new_name("run")
        results = await asyncio.gather(
            self.append(run_id, "a"),
            self.append(run_id, "b", engineAttemptId=0),
            self.append(run_id, "a"),
            self.append(run_id, "c"),
            return_exceptions=True,
        )
        self.assertEqual(self.sizes, [4])
        first, bad, again, last = results
        self.assertEqual((first.run_seq, first.idempotent), (1, False))
        self.assertEqual((bad.code, bad.field, bad.outcome), ("INVALID_ARGUMENT", "engineAttemptId", "rejected"))
        self.assertIsInstance(bad, ValueError)
        self.assertEqual((again.run_seq, again.idempotent), (1, True))
        self.assertEqual((last.run_seq, last.persisted), (2, True))

    async def test_a_lone_append_is_sent_at_once_as_a_request_of_its_own(self) -> None:
        run_id = new_name("run")
        for key in ("a", "b", "c"):
            await self.append(run_id, key)
        self.assertEqual([b"\n" in body for body in self.bodies], [False] * 3)

    async def test_options_and_large_events_have_requests_of_their_own(self) -> None:
        run_id = new_name("run")
        event = {"runId": new_name("run"), "eventType": "Note"}
        results = await asyncio.gather(
            self.append(run_id, "a"),
            self.append(run_id, "b"),
            self.store.runs.append_event(event, expected_seq=7),
            self.append(run_id, "large", payload={"text": "x" * 100_000}),
            return_exceptions=True,
        )
        self.assertEqual(sorted(self.sizes), [1, 1, 2])
        self.assertEqual(results[2].code, "SEQ_CONFLICT")

    async def test_requests_have_at_most_a_mebibyte_and_500_events(self) -> None:
        run_id = new_name("run")
        payload = {"text": "x" * 4_000}
        await asyncio.gather(*(self.append(f"{run_id}-{n % 5}", f"k{n}", payload=payload) for n in range(700)))
        self.assertEqual(sum(self.sizes), 700)
        self.assertLessEqual(max(self.sizes), 500)
        self.assertLessEqual(max(map(len, self.bodies)), 1024 * 1024)

    async def test_each_is_done_once_although_responses_are_lost(self) -> None:
        run_id = new_name("run")
        proxy = await self.enterAsyncContext(LossyProxy(shared_server().port))
        lossy = await self.enterAsyncContext(StateStore(proxy.url, timeout=PATIENCE_SECONDS))
        proxy.losses = 2
        results = await asyncio.gather(
            *(lossy.runs.append_event({"runId": run_id, "eventType": "Note"}) for _ in range(10))
        )
        self.assertEqual(proxy.losses, 0)
        self.assertEqual(sorted(it.run_seq for it in results), list(range(1, 11)))
        self.assertEqual(len(await self.store.runs.fetch_events(run_id)), 10)

    async def test_each_unknown_outcome_carries_its_own_write(self) -> None:
        run_id = new_name("run")
        proxy = await self.enterAsyncContext(LossyProxy(shared_server().port))
        short = await self.enterAsyncContext(StateStore(proxy.url, timeout=1.0))
        proxy.losses = 1_000_000
        errors: list[Any] = await asyncio.gather(
            *(
                short.runs.append_event({"runId": run_id, "eventType": "Note", "idempotencyKey": f"k{n}"})
                for n in range(3)
            ),
            return_exceptions=True,
        )
        proxy.losses = 0
        self.assertEqual([error.code for error in errors], ["OUTCOME_UNKNOWN"] * 3)
        self.assertEqual(len({id(error) for error in errors}), 3)
        for n, error in enumerate(errors):
            self.assertEqual(error.write.arguments["event"]["idempotencyKey"], f"k{n}")
            again = await self.store.runs.append_event(**error.write.arguments)
            self.assertTrue(again.idempotent)
        self.assertEqual(len(await self.store.runs.fetch_events(run_id)), 3)

    async def test_a_slow_request_does_not_stop_the_others(self) -> None:
        run_id = new_name("run")
        self.delay_seconds = 1.0
        slow = asyncio.gather(self.append(run_id, "a"), self.append(run_id, "b"))
        await asyncio.sleep(0.01)
        other = await self.append(new_name("run"), "c")
        self.assertFalse(slow.done())
        self.assertEqual(other.run_seq, 1)
        await slow

    async def test_a_cancelled_append_ends_only_itself(self) -> None:
        run_id = new_name("run")
        self.delay_seconds = 0.2
        kept = [asyncio.create_task(self.append(run_id, f"k{n}")) for n in range(3)]
        cancelled = asyncio.create_task(self.append(run_id, "cancelled"))
        await asyncio.sleep(0.05)
        cancelled.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await cancelled
        self.assertEqual({it.run_seq for it in await asyncio.gather(*kept)} <= {1, 2, 3, 4}, True)
        gc.collect()

    async def test_accepted_appends_are_sent_while_the_store_is_closed(self) -> None:
        run_id = new_name("run")
        store = StateStore(shared_server().url, timeout=PATIENCE_SECONDS)
        calls = [
            asyncio.create_task(store.runs.append_event({"runId": run_id, "eventType": "Note"})) for _ in range(5)
        ]
        await asyncio.sleep(0)
        await store.close()
        self.assertEqual(len(await asyncio.gather(*calls)), 5)
        with self.assertRaises(TidemarkError) as caught:
            await store.runs.append_event({"runId": run_id, "eventType": "Note"})
        self.assertEqual(caught.exception.code, "STORE_CLOSED")
