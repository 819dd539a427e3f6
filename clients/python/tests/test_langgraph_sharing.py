"""New versions of values are put together from pieces of old ones. These tests need no package."""

from __future__ import annotations

import random
import unittest

from tidemark.langgraph.sharing import parts_of_next
from tidemark.langgraph.values import BlobRef, Frame, Piece, PiecedValue, SharedRef, blob_id, blobs_of, value_in


class Versions:
    """Stores versions of a value as the saver does, without a store."""

    def __init__(self) -> None:
        self.blobs: dict[str, Frame] = {}
        self.stored = 0
        self.ref: SharedRef | None = None
        self.last = b""

    def add(self, next: bytes) -> None:
        parts = None if self.ref is None else parts_of_next(self.ref, self.last, next)
        if parts is None:
            self.ref = self._blob(next)
        else:
            blob = self._blob(b"".join(next[it.at : it.at + it.length] for it in parts if it.piece is None))
            pieces: list[Piece] = []
            start = 0
            for part in parts:
                pieces.append(part.piece or Piece(blob, start, part.length))
                start += 0 if part.piece else part.length
            self.ref = PiecedValue("", "json", tuple(pieces))
        self.last = next

    @property
    def value(self) -> bytes | None:
        frame = None if self.ref is None else value_in(self.ref, self.blobs)
        return None if frame is None else frame.bytes

    @property
    def needed(self) -> list[int]:
        """The sizes of the blobs that the last version needs."""
        ids = set() if self.ref is None else {blob_id(ref) for ref in blobs_of(self.ref)}
        return [len(self.blobs[id].bytes) for id in ids]

    def _blob(self, data: bytes) -> BlobRef:
        ref = BlobRef("1f0", f"b{len(self.blobs)}", 0, len(data))
        self.blobs[blob_id(ref)] = Frame("json", data)
        self.stored += len(data)
        return ref


def message(seed: int, words: int = 100) -> bytes:
    rng = random.Random(seed)
    return " ".join(f"{rng.randrange(60_000):x}" for _ in range(words)).encode()


class Sharing(unittest.TestCase):
    def test_stores_a_growing_value_a_few_times(self) -> None:
        # As MessagePack writes lists: their length is at the beginning.
        for head in (lambda count: b"[", lambda count: bytes([0xDC, count >> 8, count & 0xFF])):
            versions, body, whole = Versions(), b"", 0
            for step in range(200):
                body += message(step)
                versions.add(head(step) + body)
                whole += len(body)
            self.assertEqual(versions.value, head(199) + body)
            self.assertLess(versions.stored, 4 * len(body))
            self.assertLess(versions.stored, whole / 20)

    def test_stores_unrelated_values_as_they_are(self) -> None:
        versions = Versions()
        for step in range(5):
            versions.add(message(step, 2_000))
            self.assertIsInstance(versions.ref, BlobRef)

    def test_keeps_every_value_and_needs_few_blobs_that_are_no_waste(self) -> None:
        for seed in range(60):
            rng, versions, messages = random.Random(seed), Versions(), []
            for step in range(40):
                at, count = rng.randrange(len(messages) + 1), rng.randrange(8)
                change = rng.choice(["append", "insert", "remove", "replace", "repeat", "swap", "nothing"])
                new = message(rng.randrange(6), rng.choice([0, 3, 40, 300]))
                if change == "append":
                    messages.append(new)
                elif change == "insert":
                    messages.insert(at, new)
                elif change == "remove":
                    del messages[at : at + count]
                elif change == "replace":
                    messages[at : at + count] = [new]
                elif change == "repeat":
                    messages += messages[at : at + count]
                elif change == "swap":
                    messages = [*messages[at:], *messages[:at]]
                next = b"[" + b",".join(messages) + b"]"
                versions.add(next)
                self.assertEqual(versions.value, next, (seed, step))
                self.assertLessEqual(len(versions.needed), 8)
                self.assertLessEqual(sum(versions.needed), 2 * len(next))


if __name__ == "__main__":
    unittest.main()
