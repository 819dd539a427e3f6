/** Scopes of artifacts: a session, trace, user or tenant never sees, changes or deletes another's (AGT-11). */
import type { ArtifactRef, ArtifactScope } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { casesOf, inOrder } from '../agents/samples.ts';
import { HOSTILE_IDS } from '../poison.ts';
import { expectThere, listed, sameBytes, TEXT } from './samples.ts';

const artifacts = casesOf('artifacts', 'artifacts');

export const SCOPE_CASES: ConformanceCase[] = [
  artifacts({
    id: 'artifacts/same-bytes-same-scope-one-reference',
    title: 'The same bytes in the same scope and namespace are one reference',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const scope = { sessionId: 'session', traceId: 'trace' };
      const first = await store.putText(TEXT, { scope });
      const again = await store.putBytes(Buffer.from(TEXT), { scope });
      expectEqual(again.id, first.id, 'storing again returns the same reference');
      const elsewhere = await store.putText(TEXT, { scope, namespace: 'other' });
      expect(elsewhere.id !== first.id, 'another namespace has its own reference');
      expectEqual(await listed(store), [first.id, elsewhere.id].sort(), 'each is listed once');
    },
  }),

  artifacts({
    id: 'artifacts/same-bytes-two-sessions-two-references',
    title: 'The same bytes in two sessions are two references, with separate names',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const one = await store.putText(TEXT, {
        scope: { sessionId: 'one' },
        filename: 'one.txt',
        mimeType: 'text/plain',
      });
      const two = await store.putText(TEXT, {
        scope: { sessionId: 'two' },
        filename: 'two.md',
        mimeType: 'text/markdown',
      });
      expect(one.id !== two.id, 'two sessions have two references');
      expectEqual(
        [(await store.getRef(one.id))?.filename, (await store.getRef(two.id))?.filename],
        ['one.txt', 'two.md'],
        'each keeps its name',
      );
      expectEqual(
        [(await store.getRef(one.id))?.mimeType, (await store.getRef(two.id))?.mimeType],
        ['text/plain', 'text/markdown'],
        'each reference keeps its type',
      );
    },
  }),

  artifacts({
    id: 'artifacts/deleting-one-leaves-the-other',
    title: 'Deleting a reference leaves the same bytes in another session',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const [one, two] = [
        await store.putText(TEXT, { scope: { sessionId: 'one' } }),
        await store.putText(TEXT, { scope: { sessionId: 'two' } }),
      ];
      expectEqual(await store.delete(one.id), true, 'delete returns true for a stored reference');
      expectEqual(await store.delete(one.id), false, 'delete returns false for a missing reference');
      await expectThere(store, one, false);
      expect(sameBytes(await store.get(two.id), TEXT), 'the other session still has its bytes');
      await bench.pass(10);
      await store.sweep({ grace: 1 });
      expect(sameBytes(await store.get(two.id), TEXT), 'the other session still has its bytes after a sweep');
      await store.putText(TEXT, { scope: { sessionId: 'one' } });
      await expectThere(store, one, true);
    },
  }),

  artifacts({
    id: 'artifacts/another-session-sees-nothing',
    title: 'A session never sees or deletes artifacts of another session',
    proves: ['AGT-11', '000 artifact_store'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const scope = { userId: 'user', sessionId: 'mine', traceId: 'trace' };
      const ref = await store.putText(TEXT, { scope });
      const others = [
        { sessionId: 'other' },
        { ...scope, sessionId: 'other' },
        { ...scope, userId: 'other' },
        { ...scope, traceId: 'other' },
      ];
      for (const other of [...others, { sessionId: 'min' }, { sessionId: 'MINE' }, { sessionId: 'mine%' }]) {
        await expectThere(store, ref, false, other);
        expectEqual(await store.delete(ref.id, { scope: other }), false, 'another session cannot delete it');
      }
      for (const agreeing of [
        scope,
        { sessionId: 'mine' },
        { traceId: 'trace' },
        { sessionId: 'mine', userId: null },
        {},
      ]) {
        await expectThere(store, ref, true, agreeing);
      }
      expectEqual(await store.delete(ref.id, { scope }), true, 'its own session may delete it');
    },
  }),

  artifacts({
    id: 'artifacts/unscoped-fails-every-filter',
    title: 'An artifact without a scope fails every scope filter',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const unscoped = await store.putText(TEXT);
      await expectThere(store, unscoped, true);
      await expectThere(store, unscoped, true, { sessionId: null });
      for (const scope of [{ sessionId: 'any' }, { traceId: 'any' }, { userId: 'any' }, { sessionId: 'null' }]) {
        await expectThere(store, unscoped, false, scope);
        expectEqual(
          await store.delete(unscoped.id, { scope }),
          false,
          'an artifact without a scope cannot be deleted with one',
        );
      }
    },
  }),

  artifacts({
    id: 'artifacts/listed-by-scope',
    title: 'References are listed by scope, in order of ids, page by page',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const refs: ArtifactRef[] = [];
      await inOrder(
        Array.from({ length: 10 }, (_, n) => n),
        async (n) => {
          const scope = { sessionId: n % 2 ? 'odd' : 'even', traceId: n < 5 ? 'low' : 'high' };
          refs.push(await store.putText(`text ${n}`, { scope }));
        },
      );
      const idsOf = (keep: (n: number) => boolean) =>
        refs
          .filter((_, n) => keep(n))
          .map((ref) => ref.id)
          .sort();
      expectEqual(
        await listed(store),
        idsOf(() => true),
        'lists all references',
      );
      expectEqual(
        await listed(store, { sessionId: 'odd' }),
        idsOf((n) => n % 2 === 1),
        'lists the references of a session',
      );
      expectEqual(
        await listed(store, { sessionId: 'odd', traceId: 'low' }),
        idsOf((n) => n % 2 === 1 && n < 5),
        'lists the references of a session and trace',
      );
      expectEqual(await listed(store, { sessionId: 'none' }), [], 'an unknown session has none');
      expectEqual(
        (await store.list({ sessionId: 'even' }, { limit: 3 })).items.length,
        3,
        'a page holds as many as its limit',
      );
    },
  }),

  artifacts({
    id: 'artifacts/sessions-of-any-name',
    title: 'Sessions with unusual names keep their artifacts apart',
    proves: ['GEN-5', 'AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const refs = new Map<string, string>();
      await inOrder(HOSTILE_IDS, async (sessionId) =>
        refs.set(sessionId, (await store.putText(TEXT, { scope: { sessionId } })).id),
      );
      expectEqual(new Set(refs.values()).size, HOSTILE_IDS.length, 'every session has a separate reference');
      for (const [sessionId, id] of refs) {
        expectEqual(
          await listed(store, { sessionId }),
          [id],
          `the session ${JSON.stringify(sessionId)} lists only its own`,
        );
      }
    },
  }),

  artifacts({
    id: 'artifacts/parts-of-a-scope-never-meet',
    title: 'The same name as user, session and trace denotes three scopes',
    proves: ['GEN-5', 'AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const scopes: ArtifactScope[] = [
        { userId: 'a' },
        { sessionId: 'a' },
        { traceId: 'a' },
        { sessionId: 'a:b' },
        { sessionId: 'a', traceId: 'b' },
        {},
      ];
      const refs = await Promise.all(scopes.map((scope) => store.putText(TEXT, { scope })));
      expectEqual(new Set(refs.map((ref) => ref.id)).size, scopes.length, 'every scope has a separate reference');
    },
  }),

  artifacts({
    id: 'artifacts/tenants-are-apart',
    title: 'A tenant never sees, lists or deletes artifacts of another tenant',
    proves: ['GEN-10', 'AGT-11'],
    async run(bench) {
      const mine = bench.tenant.artifacts;
      const theirs = bench.store.forTenant(`${bench.tenantId}:a`).artifacts;
      const scope = { sessionId: 'session' };
      const ref = await mine.putText(TEXT, { scope });
      await expectThere(theirs, ref, false);
      await expectThere(theirs, ref, false, scope);
      expectEqual(await theirs.delete(ref.id), false, 'another tenant has nothing to delete');
      const named = { scope: { ...scope, tenantId: bench.tenantId } };
      await expectCode('TENANT_MISMATCH', 'a view refuses a scope with another tenant', () =>
        theirs.get(ref.id, named),
      );
      await expectCode('TENANT_MISMATCH', 'a view refuses to store for another tenant', () =>
        theirs.putText(TEXT, named),
      );
      expect(sameBytes(await mine.get(ref.id), TEXT), 'its own tenant still has the artifact');
      await theirs.delete((await theirs.putText(TEXT, { scope })).id);
      await bench.pass(10);
      await theirs.sweep({ grace: 1 });
      expect(
        sameBytes(await mine.get(ref.id), TEXT),
        'another tenant deletes only its own reference to the same bytes',
      );
    },
  }),
];
