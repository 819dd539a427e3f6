"""Records by key."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tidemark import Delete, Put, SetFields

from .case import StoreCase, new_name


class Records(StoreCase):
    async def test_are_replaced_whole_and_read_with_revision_and_ttl(self) -> None:
        key = new_name("key")
        self.assertIsNone(await self.store.kv.get(key))
        first = await self.store.kv.put(key, {"gone": "x"})
        second = await self.store.kv.put(key, {"text": "ünï", "bytes": b"\xff\0"}, ttl=timedelta(hours=1))
        record = await self.store.kv.get(key)
        assert record is not None and record.ttl is not None
        self.assertEqual(record.fields, {"text": "ünï".encode(), "bytes": b"\xff\0"})
        self.assertEqual((record.text("text"), record.text("gone")), ("ünï", None))
        self.assertGreater(second, first)
        self.assertEqual(record.revision, second)
        self.assertTrue(timedelta(minutes=59) < record.ttl <= timedelta(hours=1))

    async def test_store_values_as_every_client_writes_them(self) -> None:
        key = new_name("key")
        values = {"int": 2**70, "float": 1.0, "exponent": 1e21, "true": True, "empty": ""}
        await self.store.kv.put(key, values)
        record = await self.store.kv.get(key)
        assert record is not None
        texts = {name: record.text(name) for name in values}
        self.assertEqual(texts, {"int": str(2**70), "float": "1", "exponent": "1e+21", "true": "true", "empty": ""})

    async def test_have_fields_that_are_written_individually(self) -> None:
        key = new_name("key")
        self.assertIsNone(await self.store.kv.get_field(key, "a"))
        await self.store.kv.put(key, {"a": "1"}, ttl=timedelta(hours=1))
        revision = await self.store.kv.set_field(key, "b", b"2")
        record = await self.store.kv.get(key)
        assert record is not None
        self.assertEqual((record.fields, record.revision), ({"a": b"1", "b": b"2"}, revision))
        self.assertIsNotNone(record.ttl)
        self.assertEqual(await self.store.kv.get_field(key, "b"), b"2")

    async def test_have_fields_that_are_written_together(self) -> None:
        key = new_name("key")
        self.assertIsNone(await self.store.kv.set_fields(key, {"a": 1}, if_exists=True))
        self.assertIsNone(await self.store.kv.get(key))
        first = await self.store.kv.set_fields(key, {"a": 1, "b": b"\xff", "c": 0.5})
        second = await self.store.kv.set_fields(key, {"a": None, "b": "2"}, if_exists=True)
        record = await self.store.kv.get(key)
        assert record is not None and first is not None and second is not None
        self.assertEqual((record.fields, record.revision), ({"b": b"2", "c": b"0.5"}, second))
        self.assertGreater(second, first)
        self.assertIsNone(await self.store.kv.set_fields(key, {"b": None, "c": None}))
        self.assertIsNone(await self.store.kv.get(key))
        failure = await self.failure_of(self.store.kv.set_fields(key, {}))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "fields"))

    async def test_are_swapped_by_exactly_one_of_many(self) -> None:
        key = new_name("key")
        tries = [self.store.kv.compare_and_swap(key, "owner", None, f"worker-{n}") for n in range(20)]
        won = [n for n, swapped in enumerate(await asyncio.gather(*tries)) if swapped]
        self.assertEqual(len(won), 1)
        self.assertEqual(await self.store.kv.get_field(key, "owner"), f"worker-{won[0]}".encode())
        self.assertFalse(await self.store.kv.compare_and_swap(key, "owner", "nobody", "x"))
        self.assertTrue(await self.store.kv.compare_and_swap(key, "owner", f"worker-{won[0]}", None))
        self.assertIsNone(await self.store.kv.get(key))

    async def test_are_written_in_one_step_or_not_at_all(self) -> None:
        key, other, gone = new_name("key"), new_name("other"), new_name("gone")
        await self.store.kv.put(key, {"balance": 10, "bytes": b"\xff"}, ttl=timedelta(hours=1))
        await self.store.kv.put(gone, {"a": 1})
        operations = [
            SetFields(key=key, fields={"balance": 7, "bytes": None}, expected={"balance": 10, "none": None}),
            Put(key=other, fields={"balance": 3}, ttl=timedelta(hours=1), expected_revision=0),
            Delete(key=gone),
        ]
        first = await self.store.kv.batch(operations, request_id="transfer")
        record, copy = await self.store.kv.get(key), await self.store.kv.get(other)
        assert record is not None and copy is not None
        self.assertEqual((record.fields, copy.fields), ({"balance": b"7"}, {"balance": b"3"}))
        self.assertTrue(record.ttl is not None and copy.ttl is not None)
        self.assertIsNone(await self.store.kv.get(gone))
        self.assertEqual(first.revisions, (record.revision, copy.revision, None))
        self.assertEqual((first.written, first.existed), (True, (True, False, True)))
        self.assertEqual(await self.store.kv.batch(operations, request_id="transfer"), first)
        refused = await self.store.kv.batch([Delete(key=key), *operations[1:2]])
        unmet = refused.unmet
        assert unmet is not None and unmet.record is not None
        self.assertEqual((refused.written, refused.revisions), (False, ()))
        self.assertEqual((unmet.index, unmet.key, unmet.condition), (1, other, "expectedRevision"))
        self.assertEqual(unmet.record.fields, {"balance": b"3"})
        self.assertIsNotNone(await self.store.kv.get(key))
        failure = await self.failure_of(self.store.kv.batch([Delete(key=key), Delete(key=key)]))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "operations[1].key"))
        failure = await self.failure_of(self.store.kv.batch(["delete"]))  # type: ignore[list-item]
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "operations[0]"))

    async def test_are_not_sealed_by_a_server_without_a_key(self) -> None:
        key = new_name("key")
        writes = [
            self.store.kv.put(key, {"a": 1}, sealed=True),
            self.store.kv.set_field(key, "a", 1, sealed=True),
            self.store.kv.set_fields(key, {"a": 1}, sealed=["a"]),
            self.store.kv.batch([Put(key=key, fields={"a": 1}, sealed=["a"])]),
        ]
        for write in writes:
            failure = await self.failure_of(write)
            self.assertEqual(failure.code, "INVALID_ARGUMENT")
            self.assertIn("codec", str(failure))
        self.assertIsNone(await self.store.kv.get(key))
        failure = await self.failure_of(self.store.kv.put(key, {"a": 1}, sealed="a"))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "sealed"))

    async def test_are_deleted(self) -> None:
        key = new_name("key")
        await self.store.kv.put(key, {"a": 1})
        self.assertTrue(await self.store.kv.delete(key))
        self.assertFalse(await self.store.kv.delete(key))

    async def test_are_scanned_in_order_across_pages(self) -> None:
        prefix = new_name("prefix")
        keys = [f"{prefix}.{number:03}" for number in range(450)]
        await asyncio.gather(*(self.store.kv.put(key, {"n": key[-3:].lstrip("0") or "0"}) for key in reversed(keys)))
        self.assertEqual([key async for key, _ in self.store.kv.scan(prefix)], keys)
        where = [("n", "gte", 9), ("n", "lt", "11")]
        self.assertEqual([key async for key, _ in self.store.kv.scan(prefix, where=where)], keys[9:11])
        found = [record.text("n") async for _, record in self.store.kv.scan(prefix, where=[("n", "in", [3, "4", 999])])]
        self.assertEqual(found, ["3", "4"])
        self.assertEqual([key async for key, _ in self.store.kv.scan(prefix, max_results=2)], keys[:2])

    async def test_are_scanned_counted_and_deleted_by_range(self) -> None:
        prefix = new_name("range")
        keys = [f"{prefix}.{number:02}" for number in range(30)]
        await asyncio.gather(*(self.store.kv.put(key, {"n": 1}) for key in keys))
        bounds = {"start": keys[5], "end": keys[25]}
        found = [key async for key, _ in self.store.kv.scan(prefix, reverse=True, **bounds)]
        self.assertEqual(found, keys[24:4:-1])
        self.assertEqual([key async for key in self.store.kv.scan_keys(prefix, max_results=2, **bounds)], keys[5:7])
        self.assertEqual(await self.store.kv.count(prefix, **bounds), (20, True))
        self.assertEqual(await self.store.kv.count(prefix, where=[("n", "gt", 1)]), (0, True))
        self.assertEqual(await self.store.kv.delete_prefix(prefix, **bounds), 20)
        self.assertEqual([key async for key in self.store.kv.scan_keys(prefix)], keys[:5] + keys[25:])
        failure = await self.failure_of(self.store.kv.delete_prefix(""))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "prefix"))

    async def test_are_rejected_without_fields_and_with_invalid_values(self) -> None:
        self.assertEqual((await self.failure_of(self.store.kv.put("key", {}))).field, "fields")
        for value in (None, float("nan"), object(), "\ud800"):
            failure = await self.failure_of(self.store.kv.put("key", {"a": value}))  # type: ignore[dict-item]
            self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "fields.a"))
        failure = await self.failure_of(self.store.kv.put("key", {"a": 1}, ttl=60))  # type: ignore[arg-type]
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "ttl"))
