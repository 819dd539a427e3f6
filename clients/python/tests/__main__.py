"""For the repository's test runner: `python3 -m tests list` prints the tests, `… run` prints a line of JSON for each.
"""

from __future__ import annotations

import json
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


class JsonLines(unittest.TestResult):
    """Prints the result of each test when it ends. Several subtests of one test may fail."""

    def __init__(self) -> None:
        super().__init__()
        self._results: dict[str, dict[str, Any]] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._results[test.id()] = {"id": test.id(), "status": "passed", "text": ""}

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        print(json.dumps(self._results[test.id()]), flush=True)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self._results[test.id()] = {"id": test.id(), "status": "skipped", "text": reason}

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._record_failure(test.id(), self.failures[-1][1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._record_failure(test.id(), self.errors[-1][1])

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._record_failure(test.id(), f"{subtest}\n{(self.failures + self.errors)[-1][1]}")

    def _record_failure(self, id: str, text: str) -> None:
        result = self._results.get(id)
        if result is None:
            # Failures outside any test, such as in the set-up of a class. Its tests are then missing from the report.
            print(text, file=sys.stderr)
        else:
            result.update(status="failed", text=f"{result['text']}{text}")


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
