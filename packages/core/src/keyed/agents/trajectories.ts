/**
 * Trajectories over records (AGT-9). Each trace has an owner record that refers to its session, and each (session,
 * trace) has a body and a list entry. The owner is written last and read together with the others, which count only if
 * it exists.
 */
import type { TrajectoryEngine } from '../../engine/agents.ts';
import type { EngineCall } from '../../engine/call.ts';
import type { RecordName, Records, RecordWrite } from '../../engine/records.ts';
import { CONFLICT, type Contention } from '../../tools/contention.ts';
import { joinKey, keyPrefix, splitKey } from '../../tools/joined-keys.ts';
import { inParts } from '../../tools/paging.ts';
import { fieldsOf, numberField, textField } from '../../tools/record-fields.ts';
import { scanRecords } from '../scan.ts';
import type { SessionBook } from './session-book.ts';

const PAGE = 200;

export interface KeyedTrajectories extends TrajectoryEngine {
  /** Removes all trajectories of a session, each after `before(traceId)` resolves. Returns the number removed. */
  removeAll(
    tenantId: string,
    sessionId: string,
    before: (traceId: string) => Promise<void>,
    call: EngineCall,
  ): Promise<number>;
}

export function keyedTrajectories(records: Records, contention: Contention, sessions: SessionBook): KeyedTrajectories {
  const listEntries = async (tenantId: string, sessionId: string, call: EngineCall) => {
    const entries: { traceId: string; recency: number }[] = [];
    const range = { prefix: keyPrefix(['list', sessionId]) };
    for await (const record of scanRecords(records, 'trajectories', tenantId, range, call)) {
      entries.push({ traceId: splitKey(record.key)[2]!, recency: numberField(record, 'recency') });
    }
    return entries.sort((a, b) => b.recency - a.recency);
  };

  return {
    async save(tenantId, { traceId, sessionId, body }, call) {
      const names = namesOf(tenantId, traceId, sessionId);
      const outcome = await contention.settle(call, async () => {
        const [owner] = await records.get([names.owner], call);
        const session = owner ? textField(owner, 'session') : null;
        if (session !== null && session !== sessionId) return 'other-session';
        const recency = await sessions.next(tenantId, sessionId, call);
        const writes: RecordWrite[] = [
          { name: names.body, mode: 'replace', set: fieldsOf({ body }) },
          { name: names.entry, mode: 'replace', set: fieldsOf({ recency }) },
          {
            name: names.owner,
            mode: 'replace',
            expect: { fields: fieldsOf({ session }) },
            set: fieldsOf({ session: sessionId }),
          },
        ];
        const [first] = await records.batch(writes, call);
        return first!.applied ? 'saved' : CONFLICT;
      });
      // Done again, because the session may have been removed in between.
      if (outcome === 'saved') await sessions.touch(tenantId, sessionId, call);
      return outcome;
    },

    async get(tenantId, traceId, sessionId, call) {
      const names = namesOf(tenantId, traceId, sessionId);
      const [owner, body] = await records.get([names.owner, names.body], call);
      if (!owner || !body || textField(owner, 'session') !== sessionId) return null;
      return textField(body, 'body');
    },

    async list(tenantId, sessionId, limit, call) {
      const traces: string[] = [];
      const entries = await listEntries(tenantId, sessionId, call);
      for (const page of inParts(entries, PAGE)) {
        if (traces.length >= limit) break;
        const owners = await records.get(
          page.map(({ traceId }) => namesOf(tenantId, traceId, sessionId).owner),
          call,
        );
        for (const [index, { traceId }] of page.entries()) {
          const owner = owners[index];
          if (owner && textField(owner, 'session') === sessionId) traces.push(traceId);
        }
      }
      return traces.slice(0, limit);
    },

    async removeAll(tenantId, sessionId, before, call) {
      let removed = 0;
      for (const { traceId } of await listEntries(tenantId, sessionId, call)) {
        const names = namesOf(tenantId, traceId, sessionId);
        const [owner] = await records.get([names.owner], call);
        if (owner && textField(owner, 'session') === sessionId) {
          await before(traceId);
          const expect = { fields: fieldsOf({ session: sessionId }) };
          const outcome = await records.write({ name: names.owner, mode: 'delete', expect, set: new Map() }, call);
          if (outcome.applied) removed++;
        }
        // The list entry is removed last, because an interrupted removal finds the rest through it.
        await records.write({ name: names.body, mode: 'delete', set: new Map() }, call);
        await records.write({ name: names.entry, mode: 'delete', set: new Map() }, call);
      }
      return removed;
    },
  };
}

function namesOf(tenantId: string, traceId: string, sessionId: string) {
  const name = (...parts: string[]): RecordName => ({ space: 'trajectories', tenantId, key: joinKey(parts) });
  return {
    owner: name('owner', traceId),
    body: name('body', sessionId, traceId),
    entry: name('list', sessionId, traceId),
  };
}
