"""An event loop in its own thread, for programs that call the synchronous methods."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines for callers that have no event loop. The thread starts with the first call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns the result of a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._started()).result()

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """Yields the items of an asynchronous iterator on demand."""
        while True:
            try:
                yield self.run(_next(items))
            except StopAsyncIteration:
                return

    def stop(self) -> None:
        """Ends the thread. A later call starts another."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="tidemark-langgraph", daemon=True)
                self._thread.start()
            return self._loop


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)
