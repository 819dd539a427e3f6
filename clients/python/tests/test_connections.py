"""Connections: reused, limited in number, abandoned in time, and never mixed up between calls."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
import unittest
import unittest.mock
import warnings
from pathlib import Path

from tidemark import StateStore, TidemarkError

from .case import PATIENCE_SECONDS, StoreCase, new_name
from .servers import CannedPeer, LossyProxy, shared_server

SHORT_SECONDS = 1.0
OK = b"HTTP/1.1 200 OK\r\n"
STATE = b'{"key":"k","state":{"a":1},"version":1,"updatedAt":"2026-02-16T09:30:00.000Z"}'


class Connections(StoreCase):
    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.proxy = await self.enterAsyncContext(LossyProxy(shared_server().port))
        self.proxied = await self.enterAsyncContext(StateStore(self.proxy.url, timeout=PATIENCE_SECONDS))

    async def test_are_kept_between_calls(self) -> None:
        for _ in range(10):
            await self.proxied.load_memory_state("unknown")
        self.assertEqual((self.proxy.requests, self.proxy.connections), (10, 1))

    async def test_are_bounded_in_number(self) -> None:
        self.proxy.slowness = 0.02
        await asyncio.gather(*(self.proxied.load_memory_state("unknown") for _ in range(200)))
        self.assertEqual((self.proxy.requests, self.proxy.connections), (200, 32))

    async def test_that_were_dropped_while_idle_are_replaced(self) -> None:
        key = new_name("key")
        await self.proxied.save_memory_state(key, {"turn": 1})
        self.proxy.hang_up()
        await asyncio.sleep(0.05)
        await self.proxied.save_memory_state(key, {"turn": 2})
        self.assertEqual(await self.proxied.load_memory_state(key), {"turn": 2})

    async def test_of_a_cancelled_call_are_not_reused(self) -> None:
        keys = [new_name("key") for _ in range(2)]
        for key in keys:
            await self.store.save_memory_state(key, {"key": key})
        self.proxy.slowness = 0.1
        call = asyncio.create_task(self.proxied.load_memory_state(keys[0]))
        while self.proxy.requests == 0:
            await asyncio.sleep(0.005)
        call.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await call
        self.assertEqual(await self.proxied.load_memory_state(keys[1]), {"key": keys[1]})

    async def test_are_waited_for_when_the_store_is_closed(self) -> None:
        key = new_name("key")
        self.proxy.slowness = 0.1
        call = asyncio.create_task(self.proxied.save_memory_state(key, {"turn": 1}))
        await asyncio.sleep(0.05)
        await asyncio.gather(self.proxied.close(), self.proxied.close())
        self.assertTrue(call.done())
        self.assertEqual(await self.store.load_memory_state(key), {"turn": 1})
        failure = await self.failure_of(self.proxied.load_memory_state(key))
        self.assertEqual((failure.code, failure.retryable), ("STORE_CLOSED", False))

    async def test_respond_to_a_ping_as_long_as_the_server_does(self) -> None:
        self.assertTrue(await self.proxied.ping())
        await self.proxy.refuse()
        self.proxy.hang_up()
        store = await self.enterAsyncContext(StateStore(self.proxy.url, timeout=SHORT_SECONDS))
        self.assertFalse(await store.ping())
        await store.close()
        self.assertEqual((await self.failure_of(store.ping())).code, "STORE_CLOSED")

    async def test_that_never_answer_time_out(self) -> None:
        peer = await self.enterAsyncContext(CannedPeer(None))
        store = await self.enterAsyncContext(StateStore(peer.url, timeout=SHORT_SECONDS))
        for call, code in ((store.load_history("t"), "TIMEOUT"), (store.save_memory_state("k", {}), "OUTCOME_UNKNOWN")):
            started = time.monotonic()
            failure = await self.failure_of(call)
            self.assertEqual(failure.code, code)
            self.assertGreaterEqual(time.monotonic() - started, SHORT_SECONDS)


class Loops(unittest.TestCase):
    def test_may_come_and_go_under_one_store(self) -> None:
        store = StateStore(shared_server().url, timeout=PATIENCE_SECONDS)
        key = new_name("key")

        async def save_and_load(turn: int) -> None:
            await store.save_memory_state(key, {"turn": turn})
            self.assertEqual(await store.load_memory_state(key), {"turn": turn})

        for turn in range(3):
            asyncio.run(save_and_load(turn))
        asyncio.run(store.close())

    def test_end_without_complaints_under_a_store_that_was_not_closed(self) -> None:
        program = f"""
import asyncio, gc
from contextlib import aclosing
from tidemark import StateStore

store = StateStore({shared_server().url!r}, timeout={PATIENCE_SECONDS})

async def main():
    await asyncio.gather(*(store.load_memory_state("unknown") for _ in range(3)))
    await store.runs.append_event({{"runId": "open-tail", "eventType": "RunStarted"}})
    tail = store.runs.tail("open-tail")
    await anext(tail)

for _ in range(2):
    asyncio.run(main())
loop = asyncio.new_event_loop()
loop.run_until_complete(store.load_memory_state("unknown"))
loop.run_until_complete(loop.shutdown_asyncgens())
loop.close()
del store, loop
gc.collect()
"""
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-c", program],
            cwd=Path(__file__).resolve().parents[1],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_that_were_closed_before_their_connections_cause_no_errors(self) -> None:
        store = StateStore(shared_server().url, timeout=PATIENCE_SECONDS)
        loop = asyncio.new_event_loop()
        loop.run_until_complete(store.load_memory_state("unknown"))
        loop.close()
        del loop
        failures: list[object] = []
        with warnings.catch_warnings(), unittest.mock.patch.object(sys, "unraisablehook", failures.append):
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
            asyncio.run(store.close())
        self.assertEqual(failures, [])


class Answers(StoreCase):
    async def state_of(self, answer: bytes, timeout: float) -> object:
        peer = await self.enterAsyncContext(CannedPeer(answer))
        store = await self.enterAsyncContext(StateStore(peer.url, timeout=timeout))
        return await store.load_memory_state("k")

    async def test_are_read_in_every_form_of_http(self) -> None:
        length = f"Content-Length: {len(STATE)}\r\n\r\n".encode()
        chunks = b"".join(f"{len(part):x};x=y\r\n".encode() + part + b"\r\n" for part in (STATE[:7], STATE[7:]))
        answers = {
            "length": OK + length + STATE,
            "chunks": OK + b"Transfer-Encoding: Chunked\r\n\r\n" + chunks + b"0\r\nTrailer: x\r\n\r\n",
            "until the end": b"HTTP/1.0 200 OK\r\n\r\n" + STATE,
            "after a word in between": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK + length + STATE,
        }
        for name, answer in answers.items():
            with self.subTest(name):
                self.assertEqual(await self.state_of(answer, PATIENCE_SECONDS), {"a": 1})

    async def test_that_end_too_early_are_lost(self) -> None:
        answers = {
            "nothing": b"",
            "half a head": OK,
            "half a body": OK + b"Content-Length: 100\r\n\r\n" + STATE[:50],
            "half the chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n" + STATE[:5] + b"\r\n",
            "no number": OK + b"Content-Length: many\r\n\r\n",
            "something else": b"SSH-2.0-OpenSSH\r\n\r\n",
        }
        for name, answer in answers.items():
            with self.subTest(name):
                self.assertEqual((await self.failure_of(self.state_of(answer, SHORT_SECONDS))).code, "UNAVAILABLE")

    async def test_of_a_proxy_are_distinguished_from_those_of_the_server(self) -> None:
        async def failure_of_write(status: str) -> TidemarkError:
            answer = f"HTTP/1.1 {status}\r\nContent-Length: 6\r\n\r\n<html>".encode()
            peer = await self.enterAsyncContext(CannedPeer(answer))
            store = await self.enterAsyncContext(StateStore(peer.url, timeout=SHORT_SECONDS))
            return await self.failure_of(store.save_memory_state("k", {}))

        with self.subTest("no JSON"):
            failure = await self.failure_of(self.state_of(OK + b"\r\n<html>", SHORT_SECONDS))
            self.assertEqual(failure.code, "STORAGE_ERROR")
        codes = [(await failure_of_write(it)).code for it in ("404 Not Found", "502 Bad Gateway", "503 Unavailable")]
        self.assertEqual(codes, ["STORAGE_ERROR", "OUTCOME_UNKNOWN", "UNAVAILABLE"])


class Settings(unittest.TestCase):
    def test_are_checked(self) -> None:
        urls = ["ftp://host", "host:80", "http://", "http://u:p@host", "http://host/?a=b", "http://h:x", "http://é", 7]
        for url in urls:
            with self.subTest(url), self.assertRaises(TidemarkError) as caught:
                StateStore(url)  # type: ignore[arg-type]
            self.assertEqual((caught.exception.code, caught.exception.field), ("INVALID_ARGUMENT", "url"))
        for field, value in (("timeout", 0), ("timeout", float("inf")), ("token", "a\r\nb: c"), ("tenant", "")):
            with self.subTest(field), self.assertRaises(TidemarkError) as caught:
                StateStore("http://127.0.0.1:1", **{field: value})
            self.assertEqual((caught.exception.code, caught.exception.field), ("INVALID_ARGUMENT", field))
