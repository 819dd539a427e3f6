/** Broken redaction: payloads that remain, or chains and duplicates that fail. */
import type { RunSnapshot } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_REDACTIONS: readonly BrokenStore[] = [
  broken('redaction-only-reported', 'reports a redaction and does nothing', 'runs/redaction-takes-the-payload-out', {
    runs: () => ({ redactEvent: async () => true }),
  }),
  broken('chain-of-what-is-left', 'fails the verification of a redacted run', 'runs/redaction-keeps-the-chain', {
    runs: (runs) => ({
      async verify(runId, options) {
        const report = await runs.verify(runId, options);
        const isRedacted = (await runs.fetchEvents(runId)).some((event) => event.redacted);
        return isRedacted ? { ...report, ok: false, problem: { runSeq: 1, reason: 'its payload is gone' } } : report;
      },
    }),
  }),
  broken('restore-without-redaction', 'loses redactions in exports', 'runs/redaction-survives-a-restore', {
    runs: (runs) => ({
      async *exportRun(runId, options) {
        for await (const part of runs.exportRun(runId, options))
          yield { ...part, events: part.events.map(({ redaction: _, ...event }) => event) };
      },
    }),
  }),
  broken('feed-keeps-copies', 'serves cached payloads in the feed', 'runs/redaction-reaches-the-feed', {
    runs: (runs) => ({
      async feedPage(options) {
        const page = await runs.feedPage(options);
        return {
          ...page,
          items: page.items.map((item) => ({ ...item, event: { ...item.event, payload: { n: item.event.runSeq } } })),
        };
      },
    }),
  }),
  broken(
    'snapshot-keeps-it',
    'keeps the stored snapshot after a redaction',
    'runs/redaction-reaches-the-snapshot',
    () => {
      let stored: RunSnapshot | null = null;
      return {
        runs: (runs) => ({
          async getSnapshot(runId, options) {
            stored ??= await runs.getSnapshot(runId, options);
            return stored;
          },
        }),
      };
    },
  ),
  broken('redacted-matches-all', 'treats any payload as equal to a redacted one', 'runs/redaction-keeps-duplicates', {
    runs: (runs) => ({
      async appendEvent(event, options) {
        const result = await runs.appendEvent(event, options);
        return result.idempotent ? { ...result, payloadMatches: true } : result;
      },
    }),
  }),
  broken('redaction-by-nobody', 'fills in a missing name or reason', 'runs/redaction-needs-who-and-why', {
    runs: (runs) => ({
      redactEvent: (runId, runSeq, options) =>
        runs.redactEvent(runId, runSeq, { ...options, by: options.by || 'somebody', reason: 'some reason' }),
    }),
  }),
  broken(
    'redacts-every-tenant',
    'redacts runs with the same id of all tenants',
    'runs/redaction-stays-within-the-tenant',
    {
      runs: (_, whole) => ({
        async redactEvent(runId, runSeq, options) {
          for (const tenantId of (await whole.admin.listTenants()).items)
            await whole.runs.redactEvent(runId, runSeq, { ...options, tenantId });
          return true;
        },
      }),
    },
  ),
];
