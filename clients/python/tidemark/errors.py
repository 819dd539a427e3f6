"""The error of this client: a stable code, the violated rule, and whether anything may have been written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

_RETRYABLE = frozenset({"TIMEOUT", "OVERLOADED", "UNAVAILABLE", "OUTCOME_UNKNOWN"})


@dataclass(frozen=True)
class Write:
    """A write as it was sent. Calling `method` again with exactly these arguments settles its outcome."""

    method: str
    arguments: Mapping[str, Any]


class TidemarkError(Exception):
    """The error that every call of this client raises.

    Example::

        try:
            await store.save_memory_state(key, state)
        except TidemarkError as error:
            if error.code == "OUTCOME_UNKNOWN":
                await store.save_memory_state(**error.write.arguments)
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        field: str | None = None,
        rule: str | None = None,
        current: Any = None,
        write: Write | None = None,
        errors: Sequence[Mapping[str, str]] = (),
        problem: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        """Stable name of the failure; docs/errors.md lists all."""
        self.message = message
        self.retryable = code in _RETRYABLE
        """Whether the same call can succeed later."""
        self.outcome: Literal["rejected", "unknown"] = "unknown" if code == "OUTCOME_UNKNOWN" else "rejected"
        """`rejected`: nothing was written. `unknown`: this attempt or an earlier one may have
        written something."""
        self.field = field
        """The path of the invalid argument in the JSON request: `payload.items[3].price`."""
        self.rule = rule
        """The violated rule, in words."""
        self.errors = list(errors)
        """All faults of a refused event, at most 20, each with `field` and `rule`. The first is `field` and `rule`."""
        self.current = current
        """The conflicting value in the store, if that caused the failure."""
        self.write = write
        """The write to retry, for `OUTCOME_UNKNOWN`."""
        self.problem = problem or {}
        """The server's problem document; empty if this client rejected the call itself."""
        self.attempts = 1
        """The number of times the call was sent."""

    def for_write(self, write: Write | None) -> TidemarkError:
        """Returns this error for another write of the same request. Callers must not share one exception."""
        copy = type(self)(
            self.code,
            self.message,
            field=self.field,
            rule=self.rule,
            current=self.current,
            write=write if self.outcome == "unknown" else None,
            errors=self.errors,
            problem=self.problem,
        )
        copy.__cause__ = self.__cause__
        return copy

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class InvalidValueError(TidemarkError, ValueError):
    """The error of a call with an invalid argument, which is also a `ValueError`.

    Its code is `INVALID_ARGUMENT`, `INVALID_PAYLOAD` or `PAYLOAD_TOO_LARGE`. Nothing was written.
    """


_BAD_VALUE = frozenset({"INVALID_ARGUMENT", "INVALID_PAYLOAD", "PAYLOAD_TOO_LARGE"})


def class_of(code: str) -> type[TidemarkError]:
    """Returns the class of the errors with a code."""
    return InvalidValueError if code in _BAD_VALUE else TidemarkError


def invalid_argument(field: str, rule: str) -> TidemarkError:
    """Returns an `INVALID_ARGUMENT` error."""
    return InvalidValueError("INVALID_ARGUMENT", f"{field} must be {rule}", field=field, rule=rule)


def invalid_payload(field: str, rule: str) -> TidemarkError:
    """Returns an `INVALID_PAYLOAD` error, for values that JSON would change or lose."""
    return InvalidValueError("INVALID_PAYLOAD", f"{field} must be {rule}", field=field, rule=rule)


def lost(write: Write | None) -> TidemarkError:
    """Returns the error of a call whose response was lost."""
    if write is None:
        return TidemarkError("UNAVAILABLE", "The answer was lost; try again")
    message = "The answer was lost; retry the same write to find out its outcome"
    return TidemarkError("OUTCOME_UNKNOWN", message, write=write)


def no_server(reason: str) -> TidemarkError:
    """Returns the error of a call that was answered by something other than a Tidemark server."""
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
