"""Live reads: a stream that breaks is connected again after the last thing that was seen, without gap or repeat."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from .errors import TidemarkError
from .http import ProtocolError
from .transport import Request, Transport, error_of_problem

_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0
# The server says something at least every 15 s; so much silence means that nobody is there.
_SILENCE_SECONDS = 45.0
# What a stream tells of itself, besides what it was asked for.
_ASIDE = frozenset({"caught-up", "end"})


@dataclass(frozen=True)
class ServerEvent:
    """An event of a stream; `id` is the last one that was told so far."""

    id: str | None
    event: str
    data: str


class EventParser:
    """Server-sent events out of bytes that come in pieces."""

    def __init__(self) -> None:
        self._rest = b""
        self._id: str | None = None

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that are complete now."""
        *blocks, self._rest = (self._rest + piece).split(b"\n\n")
        return [event for event in map(self._parse, blocks) if event.data]

    def _parse(self, block: bytes) -> ServerEvent:
        event, data = "message", ""
        for line in block.decode().split("\n"):
            name, _, value = line.partition(": ")
            if name == "id":
                self._id = value
            elif name == "event":
                event = value
            elif name == "data":
                data += value
        return ServerEvent(self._id, event, data)


async def follow(transport: Transport, request: Request) -> AsyncIterator[ServerEvent]:
    """The events of a stream until the caller leaves or the store is closed.

    A broken connection is no error: the stream goes on as soon as the server is there again.
    """
    last_id: str | None = None
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            async with transport.listen(_resumed(request, last_id)) as pieces:
                parser = EventParser()
                while piece := await _next_piece(pieces):
                    for event in parser.feed(piece):
                        last_id = event.id or last_id
                        pause = _FIRST_PAUSE_SECONDS
                        if event.event == "problem":
                            raise error_of_problem(json.loads(event.data), None)
                        if event.event not in _ASIDE:
                            yield event
        except TidemarkError as error:
            if not error.retryable and not transport.is_closed:
                raise
        except (OSError, EOFError, ProtocolError):
            pass
        if await transport.closed_within(pause):
            return
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


def _resumed(request: Request, last_id: str | None) -> Request:
    resuming = {} if last_id is None else {"last-event-id": last_id}
    return replace(request, headers={"accept": "text/event-stream", **resuming})


async def _next_piece(pieces: AsyncIterator[bytes]) -> bytes:
    async with asyncio.timeout(_SILENCE_SECONDS):
        return await anext(pieces, b"")
