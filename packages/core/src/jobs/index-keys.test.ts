import { describe, expect, it } from 'vitest';
import { indexKeysOf, indexRange } from './index-keys.ts';

const KEY = 'gbe.state.tasks.email-send.job_1';
const fields = (values: Record<string, string | Uint8Array>) =>
  new Map(Object.entries(values).map(([name, value]) => [name, Buffer.from(value)]));

describe('index keys of jobs (KV-7, KV-8)', () => {
  it('ranks a pending job by priority, then age', () => {
    expect(indexKeysOf(KEY, fields({ state: 'pending', created_at: '7', updated_at: '9', priority: '10' }))).toEqual([
      'pending/email-send/000000000000009',
      'ready/email-send/4990000000000000007',
    ]);
    const low = indexKeysOf(KEY, fields({ state: 'pending', created_at: '1', priority: '-1000' }))[1]!;
    const high = indexKeysOf(KEY, fields({ state: 'pending', created_at: '2', priority: '1000' }))[1]!;
    expect(high < low).toBe(true);
  });

  it('indexes a delayed job only under delayed until it is due', () => {
    expect(indexKeysOf(KEY, fields({ state: 'pending', created_at: '7', run_at: '12' }))).toEqual([
      'delayed/email-send/000000000000012',
    ]);
  });

  it('indexes a held job by state, lease and claim', () => {
    const held = fields({ state: 'running', updated_at: '9', timeout_at: '20', claim_id: 'c-1', run_at: '12' });
    expect(indexKeysOf(KEY, held)).toEqual([
      'running/email-send/000000000000009',
      'lease/email-send/000000000000020',
      'claim/email-send/c-1',
    ]);
  });

  it('indexes an ended job by state only', () => {
    const ended = fields({ state: 'failed', updated_at: '9', timeout_at: '20', claim_id: 'c-1', priority: '3' });
    expect(indexKeysOf(KEY, ended)).toEqual(['failed/email-send/000000000000009']);
  });

  it.each([
    'gbe.state.tasks.email-send',
    'gbe.state.tasks.email-send.',
    'gbe.state.tasks..job',
    'gbe.state.tasks.a/b.job',
    `gbe.state.tasks.${'t'.repeat(101)}.job`,
    'xgbe.state.tasks.email-send.job',
    'gbe:state:tasks:email-send:job',
  ])('does not treat %s as a job', (key) => {
    expect(indexKeysOf(key, fields({ state: 'pending' }))).toEqual([]);
  });

  it.each(['', 'Pending', 'pending\n', 'pending/x', 'lease', '__proto__', new Uint8Array([0xff])])(
    'does not index a job of state %j',
    (state) => {
      expect(indexKeysOf(KEY, fields({ state }))).toEqual([]);
      expect(indexKeysOf(KEY, fields({ other: 'pending' }))).toEqual([]);
    },
  );

  it.each(['-1', '1.5', '1e3', '007', ' 7', '7\n', '1000000000000000', 'soon', '', '٣'])(
    'treats the time %j as absent',
    (time) => {
      const hostile = { created_at: time, updated_at: time, timeout_at: time, run_at: time };
      const pending = indexKeysOf(KEY, fields({ state: 'pending', ...hostile }));
      expect(pending).toEqual(['pending/email-send/000000000000000', 'ready/email-send/5000000000000000000']);
      expect(indexKeysOf(KEY, fields({ state: 'claimed', ...hostile }))).toEqual([
        'claimed/email-send/000000000000000',
      ]);
    },
  );

  it.each([
    ['5000', '4000'],
    ['-5000', '6000'],
    ['99999', '5000'],
    ['1.5', '5000'],
    ['high', '5000'],
  ])('maps priority %j to rank %s', (priority, rank) => {
    const indexKey = indexKeysOf(KEY, fields({ state: 'pending', created_at: '7', priority }))[1];
    expect(indexKey).toBe(`ready/email-send/${rank}000000000000007`);
  });

  it.each(['', 'a/b', 'a\nb', 'c'.repeat(101), 'ä'])('does not index the claim %j', (claimId) => {
    const indexKeys = indexKeysOf(KEY, fields({ state: 'claimed', updated_at: '9', claim_id: claimId }));
    expect(indexKeys).toEqual(['claimed/email-send/000000000000009']);
  });

  it('separates the ranges of types when one is a prefix of another', () => {
    const { from, to } = indexRange('ready', 'email');
    const inRange = (type: string) => {
      const indexKey = indexKeysOf(`gbe.state.tasks.${type}.j`, fields({ state: 'pending' }))[1]!;
      return indexKey >= from && indexKey < to;
    };
    expect(['email', 'email-send', 'email0', 'emai', 'EMAIL', 'email_'].filter(inRange)).toEqual(['email']);
  });
});
