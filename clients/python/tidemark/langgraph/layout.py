"""The keys and fields of checkpoints. They are the same as in `@tidemark/langgraph`: `packages/langgraph/src/keys.ts`
describes the keys, and `packages/core/src/adapters/frames.ts` the frames. A test compares both implementations."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import TidemarkError, invalid_argument
from .values import BlobRef, Frame, ValueRef, of_header, to_header

CHECKPOINTS = "tidemark.langgraph.cp."
BLOBS = "tidemark.langgraph.blob."
HEADS = "tidemark.langgraph.head."

BODY_FIELD = "c"
"""A record with this field is a checkpoint."""
BLOB_FIELD = "v"
"""The field of a large blob."""
SMALL_BLOB = "p."
"""The beginning of the names of fields of checkpoints that are small blobs."""
STORED_AT_FIELD = "at"
FENCED_FIELD = "fenced"
"""Set instead of a checkpoint that must no longer be stored, because another writer has continued without it."""

SMALL_BLOB_BYTES = 8 * 1024
"""Larger blobs have separate records, so that reading checkpoints remains cheap."""
PART_BYTES = 4 * 1024 * 1024
"""The size of a part of a blob, which is below the limits of every engine and of HTTP requests."""

_MAX_SEGMENT = 90
_HASH_DIGITS = 40
_WRITE = re.compile(r"i(-?\d+)\Z")
_HEADER = "tidemark.checkpoint.2"
_FIRST_HEADER = "tidemark.checkpoint.1"
"""The format before values could share pieces. Its references have no pieces, sizes and small blobs."""
_WRITE_HEADER = "tidemark.write.1"


Version = str | int | float | None


@dataclass(frozen=True, slots=True)
class Branch:
    """A namespace of a thread: the history of a graph or of one of its subgraphs."""

    thread: str
    namespace: str

    def prefix(self, root: str) -> str:
        """Returns the prefix of all keys of this branch."""
        return f"{root}{key_segment(self.thread)}.{key_segment(self.namespace)}."

    def checkpoint_prefix(self, root: str, id: str) -> str:
        """Returns the prefix of all keys that belong to one checkpoint."""
        return f"{self.prefix(root)}{checkpoint_segment(id)}."

    def checkpoint_key(self, id: str) -> str:
        """Returns the key of a checkpoint."""
        return f"{self.checkpoint_prefix(CHECKPOINTS, id)}c"

    def writes_key(self, id: str, task: str) -> str:
        """Returns the key of the pending writes of a task."""
        return f"{self.writes_prefix(id)}{key_segment(task)}"

    def head_key(self) -> str:
        """Returns the key of the head of a fenced branch."""
        return f"{self.prefix(HEADS)}h"

    def writes_prefix(self, id: str) -> str:
        """Returns the prefix of the pending writes of a checkpoint."""
        return f"{self.checkpoint_prefix(CHECKPOINTS, id)}w."

    def blob_keys(self, ref: BlobRef) -> list[str]:
        """Returns the keys of the records that contain a blob."""
        if ref.records == 0:
            return [self.checkpoint_key(ref.checkpoint_id)]
        return record_keys(self.prefix(BLOBS), ref)


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """The stored form of a checkpoint."""

    branch: Branch
    id: str
    parent_id: str | None
    stored_at: int
    channels: Mapping[str, tuple[Version, ValueRef]]
    checkpoint: Frame
    metadata: Frame
    values: Sequence[Frame]


@dataclass(frozen=True, slots=True)
class StoredWrite:
    """A pending write. `value` is empty if a blob holds it."""

    task: str
    index: int
    channel: str
    value: Frame
    blob: BlobRef | None
    path: str = ""


def key_segment(text: str) -> str:
    """Encodes a text as a segment of a key: `=` and four hex digits for each UTF-16 unit that is not a letter, digit,
    `-` or `_`, and a hash for a text that is too long."""
    units = text.encode("utf-16-le", "surrogatepass")
    if text == "":
        return "="
    escaped = "".join(_escape(units[at] | units[at + 1] << 8) for at in range(0, len(units), 2))
    return escaped if len(escaped) <= _MAX_SEGMENT else f"~{hashlib.sha256(units).hexdigest()[:_HASH_DIGITS]}"


def segment_text(segment: str) -> str | None:
    """Returns the text of a segment, or `None` if the segment is a hash."""
    if segment.startswith("~"):
        return None
    if segment == "=":
        return ""
    units = re.sub("=([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), segment)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def checkpoint_segment(id: str) -> str:
    """Returns the segment of a checkpoint id, which is never a hash, because hashes do not sort by time."""
    segment = key_segment(id)
    if segment.startswith("~"):
        raise invalid_argument("checkpoint_id", 'at most 90 letters, digits, "-" or "_"')
    return segment


def record_keys(prefix: str, ref: BlobRef) -> list[str]:
    """Returns the keys of the records of a large blob. They have the prefix of the blobs of their branch."""
    key = f"{prefix}{checkpoint_segment(ref.checkpoint_id)}.{key_segment(ref.name)}"
    return [key if at == 0 else f"{key}.{at}" for at in range(ref.records)]


def end_of_prefix(prefix: str) -> str:
    """Returns the first key after all keys with a prefix that ends in ASCII."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def pack(frames: Sequence[Frame]) -> bytes:
    """Combines frames into one byte string."""
    parts = [b"\0"]
    for frame in frames:
        name = frame.type.encode()
        parts += [len(name).to_bytes(4, "big"), len(frame.bytes).to_bytes(4, "big"), name, frame.bytes]
    return b"".join(parts)


def unpack(packed: bytes) -> list[Frame]:
    """Splits a byte string into its frames."""
    if packed[:1] == b"\1":
        rule = "store it without `compress`"
        message = f"A value was compressed by the saver for TypeScript, which this saver cannot read: {rule}"
        raise TidemarkError("UNSUPPORTED", message, rule=rule)
    if packed[:1] != b"\0":
        raise damaged("its first byte names no format")
    frames: list[Frame] = []
    at = 1
    while at < len(packed):
        name_at = at + 8
        bytes_at = name_at + int.from_bytes(packed[at : at + 4], "big")
        end = bytes_at + int.from_bytes(packed[at + 4 : name_at], "big")
        if name_at > len(packed) or end > len(packed):
            raise damaged("it ends within a frame")
        frames.append(Frame(packed[name_at:bytes_at].decode(), packed[bytes_at:end]))
        at = end
    return frames


def cut(name: str, data: bytes, size: int) -> dict[str, bytes]:
    """Splits bytes into fields of at most `size` bytes. The first field begins with their number."""
    count = max(1, -(-(len(data) + 4) // size))
    whole = count.to_bytes(4, "big") + data
    return {_field_name(name, at): whole[at * size : (at + 1) * size] for at in range(count)}


def join(name: str, fields: Mapping[str, bytes]) -> bytes | None:
    """Joins the bytes that `cut` split. Returns `None` if the record does not contain them."""
    first = fields.get(name)
    if first is None:
        return None
    if len(first) < 4:
        raise damaged("its first field is too short")
    parts = [first[4:]]
    for at in range(1, int.from_bytes(first[:4], "big")):
        part = fields.get(_field_name(name, at))
        if part is None:
            raise damaged(f"its field {_field_name(name, at)!r} is missing")
        parts.append(part)
    return b"".join(parts)


def encode_checkpoint(record: CheckpointRecord, field_bytes: int) -> dict[str, bytes]:
    """Returns the fields of a checkpoint's record, without its blobs."""
    header = {
        "thread": record.branch.thread,
        "namespace": record.branch.namespace,
        "id": record.id,
        "parent": record.parent_id,
        "at": record.stored_at,
        "channels": [[name, version, to_header(value)] for name, (version, value) in record.channels.items()],
    }
    frames = [Frame(_HEADER, _json(header)), record.checkpoint, record.metadata, *record.values]
    return cut(BODY_FIELD, pack(frames), field_bytes)


def decode_checkpoint(fields: Mapping[str, bytes]) -> CheckpointRecord | None:
    """Returns the checkpoint of a record, or `None` if the record holds none."""
    body = join(BODY_FIELD, fields)
    if body is None:
        return None
    first, *others = unpack(body)
    if first.type not in (_HEADER, _FIRST_HEADER):
        rule = f"the format {first.type!r} is not known to this version of the client"
        raise TidemarkError("UNSUPPORTED", f"A checkpoint cannot be read: {rule}", rule=rule)
    checkpoint, metadata, *values = others
    header = json.loads(first.bytes)
    channels = {name: (version, of_header(value)) for name, version, value in header["channels"]}
    branch = Branch(header["thread"], header["namespace"])
    return CheckpointRecord(
        branch, header["id"], header["parent"], header["at"], channels, checkpoint, metadata, values
    )


def encode_write(write: StoredWrite, field_bytes: int) -> dict[str, bytes]:
    """Returns the fields of a pending write."""
    header: dict[str, Any] = {
        "task": write.task,
        "index": write.index,
        "channel": write.channel,
        "blob": None if write.blob is None else to_header(write.blob),
        **({"path": write.path} if write.path else {}),
    }
    packed = pack([Frame(_WRITE_HEADER, _json(header)), write.value])
    return cut(write_field(write.index), packed, field_bytes)


def decode_writes(fields: Mapping[str, bytes]) -> list[StoredWrite]:
    """Returns the writes of a record, sorted by index."""
    writes: list[StoredWrite] = []
    for name in fields:
        if not _WRITE.match(name):
            continue
        first, value = unpack(join(name, fields) or b"")
        header = json.loads(first.bytes)
        blob = None if header["blob"] is None else BlobRef(*header["blob"])
        path = header.get("path", "")
        writes.append(StoredWrite(header["task"], header["index"], header["channel"], value, blob, path))
    return sorted(writes, key=lambda it: it.index)


def write_field(index: int) -> str:
    """Returns the first field of a pending write."""
    return f"i{index}"


def is_blob_field(name: str) -> bool:
    """Returns whether a field of a checkpoint's record is a small blob, or a part of one."""
    return name.startswith(SMALL_BLOB)


def small_blob_id(checkpoint_id: str, field: str) -> str:
    """Returns the `blob_id` of a small blob from its checkpoint and the name of one of its fields."""
    return f"{checkpoint_id} {SMALL_BLOB}{field.removeprefix(SMALL_BLOB).split('.', 1)[0]}"


def damaged(rule: str) -> TidemarkError:
    """Returns the error for a stored value that cannot be read."""
    return TidemarkError("CORRUPT_VALUE", f"A stored checkpoint is damaged: {rule}", rule=rule)


def _escape(unit: int) -> str:
    text = chr(unit)
    return text if text.isascii() and (text.isalnum() or text in "-_") else f"={unit:04x}"


def _field_name(name: str, at: int) -> str:
    return name if at == 0 else f"{name}.{at}"


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
