"""Appends that wait at the same time share one request with one outcome each. A lone append is sent at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from .errors import TidemarkError, Write, error_of_problem, lost
from .request import Answer, Request

LINES_TYPE = "application/x-ndjson"

_MOST_EVENTS = 500
_MOST_BYTES = 1024 * 1024
# Larger events are sent in their own requests. Servers limit lines more strictly than bodies.
_MOST_EVENT_BYTES = 64 * 1024
# After this time without an answer, the next group is sent too, so that one slow request does not stop the others.
_STALLED_SECONDS = 0.1
_MOST_WAITING = 10_000

Send = Callable[[Request, float], Awaitable[Answer]]
"""Sends a request before a deadline of the event loop."""


class _Append:
    """An append that waits for its outcome."""

    def __init__(self, request: Request, deadline: float) -> None:
        self.request = request
        self.deadline = deadline
        self.is_sent = False
        self.outcome: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    @property
    def body(self) -> bytes:
        return self.request.body or b""

    @property
    def write(self) -> Write | None:
        return self.request.write

    def succeed(self, answer: Answer) -> None:
        if not self.outcome.done():
            self.outcome.set_result(answer)

    def fail(self, error: BaseException) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(error)


class SharedAppends:
    """The appends of one event loop."""

    def __init__(self, send: Send, grace_seconds: float) -> None:
        self._send = send
        self._grace_seconds = grace_seconds
        self._waiting: list[_Append] = []
        self._runner: asyncio.Task[None] | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    @staticmethod
    def accepts(request: Request) -> bool:
        """Whether an append may share a request: it has no parameters and is not large."""
        return not any(value is not None for value in request.query.values()) and (
            request.body is not None and len(request.body) <= _MOST_EVENT_BYTES
        )

    async def attempt(self, request: Request, deadline: float) -> Answer:
        """Sends an append, together with others that wait, and returns its own outcome."""
        if len(self._waiting) >= _MOST_WAITING:
            raise TidemarkError("OVERLOADED", f"{_MOST_WAITING} appends are waiting already; slow down")
        append = _Append(request, deadline)
        self._waiting.append(append)
        if self._runner is None:
            self._runner = asyncio.create_task(self._run())
        try:
            async with asyncio.timeout_at(deadline + self._grace_seconds):
                return await append.outcome
        except TimeoutError as error:
            if append.is_sent:
                raise lost(append.write) from error
            message = "The append waited longer than its time limit and wrote nothing; try again or raise timeout"
            raise TidemarkError("TIMEOUT", message) from error
        finally:
            # The caller may have been cancelled.
            if not append.is_sent:
                self._waiting = [it for it in self._waiting if it is not append]

    async def drain(self) -> None:
        """Waits until every append has its outcome."""
        while self._runner is not None or self._under_way:
            tasks = {*self._under_way, *(() if self._runner is None else (self._runner,))}
            await asyncio.wait(tasks)

    async def _run(self) -> None:
        try:
            while self._waiting:
                task = asyncio.create_task(self._send_group(self._take()))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
                await asyncio.wait({task}, timeout=_STALLED_SECONDS)
                # Callers that this request has answered may append again.
                await asyncio.sleep(0)
        finally:
            self._runner = None

    def _take(self) -> list[_Append]:
        group: list[_Append] = []
        size = 0
        for append in self._waiting[:_MOST_EVENTS]:
            size += len(append.body) + 1
            if group and size > _MOST_BYTES:
                break
            group.append(append)
        self._waiting = self._waiting[len(group) :]
        for append in group:
            append.is_sent = True
        return group

    async def _send_group(self, group: list[_Append]) -> None:
        # The latest deadline of the callers applies, so that a caller with a short deadline cannot end the other calls.
        deadline = max(append.deadline for append in group)
        try:
            if len(group) == 1:
                group[0].succeed(await self._send(group[0].request, deadline))
            else:
                _settle(group, await self._send(_lines_of(group), deadline))
        except TidemarkError as error:
            for append in group:
                append.fail(error.for_write(append.write))
        except BaseException as error:
            for append in group:
                append.fail(lost(append.write))
            if not isinstance(error, Exception):
                raise


def _lines_of(group: list[_Append]) -> Request:
    body = b"".join(append.body + b"\n" for append in group)
    headers = {"accept": LINES_TYPE}
    # Each caller gets the error with its own write.
    return Request("POST", "/v1/events", body=body, content_type=LINES_TYPE, headers=headers, write=group[0].write)


def _settle(group: list[_Append], answer: Answer) -> None:
    """Settles each append with the outcome of its line."""
    lines = answer.body.splitlines()
    for append, line in zip(group, lines, strict=False):
        outcome: Any = json.loads(line)
        if not isinstance(outcome, dict) or "status" not in outcome:
            # The request failed midway. The preceding lines have been answered.
            break
        problem = outcome.get("problem")
        if problem is None:
            append.succeed(Answer(line, outcome["status"]))
        else:
            append.fail(error_of_problem(problem, append.write))
    for append in group:
        append.fail(lost(append.write))

