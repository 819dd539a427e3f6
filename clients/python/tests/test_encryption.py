"""TLS connections: only to servers that the machine trusts."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from .case import StoreCase
from .servers import LossyProxy, shared_server

_CLIENT = Path(__file__).resolve().parents[1]
_PROGRAM = """
import asyncio, sys
from tidemark import StateStore, TidemarkError

async def main():
    async with StateStore(sys.argv[1], timeout=5.0) as store:
        try:
            print(await store.load_history("unknown"))
        except TidemarkError as error:
            print(error.code, error.attempts, "certificate" in error.message)

asyncio.run(main())
"""


@unittest.skipIf(shutil.which("openssl") is None, "there is no openssl here to make a certificate with")
class Encryption(StoreCase):
    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        folder = tempfile.mkdtemp(prefix="tidemark-python-")
        self.addCleanup(shutil.rmtree, folder)
        self.certificate, key = f"{folder}/certificate.pem", f"{folder}/key.pem"
        subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        files = ["-keyout", key, "-out", self.certificate]
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *subject, *files]
        subprocess.run(command, check=True, capture_output=True)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificate, key)
        proxy = await self.enterAsyncContext(LossyProxy(shared_server().port, context))
        self.url = proxy.url.replace("http:", "https:")

    async def output_with(self, environment: dict[str, str]) -> str:
        """Runs the program in a new process, because trusted certificates are read once, and returns its output."""
        run = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _PROGRAM, self.url),
            cwd=_CLIENT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
        )
        return (await run.communicate())[0].decode().strip()

    async def test_is_used_when_the_server_is_trusted(self) -> None:
        self.assertEqual(await self.output_with({"SSL_CERT_FILE": self.certificate}), "[]")

    async def test_is_refused_when_it_is_not(self) -> None:
        with self.assertLogs("asyncio"):  # Logged by the proxy: the caller closed the connection.
            self.assertEqual(await self.output_with({}), "STORAGE_ERROR 1 True")
