"""Divides a new version of a value into pieces that are already stored and bytes to store, as
`packages/langgraph/src/sharing.ts` and `difference.ts` do. Either of them may find other pieces than the other one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .values import BlobRef, Piece, SharedRef

_MAX_BLOBS = 8
"""If a value needs more blobs than this, the smallest ones are merged, at least `_MIN_MERGED` of them."""
_MIN_MERGED = 4
_MAX_PIECES = 64
_MIN_PIECE = 64
"""A reference to a shorter piece costs about as much as the piece."""
_MIN_USED = 1 / 2
"""The minimum share of a blob that a value must use. It limits the bytes that pruning keeps."""
_MIN_SHARED = 1 / 4
"""The minimum share of the new version that must already be stored."""

_MIN_MATCH = 128
_MIN_SEARCH = 512
_ANCHOR = 64
_FIRST_SKIP = 32
_MAX_SEARCHES = 12
_FIRST_STEP = 1024


class Part(NamedTuple):
    """Bytes of the new version. Without a piece, they must be stored."""

    piece: Piece | None
    at: int
    length: int


class _Match(NamedTuple):
    """Equal bytes: `length` bytes of the old version from `start` on, and of the new version from `at` on."""

    start: int
    at: int
    length: int


def parts_of_next(ref: SharedRef, old: bytes, next: bytes) -> list[Part] | None:
    """Returns the parts of the new version, in order, or `None` if it has too little in common with the old version."""
    pieces: Sequence[Piece] = (
        (Piece(ref._replace(size=len(old)), 0, len(old)),) if isinstance(ref, BlobRef) else ref.pieces
    )
    parts = _with_few_blobs(_merged(_parts_in(pieces, _matches(old, next), len(next))))
    shared = sum(part.length for part in parts if part.piece is not None)
    return None if len(parts) > _MAX_PIECES or shared < len(next) * _MIN_SHARED else parts


def _parts_in(pieces: Sequence[Piece], matches: Iterable[_Match], size: int) -> Iterator[Part]:
    """Describes the new version by the pieces of the old one that the matches cover, and by the bytes between them."""
    at = 0
    for match in matches:
        yield Part(None, at, match.at - at)
        start = 0
        for piece in pieces:
            first = max(start, match.start)
            length = min(start + piece.length, match.start + match.length) - first
            if length > 0:
                moved = Piece(piece.blob, piece.start + first - start, length)
                yield Part(moved, match.at + first - match.start, length)
            start += piece.length
        at = match.at + match.length
    yield Part(None, at, size - at)


def _merged(parts: Iterable[Part]) -> list[Part]:
    """Joins parts that follow each other in one blob, or that are both to be stored."""
    joined: list[Part] = []
    for part in parts:
        if part.length == 0:
            continue
        piece = None if part.length < _MIN_PIECE else part.piece
        last = joined[-1] if joined else None
        if last is None or not _is_next(last.piece, piece):
            joined.append(Part(piece, part.at, part.length))
            continue
        length = last.length + part.length
        joined[-1] = Part(None if last.piece is None else last.piece._replace(length=length), last.at, length)
    return joined


def _is_next(last: Piece | None, piece: Piece | None) -> bool:
    if last is None or piece is None:
        return last is piece
    return last.blob == piece.blob and piece.start == last.start + last.length


def _with_few_blobs(parts: list[Part]) -> list[Part]:
    """Stores pieces again if little of their blob is used, and those of the smallest blobs if there are too many."""
    used: dict[BlobRef, int] = {}
    for piece, _, length in parts:
        if piece is not None:
            used[piece.blob] = used.get(piece.blob, 0) + length
    again = {blob for blob, size in used.items() if size < (blob.size or 0) * _MIN_USED}
    left = {blob: size for blob, size in used.items() if blob not in again}
    if len(left) >= _MAX_BLOBS:
        again |= _smallest(left)
    if not again:
        return parts
    return _merged(Part(None, *it[1:]) if it.piece is not None and it.piece.blob in again else it for it in parts)


def _smallest(used: dict[BlobRef, int]) -> set[BlobRef]:
    """Returns the smallest blobs, and larger ones as long as each is no larger than the sum of those before it."""
    smallest: set[BlobRef] = set()
    total = 0
    for blob, size in sorted(used.items(), key=lambda it: it[1]):
        if len(smallest) >= _MIN_MERGED and size > total:
            break
        smallest.add(blob)
        total += size
    return smallest


def _matches(old: bytes, next: bytes) -> list[_Match]:
    """Returns parts that both versions share, in the order of the new version. It need not find all of them."""
    most = min(len(old), len(next))
    start = _equal_after(old, 0, next, 0, most)
    end = _equal_before(old, len(old), next, len(next), most - start)
    matches: list[_Match] = []
    if start >= _MIN_MATCH:
        matches.append(_Match(0, 0, start))
    matches += _matches_within(old, next, start, len(old) - end, len(next) - end)
    if end >= _MIN_MATCH:
        matches.append(_Match(len(old) - end, len(next) - end, end))
    return matches


def _matches_within(old: bytes, next: bytes, at: int, old_end: int, next_end: int) -> Iterator[_Match]:
    """Takes some bytes of the new version, searches for them in the old one, and extends what it finds."""
    start = at
    skip = _FIRST_SKIP
    for _ in range(_MAX_SEARCHES):
        anchor = at + skip
        if next_end - at < _MIN_SEARCH or anchor + _ANCHOR > next_end:
            return
        found = old.find(next[anchor : anchor + _ANCHOR], start, old_end)
        if found != -1:
            before = _equal_before(old, found, next, anchor, min(found - start, anchor - at))
            after = _equal_after(old, found, next, anchor, min(old_end - found, next_end - anchor))
            if before + after >= _MIN_MATCH:
                yield _Match(found - before, anchor - before, before + after)
                start, at, skip = found + after, anchor + after, _FIRST_SKIP
                continue
        skip *= 2


def _equal_after(a: bytes, a_at: int, b: bytes, b_at: int, most: int) -> int:
    return _equal(most, lambda done, size: a[a_at + done : a_at + done + size] == b[b_at + done : b_at + done + size])


def _equal_before(a: bytes, a_end: int, b: bytes, b_end: int, most: int) -> int:
    return _equal(
        most, lambda done, size: a[a_end - done - size : a_end - done] == b[b_end - done - size : b_end - done]
    )


def _equal(most: int, is_equal: Callable[[int, int], bool]) -> int:
    """Compares growing steps until one differs, and then halves of it."""
    done, end, step = 0, most, _FIRST_STEP
    while done < most:
        size = min(step, most - done)
        if not is_equal(done, size):
            end = done + size
            break
        done += size
        step *= 2
    if done == most:
        return most
    # The first byte that differs is before `end`.
    while end - done > 1:
        half = (end - done) // 2
        if is_equal(done, half):
            done += half
        else:
            end = done + half
    return done
