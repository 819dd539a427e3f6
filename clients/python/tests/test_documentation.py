"""The examples of the documentation run as written, on their own server."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

from .servers import Server

_CLIENT = Path(__file__).resolve().parents[1]
_EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)


class Examples(unittest.TestCase):
    def output_of(self, page: Path) -> str:
        server = Server()
        self.addCleanup(server.dispose)
        (example,) = _EXAMPLE.findall(page.read_text())
        code = example.replace("http://127.0.0.1:7420", server.url)
        done = subprocess.run([sys.executable, "-c", code], cwd=_CLIENT, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_of_the_readme(self) -> None:
        self.assertEqual(self.output_of(_CLIENT / "README.md"), "['node_end']\n{'reason': 'approval'} {}\n")

    def test_of_the_page_in_the_docs(self) -> None:
        rule = "at least one field; use delete to remove a record"
        wanted = f"b'a long tool output'\n1 RunStarted\n2 RunCompleted\nFalse\nINVALID_ARGUMENT fields {rule}\n"
        self.assertEqual(self.output_of(_CLIENT.parents[1] / "docs/python.md"), wanted)
