"""Calls with a timeout, retried if a retry is safe and may succeed. Every failure is a
`TidemarkError`."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

from .errors import TidemarkError, Write, error_of_problem, invalid_argument, lost, no_server
from .http import Address, Connection, Head, ProtocolError
from .ids import check_id, segment_of
from .pool import Pool
from .request import Answer, Request
from .shared_appends import SharedAppends

# Extra time for the server, which enforces the timeout itself and returns a more precise error.
_GRACE_SECONDS = 0.5
_FIRST_DELAY_SECONDS = 0.025
_LONGEST_DELAY_SECONDS = 1.0
_CONNECTION_FAILURES = (OSError, EOFError, ProtocolError)

class Transport:
    """State shared by all parts of a store: address, credentials, connections."""

    def __init__(self, url: str, token: str | None, tenant: str | None, timeout: float) -> None:
        if not isinstance(timeout, (int, float)) or not 0 < timeout < float("inf"):
            raise invalid_argument("timeout", "a number of seconds above 0")
        if token is not None and not (isinstance(token, str) and token.isascii() and token.isprintable()):
            raise invalid_argument("token", "printable ASCII text")
        self.tenant = None if tenant is None else check_id(tenant, "tenant")
        self._address = Address.parse(url)
        self._timeout = float(timeout)
        self._fixed_headers = _headers({
            "host": self._address.authority,
            "authorization": None if token is None else f"Bearer {token}",
            "tidemark-tenant": None if tenant is None else segment_of(tenant, "tenant"),
        })
        # A connection belongs to the event loop that opened it; a store may outlive several.
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()
        self._appends: WeakKeyDictionary[asyncio.AbstractEventLoop, SharedAppends] = WeakKeyDictionary()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether the store was closed."""
        return self._is_closed

    async def close(self) -> None:
        """Ends live reads, then waits for pending calls."""
        self._is_closed = True
        appends = self._appends.get(asyncio.get_running_loop())
        if appends is not None:
            await appends.drain()
        pool = self._pools.get(asyncio.get_running_loop())
        if pool is not None:
            await pool.close()

    async def call(self, request: Request) -> Answer:
        """Sends a request and returns the response. Transient failures are retried within the time limit."""
        return await self._repeat(request, self._attempt)

    async def append(self, request: Request) -> Answer:
        """Like `call`, for an append, which may share a request with other appends that wait."""
        shared = self._shared_appends()
        return await self._repeat(request, shared.attempt if shared.accepts(request) else self._attempt)

    async def _repeat(self, request: Request, attempt: Callable[[Request, float], Awaitable[Answer]]) -> Answer:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout
        may_be_written = False
        attempts = 0
        while True:
            attempts += 1
            try:
                return await attempt(request, deadline)
            except TidemarkError as error:
                may_be_written = may_be_written or error.outcome == "unknown"
                delay = _delay_after(attempts)
                can_repeat = error.retryable and (error.outcome == "rejected" or request.is_settled_by_itself)
                if not can_repeat or loop.time() + delay >= deadline:
                    final = _final_error(error, request.write, may_be_written, attempts)
                    raise final from (error.__cause__ if final is error else error)
            await asyncio.sleep(delay)

    async def find(self, request: Request) -> Answer | None:
        """Like `call`, but returns `None` if the server does not find the item."""
        try:
            return await self.call(request)
        except TidemarkError as error:
            if error.code in ("NOT_FOUND", "RUN_NOT_FOUND"):
                return None
            raise

    @asynccontextmanager
    async def listen(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yields the chunks of a live response. The connection is closed when the caller leaves the context."""
        pool = self._pool()
        try:
            async with asyncio.timeout(self._timeout):
                connection = await pool.open_live()
        except _CONNECTION_FAILURES as error:
            raise _unreachable(error) from error
        try:
            try:
                async with asyncio.timeout(self._timeout):
                    head = await connection.send(request.method, self._head_of(request, None), b"")
                    if head.status != 200:
                        raise _error_of_answer(head, await connection.read_all(), None)
            except _CONNECTION_FAILURES as error:
                raise lost(None) from error
            yield connection.pieces()
        finally:
            pool.end_live(connection)

    async def closed_within(self, seconds: float) -> bool:
        """Waits, and returns whether the store has been closed by then."""
        if self._is_closed:
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._pool().closed.wait()
        except TimeoutError:
            return False
        return True

    def _pool(self) -> Pool:
        if self._is_closed:
            raise TidemarkError("STORE_CLOSED", "The store is closed; open another to go on")
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = Pool(self._address)
        return pool

    def _shared_appends(self) -> SharedAppends:
        pool = self._pool()
        loop = asyncio.get_running_loop()
        appends = self._appends.get(loop)
        if appends is None:
            # Appends that were accepted are sent even while the store is being closed.
            send = partial(self._attempt, pool=pool)
            appends = self._appends[loop] = SharedAppends(send, _GRACE_SECONDS)
        return appends

    async def _attempt(self, request: Request, deadline: float, pool: Pool | None = None) -> Answer:
        pool = pool or self._pool()
        loop = asyncio.get_running_loop()
        connection: Connection | None = None
        try:
            async with asyncio.timeout_at(deadline + _GRACE_SECONDS):
                connection = await pool.take(fresh=not request.is_settled_by_itself)
                left = max(1, int((deadline - loop.time()) * 1000))
                head = await connection.send(request.method, self._head_of(request, left), request.body or b"")
                body = await connection.read_all()
        except TimeoutError as error:
            if request.write is None or connection is None:
                message = "The call took longer than its time limit and wrote nothing; try again or raise timeout"
                raise TidemarkError("TIMEOUT", message) from error
            raise lost(request.write) from error
        except _CONNECTION_FAILURES as error:
            raise (_unreachable(error) if connection is None else lost(request.write)) from error
        finally:
            if connection is not None:
                pool.give_back(connection)
        if 200 <= head.status < 300:
            return Answer(body, head.status)
        raise _error_of_answer(head, body, request.write)

    def _head_of(self, request: Request, timeout_ms: int | None) -> bytes:
        given = {name: value for name, value in request.query.items() if value is not None}
        target = f"{self._address.prefix}{request.path}{'?' if given else ''}{urlencode(given, quote_via=quote)}"
        headers = _headers({
            "content-type": None if request.body is None else request.content_type,
            "content-length": None if request.body is None else str(len(request.body)),
            "tidemark-timeout": None if timeout_ms is None else str(timeout_ms),
            **request.headers,
        })
        return f"{request.method} {target} HTTP/1.1\r\n{self._fixed_headers}{headers}\r\n".encode("ascii")


def _headers(values: Mapping[str, str | None]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in values.items() if value is not None)


def _delay_after(attempts: int) -> float:
    """Exponential backoff with jitter, so that callers that failed together do not retry together."""
    longest = min(_LONGEST_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 2 ** min(attempts - 1, 30))
    return longest * random.uniform(0.5, 1.0)


def _final_error(error: TidemarkError, write: Write | None, may_be_written: bool, attempts: int) -> TidemarkError:
    """Returns the error to raise. A rejected last attempt does not undo an earlier one that may have written."""
    if may_be_written and error.retryable and error.outcome == "rejected":
        error = lost(write)
    if may_be_written:
        error.outcome = "unknown"
    error.attempts = attempts
    return error


def _unreachable(error: Exception) -> TidemarkError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return TidemarkError("STORAGE_ERROR", f"What answers there cannot be trusted: {error.verify_message}")
    return TidemarkError("UNAVAILABLE", f"The server cannot be reached ({error}); try again")


def _error_of_answer(head: Head, body: bytes, write: Write | None) -> TidemarkError:
    """Returns the error of a failed response from the server, or from a proxy in front of it."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if isinstance(problem, dict) and isinstance(problem.get("code"), str):
        return error_of_problem(problem, write)
    if head.status in (429, 503):
        return TidemarkError("UNAVAILABLE", "The server takes no calls right now; try again")
    if head.status >= 500:
        return lost(write)
    return no_server(f"it answers with HTTP {head.status}")
