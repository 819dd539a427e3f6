"""Servers for the tests: each is a Node process on a SQLite file. Also a proxy that can lose responses."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[3]
_CHILD = _REPOSITORY / "packages/server/test/python-server-child.ts"
_FLAGS = ["--conditions=tidemark-source", "--disable-warning=ExperimentalWarning"]


class Server:
    """A server that keeps its file and port across restarts."""

    def __init__(self, tokens: dict[str, str | None] | None = None) -> None:
        self._folder = tempfile.mkdtemp(prefix="tidemark-python-")
        self._tokens = tokens
        self._port = _free_port()
        self._process: subprocess.Popen[str] | None = None
        atexit.register(self.dispose)
        self.url = ""
        self.start()

    @property
    def port(self) -> int:
        return self._port

    def start(self) -> None:
        tokens = [] if self._tokens is None else [json.dumps(self._tokens)]
        arguments = [_node(), *_FLAGS, str(_CHILD), f"{self._folder}/store.db", str(self._port), *tokens]
        self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("The server did not start; its own words are above")

    def kill(self) -> None:
        """Kills the process, as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._reap()

    def stop(self) -> None:
        """Stops the process gracefully."""
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.close()
        self._reap()

    def dispose(self) -> None:
        if self._process is not None:
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _reap(self) -> None:
        process, self._process = self._process, None
        assert process is not None and process.stdout is not None and process.stdin is not None
        process.wait(timeout=20)
        process.stdout.close()
        process.stdin.close()


@cache
def shared_server() -> Server:
    """The server of all tests that neither stop it nor need tokens."""
    return Server()


class LossyProxy:
    """Forwards requests and loses the next `losses` responses: the server does the work, but the
    client gets no response.
    """

    def __init__(self, port: int, encryption: ssl.SSLContext | None = None) -> None:
        self._target = port
        self._encryption = encryption
        self.losses = 0
        self.requests = 0
        self.connections = 0
        self.slowness = 0.0
        self.before_loss: Callable[[], Awaitable[object]] | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> LossyProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._encryption)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.refuse()

    async def refuse(self) -> None:
        """Stops listening."""
        assert self._server is not None
        self._server.close()

    def hang_up(self) -> None:
        """Drops every open connection."""
        for writer in self._open:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            while request := await reader.read(1 << 20):
                self.requests += 1
                await asyncio.sleep(self.slowness)
                far_writer.write(request)
                answer = await far_reader.read(1 << 20)
                if self.losses > 0:
                    self.losses -= 1
                    if self.before_loss is not None:
                        await self.before_loss()
                    return
                writer.write(answer)
        finally:
            self._open.discard(writer)
            far_writer.transport.abort()
            writer.transport.abort()


class CannedPeer:
    """Answers every request with the same bytes and closes the connection. With `None` it never
    responds."""

    def __init__(self, answer: bytes | None) -> None:
        self._answer = answer
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> CannedPeer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 20)
        if self._answer is None:
            await reader.read()
        else:
            writer.write(self._answer)
        writer.close()


def _node() -> str:
    return os.environ.get("TIDEMARK_TEST_NODE") or str(_REPOSITORY / "node_modules/.bin/node")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
