"""Connections of one event loop, kept open between calls and limited in number."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

from .errors import TidemarkError
from .http import Address, Connection

_MAX_CONNECTIONS = 32
_MAX_CALLS = 10_000
# Well below the minute after which servers and proxies close connections.
_MAX_IDLE_SECONDS = 15.0


class Pool:
    """Lends connections to calls. Live reads have their own connections, so that they never block calls."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._places = asyncio.Semaphore(_MAX_CONNECTIONS)
        self._idle: list[tuple[Connection, float]] = []
        self._live: set[Connection] = set()
        self._calls = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self.closed = asyncio.Event()
        self._loop_end: AsyncGenerator[None, None] | None = None

    async def take(self, *, fresh: bool) -> Connection:
        """Takes a connection, which must be returned to the pool. With `fresh` it opens a new one, because
        the server may be closing an idle one."""
        await self._close_with_loop()
        if self._calls >= _MAX_CALLS:
            raise TidemarkError("OVERLOADED", f"{_MAX_CALLS} calls wait for a connection already; slow down")
        self._calls += 1
        self._quiet.clear()
        try:
            await self._places.acquire()
        except BaseException:
            self._end_call()
            raise
        try:
            return (None if fresh else self._take_idle()) or await Connection.open(self._address)
        except BaseException:
            self._places.release()
            self._end_call()
            raise

    def give_back(self, connection: Connection) -> None:
        """Keeps the connection for the next call if it can be reused."""
        if connection.is_reusable and not self.closed.is_set():
            self._idle.append((connection, time.monotonic()))
        else:
            connection.close()
        self._places.release()
        self._end_call()

    async def open_live(self) -> Connection:
        """Opens a connection for a live read, to be closed with `end_live`."""
        await self._close_with_loop()
        connection = await Connection.open(self._address)
        self._live.add(connection)
        if self.closed.is_set():
            connection.close()
        return connection

    def end_live(self, connection: Connection) -> None:
        """Closes the connection of a live read."""
        self._live.discard(connection)
        connection.close()

    async def close(self) -> None:
        """Ends live reads, then waits for pending calls."""
        self.closed.set()
        for connection in self._live:
            connection.close()
        await self._quiet.wait()
        self._close_idle()
        if self._loop_end is not None:
            await self._loop_end.aclose()

    async def _close_with_loop(self) -> None:
        """Closes the connections that are still open when the event loop ends.

        `asyncio.run` ends pending asynchronous generators while the loop still works. Without
        this, Python would warn about the connections of a store that was not closed.
        """
        if self._loop_end is None:
            self._loop_end = self._until_loop_ends()
            await anext(self._loop_end)

    async def _until_loop_ends(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._close_idle()
            for connection in self._live:
                connection.close()

    def _close_idle(self) -> None:
        for connection, _ in self._idle:
            connection.close()
        self._idle.clear()

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection, since = self._idle.pop()
            if connection.is_reusable and time.monotonic() - since < _MAX_IDLE_SECONDS:
                return connection
            connection.close()
        return None

    def _end_call(self) -> None:
        self._calls -= 1
        if self._calls == 0:
            self._quiet.set()
