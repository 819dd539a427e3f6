"""Artifacts by reference, each in its scope."""

from __future__ import annotations

import hashlib

from tidemark import ArtifactScope

from .case import StoreCase, new_name


class Artifacts(StoreCase):
    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.artifacts = self.store.artifact_store

    async def test_return_their_bytes_and_reference(self) -> None:
        data = bytes(range(256)) * 2_000
        scope = ArtifactScope(user_id="u", session_id=new_name("session"), trace_id="t")
        name = 'naïve "name".png'
        about = {"mime_type": "image/png", "filename": name, "namespace": "tool", "meta": {"pages": [1]}}
        ref = await self.artifacts.put_bytes(data, scope=scope, **about)
        self.assertEqual((ref.mime_type, ref.size_bytes, ref.filename), ("image/png", len(data), name))
        self.assertEqual((ref.sha256, ref.namespace), (hashlib.sha256(data).hexdigest(), "tool"))
        self.assertEqual(ref.source, {"pages": [1]})
        self.assertEqual((ref.scope.user_id, ref.scope.session_id), ("u", scope.session_id))
        self.assertEqual((ref.scope.trace_id, ref.scope.tenant_id), ("t", None))
        self.assertEqual(await self.artifacts.get(ref.id), data)
        self.assertEqual(await self.artifacts.get_ref(ref.id), ref)
        self.assertTrue(await self.artifacts.exists(ref.id))

    async def test_return_a_part_of_their_bytes(self) -> None:
        data = bytes(range(256)) * 2_000
        ref = await self.artifacts.put_bytes(data)
        parts = [(0, None), (0, 1), (7, 7), (262_143, 262_145), (511_999, None), (5, 600_000), (512_000, None)]
        for start, end in [*parts, (10**9, None)]:
            self.assertEqual(await self.artifacts.get(ref.id, start=start, end=end), data[start:end], (start, end))
            self.assertIsNone(await self.artifacts.get("unknown", start=start, end=end))
        for field, bad in (("start", {"start": -1}), ("start", {"start": 1.5}), ("end", {"start": 3, "end": 2})):
            failure = await self.failure_of(self.artifacts.get(ref.id, **bad))
            self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", field))

    async def test_can_be_text_or_empty(self) -> None:
        ref = await self.artifacts.put_text("日本語 🌊")
        self.assertEqual((ref.mime_type, ref.scope), ("text/plain", None))
        self.assertEqual((await self.artifacts.get(ref.id) or b"").decode(), "日本語 🌊")
        empty = await self.artifacts.put_bytes(b"")
        self.assertEqual((await self.artifacts.get(empty.id), empty.size_bytes), (b"", 0))

    async def test_are_found_by_id_whatever_tenant_their_scope_names(self) -> None:
        tenant = "ac/me @ 100%"
        ref = await self.artifacts.put_text("hello", scope={"tenant_id": tenant, "session_id": "s"})
        self.assertEqual(ref.scope.tenant_id, tenant)
        self.assertEqual(await self.artifacts.get(ref.id), b"hello")
        self.assertEqual(await self.artifacts.get_ref(ref.id), ref)
        self.assertIn(ref, await self.artifacts.list(scope={"tenant_id": tenant}))
        self.assertNotIn(ref.id, [it.id for it in await self.artifacts.list()])
        self.assertTrue(await self.artifacts.delete(ref.id))
        self.assertFalse(await self.artifacts.exists(ref.id))

    async def test_of_two_sessions_are_two(self) -> None:
        first, second = new_name("session"), new_name("session")
        refs = [await self.artifacts.put_text("same", scope={"session_id": it}) for it in (first, second)]
        self.assertNotEqual(refs[0].id, refs[1].id)
        self.assertEqual([it.id for it in await self.artifacts.list(scope={"session_id": first})], [refs[0].id])
        self.assertTrue(await self.artifacts.delete(refs[0].id))
        self.assertEqual(await self.artifacts.get(refs[1].id), b"same")

    async def test_that_are_unknown_return_none(self) -> None:
        for id in ("art_unknown", "..", "a/b", "x@y"):
            self.assertIsNone(await self.artifacts.get(id))
            self.assertIsNone(await self.artifacts.get_ref(id))
            self.assertFalse(await self.artifacts.exists(id))
            self.assertFalse(await self.artifacts.delete(id))

    async def test_are_rejected_when_invalid(self) -> None:
        failure = await self.failure_of(self.artifacts.put_text("\ud800"))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "text"))
        failure = await self.failure_of(self.artifacts.put_bytes("text"))  # type: ignore[arg-type]
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "data"))
        failure = await self.failure_of(self.artifacts.list(scope={"session": "s"}))
        self.assertEqual((failure.code, failure.field), ("INVALID_ARGUMENT", "session"))
