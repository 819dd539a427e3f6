/**
 * A client that has seen the head of a run reports once that the server's store has lost the last events of the run.
 */
import type { AppendResult, RunEventInput, StoreAlert } from '@tidemark/core/portable';
import { describe, expect, it } from 'vitest';
import { HeadWatch } from './head-watch.ts';

const run = { tenantId: 't', runId: 'r' };
const event = { ...run, eventType: 'Progress' } as RunEventInput;

function setUp() {
  const alerts: StoreAlert[] = [];
  const server = { seq: 0, rewrites: 0, isThere: true, wait: Promise.resolve() };
  const append = async (): Promise<AppendResult> => {
    const runSeq = ++server.seq;
    await server.wait;
    return { eventId: 'e', runSeq, persistedAt: '', idempotent: false, persisted: true };
  };
  const runs = new HeadWatch((alert) => alerts.push(alert)).around({
    appendEvent: append,
    appendEvents: (events) => Promise.all(events.map(append)),
    position: async () => (server.isThere ? { ...run, lastEventSeq: server.seq, rewrites: server.rewrites } : null),
  });
  return { runs, server, alerts };
}

const loss = (knownSeq: number, currentSeq: number) => ({
  ...{ code: 'HEAD_WENT_BACK', severity: 'P1', ...run },
  ...{ knownSeq, currentSeq },
});

describe('a client that remembers heads', () => {
  it('reports an append that returns an already known sequence, once', async () => {
    const { runs, server, alerts } = setUp();
    await runs.appendEvents([event, event, event, event, event]);
    server.seq = 2;
    await runs.appendEvent(event);
    await expect.poll(() => alerts).toEqual([loss(5, 3)]);
    await runs.appendEvent(event);
    await runs.position('r', { tenantId: 't' });
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(alerts).toHaveLength(1);
  });

  it('reports a position below the known head', async () => {
    const { runs, server, alerts } = setUp();
    await runs.appendEvents([event, event, event]);
    server.seq = 1;
    expect(await runs.position('r', { tenantId: 't' })).toMatchObject({ lastEventSeq: 1 });
    await expect.poll(() => alerts).toEqual([loss(3, 1)]);
  });

  it('does not report rewrites, removals or responses that arrive out of order', async () => {
    const { runs, server, alerts } = setUp();
    await runs.appendEvents([event, event, event]);
    Object.assign(server, { seq: 1, rewrites: 4 });
    await runs.position('r', { tenantId: 't' });
    Object.assign(server, { seq: 0, isThere: false });
    await runs.position('r', { tenantId: 't' });
    server.isThere = true;
    let answer = () => {};
    server.wait = new Promise((resolve) => {
      answer = resolve;
    });
    const slow = runs.appendEvent(event);
    server.wait = Promise.resolve();
    await runs.appendEvent(event);
    answer();
    await slow;
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(alerts).toEqual([]);
  });
});
