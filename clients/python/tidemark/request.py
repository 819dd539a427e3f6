"""A request to the server and its response."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import Write, no_server

Query = Mapping[str, str | int | None]
"""URL parameters; those that are `None` are omitted."""


@dataclass(frozen=True)
class Request:
    """A request to the server."""

    method: str
    path: str
    query: Query = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    write: Write | None = None
    """The write to carry in the error when the response is lost, so that the caller can retry it."""
    is_settled_by_itself: bool = True
    """Whether a retry after a lost response settles the outcome."""


@dataclass(frozen=True)
class Answer:
    """A successful response."""

    body: bytes
    status: int = 200

    def json(self) -> Any:
        """Parses the body as JSON."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise no_server("its answer is not JSON") from error
