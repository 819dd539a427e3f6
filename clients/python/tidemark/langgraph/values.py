"""Where the values of a checkpoint are stored: in its record, in a blob, or in pieces of several blobs. They are those of
`@tidemark/langgraph`, see `packages/langgraph/src/value-refs.ts`."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import TidemarkError


@dataclass(frozen=True, slots=True)
class Frame:
    """A serialised value: the name of its format, and its bytes."""

    type: str
    bytes: bytes


class BlobRef(NamedTuple):
    """A blob: the checkpoint that wrote it, its name, the number of records that store it, and its size.

    With 0 records, it is a field of its checkpoint's record. The size is unknown for blobs of the first format.
    """

    checkpoint_id: str
    name: str
    records: int
    size: int | None = None


class Piece(NamedTuple):
    """Consecutive bytes of a blob."""

    blob: BlobRef
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class PiecedValue:
    """A value that consists of pieces. `id` is random, and `type` names the format of the value."""

    id: str
    type: str
    pieces: tuple[Piece, ...]


SharedRef = BlobRef | PiecedValue
"""A reference to a value outside the frames of the checkpoint's record."""
ValueRef = int | BlobRef | PiecedValue
"""Where a value is: the index of a frame in the checkpoint's record, a blob, or pieces of blobs."""

Blobs = Mapping[str, Frame]
"""Blobs and values by `blob_id` and `value_id`."""


def random_name() -> str:
    """Returns a name that no other blob or value of a checkpoint has: 48 random bits."""
    return uuid.uuid4().hex[-12:]


def blob_id(ref: BlobRef) -> str:
    """Returns a string that is unique to each blob of a namespace."""
    return f"{ref.checkpoint_id} {ref.name}"


def value_id(ref: SharedRef) -> str:
    """Returns a string that is unique to each value of a namespace. That of a blob is its `blob_id`."""
    return blob_id(ref) if isinstance(ref, BlobRef) else ref.id


def blobs_of(ref: SharedRef) -> Iterator[BlobRef]:
    """Yields the blobs that a value needs, possibly with repetitions."""
    if isinstance(ref, BlobRef):
        yield ref
    else:
        for piece in ref.pieces:
            yield piece.blob


def value_in(ref: SharedRef, blobs: Blobs) -> Frame | None:
    """Returns a value from its blobs, or `None` if one of them is missing."""
    if isinstance(ref, BlobRef):
        return blobs.get(blob_id(ref))
    parts: list[bytes] = []
    for blob, start, length in ref.pieces:
        frame = blobs.get(blob_id(blob))
        if frame is None:
            return None
        if start + length > len(frame.bytes):
            rule = f"the blob {blob_id(blob)!r} is too short"
            raise TidemarkError("CORRUPT_VALUE", f"A stored value is damaged: {rule}", rule=rule)
        parts.append(frame.bytes[start : start + length])
    return Frame(ref.type, b"".join(parts))


def to_header(ref: ValueRef) -> Any:
    """Returns the form of a reference in the header of a checkpoint."""
    if isinstance(ref, int):
        return ref
    if isinstance(ref, BlobRef):
        return _blob_to_header(ref)
    blobs = list(dict.fromkeys(piece.blob for piece in ref.pieces))
    indexes = {blob: at for at, blob in enumerate(blobs)}
    numbers = [number for blob, start, length in ref.pieces for number in (indexes[blob], start, length)]
    return {"i": ref.id, "t": ref.type, "b": [_blob_to_header(blob) for blob in blobs], "p": numbers}


def of_header(stored: Any) -> ValueRef:
    """Returns the reference of a form in the header of a checkpoint."""
    if isinstance(stored, int):
        return stored
    if isinstance(stored, list):
        return BlobRef(*stored)
    blobs = [BlobRef(*blob) for blob in stored["b"]]
    numbers: Iterable[int] = iter(stored["p"])
    pieces = tuple(Piece(blobs[at], start, length) for at, start, length in zip(numbers, numbers, numbers, strict=True))
    return PiecedValue(stored["i"], stored["t"], pieces)


def _blob_to_header(ref: BlobRef) -> list[Any]:
    return [*ref] if ref.size is not None else [*ref[:3]]
