"""Pauses are consumed once, and memory states are kept exactly."""

from __future__ import annotations

import asyncio

from tidemark import StateStore

from .case import PATIENCE_SECONDS, StoreCase, new_name
from .servers import shared_server


class Pauses(StoreCase):
    async def test_returns_a_pause_once(self) -> None:
        token = new_name("token")
        payload = {"trajectory": {"steps": []}, "reason": "approval", "constraints": None}
        await self.store.save_planner_state(token, payload)
        self.assertEqual(await self.store.load_planner_state(token), payload)
        self.assertEqual(await self.store.load_planner_state(token), {})

    async def test_returns_nothing_for_an_unknown_token(self) -> None:
        self.assertEqual(await self.store.load_planner_state(new_name("token")), {})

    async def test_returns_none_for_an_unknown_or_used_token_where_asked(self) -> None:
        token = new_name("token")
        async with StateStore(shared_server().url, timeout=PATIENCE_SECONDS, missing_pause="none") as newer:
            self.assertIsNone(await newer.load_planner_state(token))
            await newer.save_planner_state(token, {"step": 1})
            self.assertEqual(await newer.load_planner_state(token), {"step": 1})
            self.assertIsNone(await newer.load_planner_state(token))
        with self.assertRaises(ValueError):
            StateStore(shared_server().url, missing_pause="maybe")  # type: ignore[arg-type]

    async def test_returns_a_pause_to_exactly_one_of_20_concurrent_loads(self) -> None:
        token = new_name("token")
        await self.store.save_planner_state(token, {"step": 1})
        async with StateStore(shared_server().url, timeout=PATIENCE_SECONDS) as other:
            loads = [(self.store if n % 2 else other).load_planner_state(token) for n in range(20)]
            results = await asyncio.gather(*loads)
        self.assertEqual([it for it in results if it], [{"step": 1}])

    async def test_returns_it_again_to_the_same_request(self) -> None:
        token, request = new_name("token"), new_name("request")
        await self.store.save_planner_state(token, {"step": 1})
        for _ in range(2):
            self.assertEqual(await self.store.load_planner_state(token, request_id=request), {"step": 1})
        self.assertEqual(await self.store.load_planner_state(token, request_id=new_name("request")), {})

    async def test_the_last_save_of_a_waiting_token_wins_and_a_consumed_one_is_rejected(self) -> None:
        token = new_name("token")
        await self.store.save_planner_state(token, {"step": 1})
        await self.store.save_planner_state(token, {"step": 2})
        self.assertEqual(await self.store.load_planner_state(token), {"step": 2})
        failure = await self.failure_of(self.store.save_planner_state(token, {"step": 3}))
        self.assertEqual((failure.code, failure.outcome), ("TOKEN_CONSUMED", "rejected"))

    async def test_accepts_only_an_object(self) -> None:
        failure = await self.failure_of(self.store.save_planner_state(new_name("token"), []))  # type: ignore[arg-type]
        self.assertEqual((failure.code, failure.field), ("INVALID_PAYLOAD", "payload"))


class Memory(StoreCase):
    async def test_returns_the_last_state_and_none_for_an_unknown_key(self) -> None:
        key = f"{new_name('tenant')}:user:session"
        self.assertIsNone(await self.store.load_memory_state(key))
        await self.store.save_memory_state(key, {"turns": []})
        state = {"turns": [{"role": "user", "content": "hello"}], "summary": None, "version": 1}
        await self.store.save_memory_state(key, state)
        self.assertEqual(await self.store.load_memory_state(key), state)

    async def test_lists_keys_in_byte_order(self) -> None:
        prefix = new_name("tenant")
        for name in ("é", "b", "a"):
            await self.store.save_memory_state(f"{prefix}:{name}", {})
        await self.store.save_memory_state(f"{prefix}:a", {"again": True})
        listed = await self.store.list_memory(prefix)
        versions = [(it.key, it.version) for it in listed]
        self.assertEqual(versions, [(f"{prefix}:a", 2), (f"{prefix}:b", 1), (f"{prefix}:é", 1)])
        self.assertIsNotNone(listed[0].updated_at.utcoffset())

    async def test_lists_more_keys_than_fit_in_a_page(self) -> None:
        prefix = new_name("tenant")
        keys = [f"{prefix}:{number:04}" for number in range(1_001)]
        for start in range(0, len(keys), 100):
            await asyncio.gather(*(self.store.save_memory_state(key, {}) for key in keys[start : start + 100]))
        self.assertEqual([it.key for it in await self.store.list_memory(prefix)], keys)
