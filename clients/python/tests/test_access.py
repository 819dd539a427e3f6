"""Tokens and tenants."""

from __future__ import annotations

from tidemark import StateStore, StoredEvent

from .case import PATIENCE_SECONDS, StoreCase, new_name
from .servers import Server

OPERATOR, ACME = "operator-token", "acme-token"


class Access(StoreCase):
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server({OPERATOR: None, ACME: "acme"})
        cls.addClassCleanup(cls.server.dispose)

    async def open(self, token: str | None, tenant: str | None = None) -> StateStore:
        return await self.enterAsyncContext(StateStore(self.server.url, token, tenant, timeout=PATIENCE_SECONDS))

    async def test_is_refused_without_a_token_and_with_a_wrong_one(self) -> None:
        for token in (None, "wrong", f"{ACME}x"):
            store = await self.open(token)
            for call in (store.load_history("t"), store.save_memory_state("k", {}), store.kv.get("k")):
                failure = await self.failure_of(call)
                wanted = ("UNAUTHENTICATED", False, "rejected", 1)
                self.assertEqual((failure.code, failure.retryable, failure.outcome, failure.attempts), wanted)
            failure = await self.failure_of(anext(store.runs.tail("run")))
            self.assertEqual(failure.code, "UNAUTHENTICATED")

    async def test_of_a_token_is_confined_to_its_tenant(self) -> None:
        failure = await self.failure_of((await self.open(ACME, "other")).load_history("t"))
        self.assertEqual(failure.code, "TENANT_MISMATCH")
        trace = new_name("trace")
        await (await self.open(ACME)).save_event(StoredEvent(trace, 1.0, "k"))
        self.assertEqual(len(await (await self.open(ACME, "acme")).load_history(trace)), 1)
        self.assertEqual(len(await (await self.open(OPERATOR, "acme")).load_history(trace)), 1)
        self.assertEqual(await (await self.open(OPERATOR)).load_history(trace), [])

    async def test_of_a_token_decides_the_tenant_of_events(self) -> None:
        store = await self.open(ACME)
        run = new_name("run")
        await store.runs.append_event({"runId": run, "eventType": "Note"})
        self.assertEqual([it["tenantId"] for it in await store.runs.fetch_events(run)], ["acme"])

    async def test_of_an_operator_is_for_the_tenant_it_names(self) -> None:
        name = new_name("name")
        tenants = ["one", "t/w:o %2F", ".."]
        stores = {tenant: await self.open(OPERATOR, tenant) for tenant in tenants}
        for tenant, store in stores.items():
            await store.save_memory_state(name, {"tenant": tenant})
            await store.kv.put(name, {"tenant": tenant})
            await store.runs.append_event({"runId": name, "eventType": "Note"})
            await store.artifact_store.put_text(tenant, scope={"session_id": name})
        for tenant, store in stores.items():
            self.assertEqual(await store.load_memory_state(name), {"tenant": tenant})
            self.assertEqual(await store.kv.get_field(name, "tenant"), tenant.encode())
            self.assertEqual([it["tenantId"] for it in await store.runs.fetch_events(name)], [tenant])
            (ref,) = await store.artifact_store.list(scope={"session_id": name})
            self.assertEqual(await store.artifact_store.get(ref.id), tenant.encode())
        failure = await self.failure_of((await self.open(OPERATOR)).runs.fetch_events(name))
        self.assertEqual(failure.code, "AMBIGUOUS_RUN")

    async def test_of_a_scope_is_confined_too(self) -> None:
        store = await self.open(ACME)
        failure = await self.failure_of(store.artifact_store.put_text("x", scope={"tenant_id": "other"}))
        self.assertEqual((failure.code, failure.field), ("TENANT_MISMATCH", "scope.tenantId"))
        ref = await store.artifact_store.put_text("x", scope={"tenant_id": "acme"})
        self.assertEqual(await (await self.open(OPERATOR)).artifact_store.get(ref.id), b"x")
