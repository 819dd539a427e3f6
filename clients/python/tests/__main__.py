"""For the runner of the repository: `python3 -m tests list` prints the tests, `… run` a line of JSON for each."""

from __future__ import annotations

import json
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


class JsonLines(unittest.TestResult):
    """Tells each test's end as it comes; several parts of one test may fail."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[str, dict[str, Any]] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._told[test.id()] = {"id": test.id(), "status": "passed", "text": ""}

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        print(json.dumps(self._told[test.id()]), flush=True)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self._told[test.id()] = {"id": test.id(), "status": "skipped", "text": reason}

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._tell_failure(test.id(), self.failures[-1][1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._tell_failure(test.id(), self.errors[-1][1])

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._tell_failure(test.id(), f"{subtest}\n{(self.failures + self.errors)[-1][1]}")

    def _tell_failure(self, id: str, text: str) -> None:
        told = self._told.get(id)
        if told is None:
            # What fails outside any test, as the set-up of a class does; its tests are then missing in the report.
            print(text, file=sys.stderr)
        else:
            told.update(status="failed", text=f"{told['text']}{text}")


def _tests_of(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for it in suite:
        if isinstance(it, unittest.TestSuite):
            yield from _tests_of(it)
        else:
            yield it


def main(command: str) -> None:
    suite = unittest.defaultTestLoader.discover(str(_HERE), top_level_dir=str(_HERE.parent))
    if command == "list":
        for test in _tests_of(suite):
            print(test.id())
    else:
        suite.run(JsonLines())


main(sys.argv[1])
