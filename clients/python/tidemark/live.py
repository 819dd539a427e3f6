"""Live reads. A broken stream reconnects after the last received event, without gaps or repeats."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from .errors import TidemarkError, error_of_problem
from .http import ProtocolError
from .request import Request
from .transport import Transport

_FIRST_BACKOFF_SECONDS = 0.1
_MAX_BACKOFF_SECONDS = 5.0
# The server sends at least a comment every 15 s. After this much silence the connection counts as dead.
_SILENCE_SECONDS = 45.0
# Events about the stream that are not yielded.
_NOT_YIELDED = frozenset({"caught-up", "end"})


@dataclass(frozen=True)
class ServerEvent:
    """An event of a stream. `id` is the last id that was received."""

    id: str | None
    event: str
    data: str


class EventParser:
    """Parses server-sent events from chunks of bytes."""

    def __init__(self) -> None:
        self._rest = b""
        self._id: str | None = None

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Returns the events that are now complete."""
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
    """Yields the events of a stream until the caller stops or the store is closed.

    After a broken connection the stream reconnects with backoff.
    """
    last_id: str | None = None
    backoff = _FIRST_BACKOFF_SECONDS
    while True:
        try:
            async with transport.listen(_resumed(request, last_id)) as pieces:
                parser = EventParser()
                while piece := await _next_piece(pieces):
                    for event in parser.feed(piece):
                        last_id = event.id or last_id
                        backoff = _FIRST_BACKOFF_SECONDS
                        if event.event == "problem":
                            raise error_of_problem(json.loads(event.data), None)
                        if event.event not in _NOT_YIELDED:
                            yield event
        except TidemarkError as error:
            if not error.retryable and not transport.is_closed:
                raise
        except (OSError, EOFError, ProtocolError):
            pass
        if await transport.closed_within(backoff):
            return
        backoff = min(backoff * 2, _MAX_BACKOFF_SECONDS)


def _resumed(request: Request, last_id: str | None) -> Request:
    resuming = {} if last_id is None else {"last-event-id": last_id}
    return replace(request, headers={"accept": "text/event-stream", **resuming})


async def _next_piece(pieces: AsyncIterator[bytes]) -> bytes:
    async with asyncio.timeout(_SILENCE_SECONDS):
        return await anext(pieces, b"")
