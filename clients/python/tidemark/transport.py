"""Calls with a timeout, retried if a retry is safe and may succeed. Every failure is a
`TidemarkError`."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

from .errors import TidemarkError, Write, class_of, invalid_argument
from .http import Address, Connection, Head, ProtocolError
from .ids import check_id, segment_of
from .pool import Pool

# Extra time for the server, which enforces the timeout itself and returns a more precise error.
_GRACE_SECONDS = 0.5
_FIRST_DELAY_SECONDS = 0.025
_LONGEST_DELAY_SECONDS = 1.0
_CONNECTION_FAILURES = (OSError, EOFError, ProtocolError)

Query = Mapping[str, str | int | None]
"""URL parameters; those that are `None` are omitted."""


@dataclass(frozen=True)
class Request:
    """A request to the server."""

    method: str
    path: str
    query: Query = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    write: Write | None = None
    """The write to carry in the error when the response is lost, so that the caller can retry it."""
    is_settled_by_itself: bool = True
    """Whether a retry after a lost response settles the outcome."""


@dataclass(frozen=True)
class Answer:
    """A successful response."""

    body: bytes
    status: int = 200

    def json(self) -> Any:
        """Parses the body as JSON."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise _no_server("its answer is not JSON") from error


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
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether the store was closed."""
        return self._is_closed

    async def close(self) -> None:
        """Ends live reads, then waits for pending calls."""
        self._is_closed = True
        pool = self._pools.get(asyncio.get_running_loop())
        if pool is not None:
            await pool.close()

    async def call(self, request: Request) -> Answer:
        """Sends a request and returns the response. Transient failures are retried within the time limit."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout
        may_be_written = False
        attempts = 0
        while True:
            attempts += 1
            try:
                return await self._attempt(request, deadline)
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
                raise _lost(None) from error
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

    async def _attempt(self, request: Request, deadline: float) -> Answer:
        pool = self._pool()
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
            raise _lost(request.write) from error
        except _CONNECTION_FAILURES as error:
            raise (_unreachable(error) if connection is None else _lost(request.write)) from error
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
        error = _lost(write)
    if may_be_written:
        error.outcome = "unknown"
    error.attempts = attempts
    return error


def _unreachable(error: Exception) -> TidemarkError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return TidemarkError("STORAGE_ERROR", f"What answers there cannot be trusted: {error.verify_message}")
    return TidemarkError("UNAVAILABLE", f"The server cannot be reached ({error}); try again")


def _lost(write: Write | None) -> TidemarkError:
    if write is None:
        return TidemarkError("UNAVAILABLE", "The answer was lost; try again")
    message = "The answer was lost; retry the same write to find out its outcome"
    return TidemarkError("OUTCOME_UNKNOWN", message, write=write)


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
        return _lost(write)
    return _no_server(f"it answers with HTTP {head.status}")


def _no_server(reason: str) -> TidemarkError:
    return TidemarkError("STORAGE_ERROR", f"What answers there is no Tidemark server: {reason}")


def error_of_problem(problem: Mapping[str, Any], write: Write | None) -> TidemarkError:
    """Rebuilds the error of a problem document."""
    code = problem["code"]
    return class_of(code)(
        code,
        str(problem.get("detail", code)),
        field=problem.get("field"),
        rule=problem.get("rule"),
        errors=problem.get("errors", ()),
        current=problem.get("current"),
        write=write if code == "OUTCOME_UNKNOWN" else None,
        problem=problem,
    )
