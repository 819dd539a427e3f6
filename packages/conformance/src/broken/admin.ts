/** Broken administration: listings, pauses read and put by an operator, and erasures of tenants and sessions. */
import type { PauseContent } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_ADMINS: readonly BrokenStore[] = [
  broken('tenants-in-no-order', 'lists tenants in any order', 'general/admin-lists-tenants', {
    admin: (admin) => ({
      async listTenants(options) {
        const page = await admin.listTenants(options);
        return { ...page, items: [...page.items].reverse() };
      },
    }),
  }),
  broken('traces-of-events-only', 'forgets traces that only have bindings', 'general/admin-lists-traces', {
    admin: (admin, whole) => ({
      async listAllTraces(options) {
        const page = await admin.listAllTraces(options);
        const { agents } = whole.forTenant(options?.tenantId ?? 'default');
        const histories = await Promise.all(page.items.map((traceId) => agents.loadHistory(traceId)));
        return { ...page, items: page.items.filter((_, at) => histories[at]!.length > 0) };
      },
    }),
  }),
  broken(
    'pauses-read-for-ever',
    'returns the payload of a pause after the pause has ended',
    'general/admin-reads-pauses',
    () => {
      const read = new Map<string, PauseContent>();
      return {
        admin: (admin) => ({
          async readPause(pauseId, options) {
            const content = (await admin.readPause(pauseId, options)) ?? read.get(pauseId) ?? null;
            if (content) read.set(pauseId, content);
            return content;
          },
        }),
      };
    },
  ),
  broken('archived-runs-unlisted', 'lists deleted runs only', 'general/admin-lists-removed-runs', {
    admin: (admin) => ({
      async listRemovedRuns(options) {
        const page = await admin.listRemovedRuns(options);
        return { ...page, items: page.items.filter(({ kind }) => kind === 'deleted') };
      },
    }),
  }),
  broken('artifacts-of-one-tenant', 'lists the artifacts of the first tenant only', 'general/admin-lists-artifacts', {
    admin: (admin) => ({
      async listArtifacts(options) {
        const page = await admin.listArtifacts(options);
        return { ...page, items: page.items.filter(({ tenantId }) => tenantId === page.items[0]!.tenantId) };
      },
    }),
  }),
  broken(
    'artifact-cursors-of-anybody',
    'follows a cursor to another tenant',
    'general/admin-artifact-lists-stay-in-the-view',
    {
      admin: (admin, whole) => ({
        listArtifacts: (options) => (options?.cursor ? whole : { admin }).admin.listArtifacts(options),
      }),
    },
  ),
  broken('artifacts-counted-by-reference', 'counts shared bytes twice', 'general/admin-counts-artifacts', {
    admin: (admin) => ({
      async artifactTotals(options) {
        const { items, ...page } = await admin.artifactTotals(options);
        return { ...page, items: items.map((it) => ({ ...it, blobs: it.references })) };
      },
    }),
  }),
  broken('consumed-pauses-wait-again', 'stores every pause as waiting', 'general/admin-carries-consumed-pauses', {
    admin: (admin) => ({
      putPause: (pause, options) =>
        admin.putPause({ ...pause, state: 'waiting', payload: pause.payload ?? {} }, options),
    }),
  }),
  broken('erasure-without-a-mark', 'leaves no mark of an erased session', 'general/erased-sessions-leave-a-mark', {
    admin: (admin, _, view) => ({
      async eraseSession(sessionId, options) {
        const report = await admin.eraseSession(sessionId, options);
        for await (const { key } of view.kv.scan('tidemark.erased.')) await view.kv.delete(key);
        return report;
      },
    }),
  }),
  broken(
    'erasure-leaves-the-feed',
    'keeps an event of an erased tenant in the feed',
    'general/erased-tenants-leave-the-feed',
    {
      admin: (admin, whole) => ({
        async eraseTenant(tenantId, options) {
          const report = await admin.eraseTenant(tenantId, options);
          await whole.forTenant(tenantId).runs.handle('r').append('Note', { text: 'left' });
          return report;
        },
      }),
    },
  ),
  broken(
    'erasure-forgets-records',
    'leaves a record of an erased tenant behind',
    'general/erased-tenants-leave-nothing',
    {
      admin: (admin, whole) => ({
        async eraseTenant(tenantId, options) {
          const report = await admin.eraseTenant(tenantId, options);
          await whole.forTenant(tenantId).kv.put('plain', { text: 'left' });
          return report;
        },
      }),
    },
  ),
  broken('erasure-counts-events', 'counts every event of an erased run', 'general/erasure-counts-items', {
    admin: (admin, whole) => ({
      async eraseTenant(tenantId, options) {
        const { runs } = whole.forTenant(tenantId);
        const { items } = await runs.listRuns();
        const lengths = await Promise.all(items.map(({ runId }) => runs.headSeq(runId)));
        const report = await admin.eraseTenant(tenantId, options);
        return { ...report, removed: { ...report.removed, runs: lengths.reduce((sum, length) => sum + length, 0) } };
      },
    }),
  }),
  broken('erasure-in-silence', 'reports no progress during an erasure', 'general/erasure-tells-and-repeats', {
    admin: (admin) => ({ eraseTenant: (tenantId) => admin.eraseTenant(tenantId) }),
  }),
  broken('erasure-without-steps', 'ignores the abort signal of an erasure', 'general/erasure-goes-on-where-it-was', {
    admin: (admin) => ({
      eraseTenant: (tenantId, { signal: _, ...options } = {}) => admin.eraseTenant(tenantId, options),
    }),
  }),
  broken('views-erase-others', 'lets a view erase any tenant', 'general/erasure-stays-within-the-view', {
    admin: (_, whole) => ({ eraseTenant: (tenantId, options) => whole.admin.eraseTenant(tenantId, options) }),
  }),
  broken('sessions-without-traces', 'deletes only the session itself', 'general/erased-sessions-leave-nothing', {
    admin: (_, __, view) => ({
      async eraseSession(sessionId) {
        const removed = { ...(await view.agents.deleteSession(sessionId)) };
        return { tenantId: view.info.tenantId!, sessionId, removed };
      },
    }),
  }),
  broken('sessions-of-all', 'erases sessions of all tenants', 'general/session-erasure-stays-within-the-tenant', {
    admin: (admin, whole) => ({
      async eraseSession(sessionId, options) {
        for (const tenantId of (await whole.admin.listTenants()).items)
          await whole.admin.eraseSession(sessionId, { tenantId });
        return admin.eraseSession(sessionId, options);
      },
    }),
  }),
];
