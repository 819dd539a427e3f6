"""The one error of this client: a stable code, the rule that was broken, and whether anything may have been written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

_RETRYABLE = frozenset({"TIMEOUT", "OVERLOADED", "UNAVAILABLE", "OUTCOME_UNKNOWN"})


@dataclass(frozen=True)
class Write:
    """A write as it was sent: calling `method` again with exactly these arguments settles what became of it."""

    method: str
    arguments: Mapping[str, Any]


class TidemarkError(Exception):
    """Raised by every call of this client.

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
        problem: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        """Stable name of the failure; docs/errors.md lists all."""
        self.message = message
        self.retryable = code in _RETRYABLE
        """Whether the same call, made again later, can succeed."""
        self.outcome: Literal["rejected", "unknown"] = "unknown" if code == "OUTCOME_UNKNOWN" else "rejected"
        """`rejected`: nothing was written. `unknown`: it may have been, by this attempt or an earlier one."""
        self.field = field
        """The argument that was wrong, by its name on the wire: `payload.items[3].price`."""
        self.rule = rule
        """The rule it broke, in words."""
        self.current = current
        """What now stands in the store, where that decided."""
        self.write = write
        """Of `OUTCOME_UNKNOWN`: what to send again."""
        self.problem = problem or {}
        """Everything the server said; empty when this client refused the call itself."""
        self.attempts = 1
        """How often the call was sent."""

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def invalid_argument(field: str, rule: str) -> TidemarkError:
    """An argument that breaks a rule."""
    return TidemarkError("INVALID_ARGUMENT", f"{field} must be {rule}", field=field, rule=rule)


def invalid_payload(field: str, rule: str) -> TidemarkError:
    """A payload that JSON would change or lose."""
    return TidemarkError("INVALID_PAYLOAD", f"{field} must be {rule}", field=field, rule=rule)
