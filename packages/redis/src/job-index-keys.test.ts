/** The index keys of jobs that are predicted from a step, compared with those of the record after it. */
import { indexKeysOf, type RecordWrite, recordAfter } from '@tidemark/core/engine';
import { assert, constantFrom, dictionary, integer, oneof, option, property, record, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indexKeysAfter } from './job-index-keys.ts';

const NOW = 1_790_000_000_000;
const STATES = ['pending', 'claimed', 'running', 'completed', 'failed', 'cancelled', 'else', ''];
const FIELDS = ['created_at', 'run_at', 'timeout_at', 'updated_at', 'priority', 'claim_id', 'unannounced', 'other'];
const VALUES = oneof(constantFrom('', '7', '-7', '1000', '12345', '999999999999990', 'a-claim', 'a/b', 'é'), string());
const OFFSETS = oneof(constantFrom(0, 60_000, 10 ** 14, 10 ** 15), integer({ min: 0, max: 10 ** 12 }));

function keyOf(type: string): string {
  return `gbe.state.tasks.${type}.job`;
}

function bytesOf(fields: Record<string, string | null>): Map<string, Uint8Array | null> {
  return new Map(Object.entries(fields).map(([field, value]) => [field, value === null ? null : Buffer.from(value)]));
}

/** Returns the entries that `change.lua` writes. */
function predicted(write: RecordWrite): string[] | null {
  const indexKeys = indexKeysAfter(write);
  if (!indexKeys) return null;
  const padded = (time: number) => String(time).padStart(15, '0');
  return indexKeys.map(({ start, offset }) => (offset === null ? start : start + padded(NOW + offset)));
}

describe('the index entries of a job after a step', () => {
  it('are those of the record after it, for any previous content of the record', () => {
    const states = option(constantFrom(...STATES));
    const fields = dictionary(constantFrom(...FIELDS), option(VALUES));
    const stamps = dictionary(constantFrom('created_at', 'run_at', 'timeout_at', 'updated_at'), OFFSETS);
    const before = dictionary(constantFrom('state', ...FIELDS), VALUES);
    let known = 0;
    assert(
      property(record({ states, fields, stamps, before }), constantFrom('mail', 'other'), ({ states, ...it }, type) => {
        for (const exists of [true, false]) {
          const set = bytesOf(states === null ? it.fields : { ...it.fields, state: states });
          for (const field of Object.keys(it.stamps)) set.delete(field);
          const name = { space: 'kv', tenantId: 'default', key: keyOf(type) } as const;
          const write: RecordWrite = { name, mode: 'merge', expect: { exists }, set };
          write.stamps = new Map(Object.entries(it.stamps));
          const fields = bytesOf(it.before) as Map<string, Uint8Array>;
          const after = recordAfter(write, exists ? { fields, revision: 1, expiresAt: null } : undefined, 2, NOW);
          const indexKeys = predicted(write);
          if (indexKeys) known++;
          if (indexKeys) expect(indexKeys.sort()).toEqual((after ? indexKeysOf(keyOf(type), after.fields) : []).sort());
        }
      }),
      { numRuns: 3_000 },
    );
    expect(known).toBeGreaterThan(100);
  });

  it('are known for new, claimed and completed jobs, and not for those that wait again', () => {
    const name = { space: 'kv', tenantId: 'default', key: keyOf('mail') } as const;
    const step = (fields: Record<string, string | null>, stamps: Record<string, number>, exists?: boolean) =>
      predicted({
        name,
        mode: 'merge',
        set: bytesOf(fields),
        stamps: new Map(Object.entries(stamps)),
        ...(exists === undefined ? {} : { expect: { exists } }),
      });
    const times = { created_at: 0, updated_at: 0 };
    expect(step({ state: 'pending', priority: '5' }, times, false)).toEqual([
      'pending/mail/001790000000000',
      'ready/mail/4995001790000000000',
    ]);
    expect(step({ state: 'claimed', claim_id: 'c-1', run_at: null }, { updated_at: 0, timeout_at: 1_000 })).toEqual([
      'claimed/mail/001790000000000',
      'lease/mail/001790000001000',
      'claim/mail/c-1',
    ]);
    expect(step({ state: 'completed' }, { updated_at: 0 })).toEqual(['completed/mail/001790000000000']);
    expect(step({ state: 'pending' }, { updated_at: 0 })).toBeNull();
    expect(step({ state: 'completed' }, {})).toBeNull();
    expect(step({ state: 'cancelled', updated_at: null }, {}), 'the time of creation counts').toBeNull();
  });
});
