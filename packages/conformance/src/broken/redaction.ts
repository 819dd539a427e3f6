/** Stores that forget what they should not, or do not forget what they should: redaction gone wrong. */
import type { RunSnapshot } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_REDACTIONS: readonly BrokenStore[] = [
  broken('redaction-only-told', 'says that it redacted and does nothing', 'runs/redaction-takes-the-payload-out', {
    runs: () => ({ redactEvent: async () => true }),
  }),
  broken('chain-of-what-is-left', 'links what is left instead of what was', 'runs/redaction-keeps-the-chain', {
    runs: (runs) => ({
      async verify(runId, options) {
        const report = await runs.verify(runId, options);
        const isRedacted = (await runs.fetchEvents(runId)).some((event) => event.redacted);
        return isRedacted ? { ...report, ok: false, problem: { runSeq: 1, reason: 'its payload is gone' } } : report;
      },
    }),
  }),
  broken('restore-without-redaction', 'forgets redactions on the way', 'runs/redaction-survives-a-restore', {
    runs: (runs) => ({
      async *exportRun(runId, options) {
        for await (const part of runs.exportRun(runId, options))
          yield { ...part, events: part.events.map(({ redaction: _, ...event }) => event) };
      },
    }),
  }),
  broken('feed-keeps-copies', 'feeds copies that it kept', 'runs/redaction-reaches-the-feed', {
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
  broken('snapshot-keeps-it', 'leaves the stored snapshot as it was', 'runs/redaction-reaches-the-snapshot', () => {
    let stored: RunSnapshot | null = null;
    return {
      runs: (runs) => ({
        async getSnapshot(runId, options) {
          stored ??= await runs.getSnapshot(runId, options);
          return stored;
        },
      }),
    };
  }),
  broken('redacted-matches-all', 'takes any payload for the redacted one', 'runs/redaction-keeps-duplicates', {
    runs: (runs) => ({
      async appendEvent(event, options) {
        const result = await runs.appendEvent(event, options);
        return result.idempotent ? { ...result, payloadMatches: true } : result;
      },
    }),
  }),
  broken('redaction-by-nobody', 'fills in who and why', 'runs/redaction-needs-who-and-why', {
    runs: (runs) => ({
      redactEvent: (runId, runSeq, options) =>
        runs.redactEvent(runId, runSeq, { ...options, by: options.by || 'somebody', reason: 'some reason' }),
    }),
  }),
  broken('redacts-every-tenant', 'redacts runs of that id of all tenants', 'runs/redaction-stays-within-the-tenant', {
    runs: (_, whole) => ({
      async redactEvent(runId, runSeq, options) {
        for (const tenantId of (await whole.admin.listTenants()).items)
          await whole.runs.redactEvent(runId, runSeq, { ...options, tenantId });
        return true;
      },
    }),
  }),
];
