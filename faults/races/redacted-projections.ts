/**
 * One actor redacts an event while the other rebuilds a projection that uses its payload. Once both are done, no stored
 * state may contain the payload, and no state of an older version may be left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineProjection } from '@tidemark/core';
import { runEvent } from '../run-event.ts';
import type { Race } from './race.ts';

const SECRET = 'the payload that was redacted';
const ORDER = { by: 'officer', reason: 'request 4711' };

const versionOf = (version: number) =>
  defineProjection({
    name: 'notes',
    version,
    initial: { notes: [] as string[] },
    on: {
      Progress(state, event) {
        state.notes.push(String(event.payload?.note ?? 'redacted'));
      },
    },
  });

export const REDACTED_PROJECTIONS: Race = {
  summary: "' redaction during the rebuild of a projection",
  rounds: { short: 6, long: 100 },
  async round({ a, b, id, random }) {
    const tenantId = `tenant-${id}`;
    const [one, two] = [a.forTenant(tenantId), b.forTenant(tenantId)];
    const runId = `${id}-run`;
    const event = (note: string) => ({ ...runEvent(runId, note, { note }), tenantId });
    await one.runs.appendEvents(['a', SECRET, 'c'].map(event));
    const [before, after] = [versionOf(1), versionOf(2)];
    await before.rebuild(one);
    const rebuilding = after.rebuild(two);
    await sleep(random.between(0, 6));
    await one.runs.redactEvent(runId, 2, ORDER);
    await rebuilding;
    const problems: string[] = [];
    if (JSON.stringify(await after.get(two, runId)).includes(SECRET))
      problems.push('a state with the payload is served');
    await after.rebuild(two);
    for await (const { key, record } of one.kv.scan('tidemark.projections.notes.')) {
      if (key.startsWith('tidemark.projections.notes.1.')) problems.push(`${key} of the old version is left`);
      if (Buffer.from(record.fields.state ?? []).includes(SECRET)) problems.push(`${key} holds the redacted payload`);
    }
    return { checks: 1, problems };
  },
};
