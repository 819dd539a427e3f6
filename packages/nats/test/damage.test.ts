/** Messages of a run are purged without the store: its run is quarantined, and everything else continues (RUN-20). */
import type { StoreAlert } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { fillRuns, SICK } from '../../../faults/damage-check.ts';
import { readEntries } from '../src/journal/commits.ts';
import { streamName } from '../src/streams/streams.ts';
import { askServer, WITHOUT_NATS } from './servers.ts';
import { newStreams, openStore } from './stores.ts';

describe.skipIf(WITHOUT_NATS)('commits purged without the store', () => {
  it('affect only their run', async () => {
    const { url, prefix } = newStreams();
    await fillRuns(await openStore({ url, prefix }));
    const alerts: StoreAlert[] = [];
    const store = await openStore({ url, prefix, onAlert: (alert) => alerts.push(alert) });
    // The two runs were written alternately: three events of the first are before the sixth message. Single messages
    // cannot be deleted.
    const filter = `${prefix}.runs.runs.default.${SICK.runId}`;
    const { purged } = await askServer<{ purged: number }>(url, `STREAM.PURGE.${streamName(prefix, 'runs')}`, {
      filter,
      seq: 6,
    });
    expect(purged).toBe(3);
    const { items, held } = await store.runs.feedPage();
    expect(items.map(({ event }) => [event.runId, event.runSeq])).toEqual([1, 2, 3, 4, 5].map((seq) => ['well', seq]));
    expect(held).toMatchObject([{ runId: SICK.runId, runSeq: 1 }]);
    expect((await store.runs.listQuarantined()).items).toMatchObject([{ runId: SICK.runId, fromSeq: 1 }]);
    expect(alerts).toMatchObject([{ code: 'RUN_QUARANTINED', runId: SICK.runId, fromSeq: 1 }]);
    await expect(store.runs.releaseRun(SICK.runId)).rejects.toMatchObject({ code: 'CORRUPT_EVENT' });
  });
});

describe('a body that cannot be read', () => {
  const head = { firstSeq: 4, count: 2, time: 7, createdAt: 1, rewrites: 0 };

  it.each(['', '{', '[[]]\n', '[[["k",1]]]\nx'])('returns its entries without bodies: %s', (body) => {
    expect(readEntries(head, Buffer.from(body)).map((entry) => [entry.seq, entry.body])).toEqual([
      [4, ''],
      [5, ''],
    ]);
  });
});
