/** A message of a run is deleted past the store: its run is quarantined, and everything else goes on (RUN-20). */
import type { StoreAlert } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { checkDamage, fillRuns } from '../../../faults/damage-check.ts';
import { readEntries } from '../src/commits.ts';
import { streamName } from '../src/streams.ts';
import { askServer, WITHOUT_NATS } from './servers.ts';
import { newStreams, openStore } from './stores.ts';

describe.skipIf(WITHOUT_NATS)('a commit that was deleted past the store', () => {
  it('costs its run alone', async () => {
    const { url, prefix } = newStreams();
    const alerts: StoreAlert[] = [];
    const store = await openStore({ url, prefix, onAlert: (alert) => alerts.push(alert) });
    await fillRuns(store);
    const other = await openStore({ url, prefix, onAlert: (alert) => alerts.push(alert) });
    // The two runs were written in turn: the third event of the first is the fifth message.
    const damage = async () => {
      await askServer(url, `STREAM.MSG.DELETE.${streamName(prefix, 'runs')}`, { seq: 5 });
    };
    expect(await checkDamage(other, { damage })).toEqual([]);
    expect(alerts).toMatchObject([{ code: 'RUN_QUARANTINED', runId: 'sick', fromSeq: 3 }]);
  });
});

describe('a body that cannot be read', () => {
  const head = { firstSeq: 4, count: 2, time: 7, createdAt: 1, rewrites: 0 };

  it.each(['', '{', '[[]]\n', '[[["k",1]]]\nx'])('gives its entries without bodies: %s', (body) => {
    expect(readEntries(head, Buffer.from(body)).map((entry) => [entry.seq, entry.body])).toEqual([
      [4, ''],
      [5, ''],
    ]);
  });
});
