"""Checkpoints have the same keys and bytes as those of `@tidemark/langgraph`, which reads the same fixture in its tests."""

from __future__ import annotations

import base64
import json
import unittest
from pathlib import Path

from tidemark import TidemarkError
from tidemark.langgraph import layout
from tidemark.langgraph.layout import Branch, CheckpointRecord, StoredWrite
from tidemark.langgraph.values import BlobRef, Frame, Piece, PiecedValue

FIXTURE = json.loads((Path(__file__).parent / "langgraph-layout.json").read_text())
BRANCH = Branch("chat-7", "child:1")


class Layout(unittest.TestCase):
    def test_encodes_keys(self) -> None:
        for text, segment in FIXTURE["segments"]:
            self.assertEqual(layout.key_segment(text), segment)
            self.assertIn(layout.segment_text(segment), (text, None))
        self.assertEqual(BRANCH.checkpoint_key("1f0-a"), FIXTURE["checkpointKey"])
        self.assertEqual(BRANCH.writes_key("1f0-a", "task 1"), FIXTURE["writesKey"])
        self.assertEqual(BRANCH.head_key(), FIXTURE["headKey"])
        self.assertEqual(BRANCH.blob_keys(BlobRef("1f0-a", "c text", 2)), FIXTURE["blobKeys"])
        self.assertEqual(BRANCH.blob_keys(BlobRef("1f0-a", "p.0", 0, 9)), [FIXTURE["checkpointKey"]])
        with self.assertRaises(TidemarkError):
            BRANCH.checkpoint_key("x" * 91)

    def test_encodes_checkpoints(self) -> None:
        old, new = BlobRef("1f0-0", "p.0123456789ab", 0, 900), BlobRef("1f0-a", "c log ba9876543210", 1, 20_000)
        pieces = (Piece(old, 0, 899), Piece(new, 0, 15_000), Piece(old, 899, 1), Piece(new, 15_000, 5_000))
        record = CheckpointRecord(
            branch=BRANCH,
            id="1f0-a",
            parent_id="1f0-0",
            stored_at=1_700_000_000_000,
            channels={
                "short": (3, 0),
                "text": ("3.5", BlobRef("1f0-0", "c text", 2)),
                "blob": (4, old),
                "log": (5, PiecedValue("aabbccddeeff", "json", pieces)),
            },
            checkpoint=Frame("json", b'{"v":4}'),
            metadata=Frame("json", b"{}"),
            values=[Frame("msgpack", bytes(range(200)))],
        )
        fields = layout.encode_checkpoint(record, FIXTURE["fieldBytes"])
        self.assertEqual(_base64_of(fields), FIXTURE["checkpoint"])
        self.assertEqual(layout.decode_checkpoint(_bytes_of(FIXTURE["checkpoint"])), record)
        self.assertTrue(layout.is_blob_field("p.0123456789ab.1"))
        self.assertEqual(layout.small_blob_id("1f0-0", "p.0123456789ab.1"), "1f0-0 p.0123456789ab")

    def test_decodes_checkpoints_of_the_first_format(self) -> None:
        record = layout.decode_checkpoint(_bytes_of(FIXTURE["firstCheckpoint"]))
        assert record is not None
        self.assertEqual(record.channels, {"short": (3, 0), "text": ("3.5", BlobRef("1f0-0", "c text", 2))})
        self.assertEqual(record.values, [Frame("msgpack", bytes(range(200)))])
        later = {"c": layout.cut("c", layout.pack([Frame("tidemark.checkpoint.3", b"{}")]), 1_000)["c"]}
        with self.assertRaises(TidemarkError) as caught:
            layout.decode_checkpoint(later)
        self.assertEqual(caught.exception.code, "UNSUPPORTED")

    def test_encodes_pending_writes(self) -> None:
        writes = [
            StoredWrite("task 1", 0, "text", Frame("json", b""), BlobRef("1f0-a", "w task 1 0 x", 1)),
            StoredWrite("task 1", 1, "short", Frame("json", b"1"), None),
        ]
        fields: dict[str, bytes] = {}
        for write in writes:
            fields |= layout.encode_write(write, FIXTURE["fieldBytes"])
        self.assertEqual(_base64_of(fields), FIXTURE["writes"])
        self.assertEqual(layout.decode_writes(_bytes_of(FIXTURE["writes"])), writes)

    def test_reports_damage_and_compression(self) -> None:
        for packed, code in ((b"\x01x", "UNSUPPORTED"), (b"\x07", "CORRUPT_VALUE"), (b"\0\0\0\0\xff", "CORRUPT_VALUE")):
            with self.assertRaises(TidemarkError) as caught:
                layout.unpack(packed)
            self.assertEqual(caught.exception.code, code)
        with self.assertRaises(TidemarkError):
            layout.join("c", {"c": b"\0\0\0\x02a"})


def _base64_of(fields: dict[str, str | bytes]) -> dict[str, str]:
    encoded = {name: it if isinstance(it, bytes) else it.encode() for name, it in fields.items()}
    return {name: base64.b64encode(it).decode() for name, it in encoded.items()}


def _bytes_of(fields: dict[str, str]) -> dict[str, bytes]:
    return {name: base64.b64decode(it) for name, it in fields.items()}
