"""HTTP/1.1 over asyncio streams: one exchange at a time per connection, with bodies read
completely or as they arrive."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from .errors import invalid_argument

_HEAD_END = b"\r\n\r\n"
_MAX_HEAD_BYTES = 256 * 1024
_PIECE_BYTES = 64 * 1024


class ProtocolError(Exception):
    """The response is not HTTP."""


@dataclass(frozen=True)
class Address:
    """Address of a server."""

    host: str
    port: int
    is_secure: bool
    authority: str
    """Value of the `Host` header."""
    prefix: str
    """Path prefix that a proxy adds, without a trailing slash."""

    @classmethod
    def parse(cls, url: object) -> Address:
        """Parses an http: or https: URL."""
        rule = "an http: or https: URL without query, fragment and user"
        if not isinstance(url, str) or not (url.isascii() and url.isprintable()) or " " in url:
            raise invalid_argument("url", rule)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise invalid_argument("url", rule) from error
        is_plain = not (parts.query or parts.fragment or parts.username is not None or parts.password is not None)
        if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
            raise invalid_argument("url", rule)
        is_secure = parts.scheme == "https"
        return cls(parts.hostname, port or (443 if is_secure else 80), is_secure, parts.netloc, parts.path.rstrip("/"))


@dataclass(frozen=True)
class Head:
    """Status and headers of a response."""

    status: int
    headers: dict[str, str]
    """By lower-case name."""


class Connection:
    """A connection to a server."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.Transport) -> None:
        self._reader = reader
        # Not a `StreamWriter`, because one that is collected after its event loop was closed reports "Event loop is
        # closed".
        self._transport = transport
        self._head: Head | None = None
        self._is_clean = True

    @classmethod
    async def open(cls, address: Address) -> Connection:
        """Connects. Raises `OSError` if the server cannot be reached."""
        loop = asyncio.get_running_loop()
        context = _trusted() if address.is_secure else None
        reader = asyncio.StreamReader(limit=_MAX_HEAD_BYTES, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport, _ = await loop.create_connection(lambda: protocol, address.host, address.port, ssl=context)
        return cls(reader, transport)

    @property
    def is_reusable(self) -> bool:
        """Whether the last response was read completely and the server has not closed the connection."""
        return self._is_clean and not self._transport.is_closing() and not self._reader.at_eof()

    def close(self) -> None:
        """Closes the connection at once and drops any exchange in progress."""
        self._transport.abort()

    async def send(self, method: str, head: bytes, body: bytes) -> Head:
        """Sends a request and reads the head of the response, which may arrive before the whole request is sent."""
        self._is_clean = False
        self._transport.write(head + body if len(body) < _PIECE_BYTES else head)
        if len(body) >= _PIECE_BYTES:
            self._transport.write(body)
        answer = await self._read_head()
        while 100 <= answer.status < 200:
            answer = await self._read_head()
        self._head = answer
        if method == "HEAD" or answer.status in (204, 304) or answer.headers.get("content-length") == "0":
            self._finish()
        return answer

    async def read_all(self) -> bytes:
        """Returns the whole body of the response."""
        return b"".join([piece async for piece in self.pieces()])

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body of the response as it arrives. Raises `EOFError` if it ends too early."""
        if self._is_clean or self._head is None:
            return
        headers = self._head.headers
        if headers.get("transfer-encoding", "").lower() == "chunked":
            while piece := await self._read_chunk():
                yield piece
        elif "content-length" in headers:
            left = _number(headers["content-length"], 10)
            while left > 0:
                piece = await self._reader.read(min(left, _PIECE_BYTES))
                if not piece:
                    raise EOFError("The answer ended too early")
                left -= len(piece)
                yield piece
        else:
            while piece := await self._reader.read(_PIECE_BYTES):
                yield piece
            return
        self._finish()

    def _finish(self) -> None:
        self._is_clean = self._head is not None and self._head.headers.get("connection", "").lower() != "close"

    async def _read_head(self) -> Head:
        lines = (await self._read_until(_HEAD_END)).decode("latin-1").split("\r\n")
        version, _, rest = lines[0].partition(" ")
        if not version.startswith("HTTP/1."):
            raise ProtocolError("What answers there does not speak HTTP/1.1")
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if version == "HTTP/1.0":
            headers.setdefault("connection", "close")
        return Head(_number(rest[:3], 10), headers)

    async def _read_chunk(self) -> bytes:
        size = _number((await self._read_until(b"\r\n")).split(b";")[0], 16)
        if size > 0:
            return (await self._reader.readexactly(size + 2))[:-2]
        while await self._read_until(b"\r\n"):
            pass
        return b""

    async def _read_until(self, end: bytes) -> bytes:
        try:
            return (await self._reader.readuntil(end))[: -len(end)]
        except asyncio.LimitOverrunError as error:
            raise ProtocolError("A header is longer than any of Tidemark's") from error


@cache
def _trusted() -> ssl.SSLContext:
    """The machine's trusted certificates. Cached, because loading them takes longer than
    connecting."""
    return ssl.create_default_context()


def _number(text: str | bytes, base: int) -> int:
    try:
        return int(text, base)
    except ValueError as error:
        raise ProtocolError("The answer has no number where HTTP has one") from error
