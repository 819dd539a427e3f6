"""Helpers for the tests: a store on the shared server, unique names, and a helper that catches
failures."""

from __future__ import annotations

import asyncio
import unittest
import uuid
from collections.abc import Awaitable
from typing import Any

from tidemark import StateStore, TidemarkError

from .servers import shared_server

# Other tests run on the same machine, so a call may take long although nothing is wrong.
PATIENCE_SECONDS = 20.0

HOSTILE_IDS = [
    ".",
    "..",
    "~",
    "~.",
    "a/b",
    "%2F",
    "a%b",
    "a?b=c&d#e",
    " leading and trailing ",
    "quote'\"`",
    "*[]{}|:_",
    "line\nbreak\r\ttab",
    "ключ",
    "🌊" * 128,
    "e\u0301",
    "\u00e9",
    "__proto__",
]


def new_name(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex}"


class StoreCase(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        # Otherwise the debug mode of the loop logs every slow step on a busy machine.
        asyncio.get_running_loop().slow_callback_duration = PATIENCE_SECONDS
        self.store = StateStore(shared_server().url, timeout=PATIENCE_SECONDS)
        self.addAsyncCleanup(self.store.close)

    async def failure_of(self, call: Awaitable[Any]) -> TidemarkError:
        with self.assertRaises(TidemarkError) as caught:
            await call
        return caught.exception
