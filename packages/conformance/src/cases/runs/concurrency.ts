/** Many concurrent clients: some order of their calls must explain the log (RUN-2, RUN-4, RUN-7). */
import type { AppendResult, RunEventInput, RunEventRecord } from '@tidemark/core';
import { isTidemarkError } from '@tidemark/core';
import { expect, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { upTo, whileWorking } from '../iterate.ts';
import { runEvent, wholeLog } from './events.ts';

const WRITERS = 6;
const EACH = 10;

interface Call {
  event: RunEventInput;
  result: AppendResult;
  began: number;
  ended: number;
}

/** Appends to one run with writers on both clients. A shared counter records when each call starts and ends. */
async function writeTogether(bench: Bench, runId: string): Promise<Call[]> {
  const clients = [bench.tenant, (await bench.peer()).forTenant(bench.tenantId)];
  let tick = 0;
  const writer = async (who: number): Promise<Call[]> => {
    const calls: Call[] = [];
    for (let n = 0; n < EACH; n++) {
      const event = runEvent(bench, { runId, payload: { who, n } });
      const began = tick++;
      const result = await clients[who % 2]!.runs.appendEvent(event);
      calls.push({ event, result, began, ended: tick++ });
    }
    return calls;
  };
  return (await Promise.all(Array.from({ length: WRITERS }, (_, who) => writer(who)))).flat();
}

export const CONCURRENCY_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/writers-together-leave-one-log',
    title: 'concurrent writers of one run get unique sequences that keep real-time order',
    proves: ['RUN-2', '001 §2.1', '001 §2.2', '001 §3.1', '002 §2', '004 §4'],
    async run(bench) {
      const runId = bench.id('run');
      const calls = await writeTogether(bench, runId);
      const log = await wholeLog(bench.tenant, runId, 17);
      expectEqual(log.length, calls.length, 'every acknowledged event is stored, and no other');
      const bySeq = new Map(log.map((it) => [it.runSeq, it]));
      expectEqual(bySeq.size, calls.length, 'no sequence was assigned twice');
      for (const { event, result } of calls) {
        const record = bySeq.get(result.runSeq);
        expectEqual(
          [record?.eventId, record?.persistedAt],
          [event.eventId, result.persistedAt],
          'each event has the position that its writer got',
        );
      }
      for (const a of calls) {
        for (const b of calls) {
          expect(
            a.ended > b.began || a.result.runSeq < b.result.runSeq,
            'an append that returned before another began has the lower sequence',
          );
        }
      }
      const times = log.map((it) => it.persistedAt);
      expectEqual(times, times.toSorted(), 'persistedAt does not decrease under concurrency');
    },
  }),
  runsCase({
    id: 'runs/writers-together-leave-no-holes',
    title: 'concurrent writers use sequences 1 to n without holes, and the chain is valid',
    proves: ['RUN-2', 'RUN-17'],
    needs: ['runs.denseSequences'],
    async run(bench) {
      const runId = bench.id('run');
      await writeTogether(bench, runId);
      const log = await wholeLog(bench.tenant, runId);
      expectEqual(
        log.map((it) => it.runSeq),
        upTo(WRITERS * EACH),
        'sequences are dense',
      );
      const report = await bench.tenant.runs.verify(runId);
      expectEqual([report.ok, report.events], [true, WRITERS * EACH], 'every chain link is valid');
    },
  }),
  runsCase({
    id: 'runs/same-key-at-once-is-stored-once',
    title: 'of concurrent appends with one key exactly one is persisted, and all return the same position',
    proves: ['RUN-4', '004 §3.2', '001 §3.2'],
    async run(bench) {
      const clients = [bench.tenant, (await bench.peer()).forTenant(bench.tenantId)];
      for (let round = 0; round < 5; round++) {
        const runId = bench.id('run');
        const results = await Promise.all(
          upTo(10).map((n) =>
            clients[n % 2]!.runs.appendEvent(runEvent(bench, { runId, idempotencyKey: 'k', payload: { n } })),
          ),
        );
        expectEqual(results.filter((it) => it.persisted).length, 1, 'exactly one is persisted');
        expectEqual(results.filter((it) => it.idempotent).length, 9, 'all others are duplicates');
        const places = new Set(results.map((it) => `${it.eventId} ${it.runSeq} ${it.persistedAt}`));
        expectEqual(places.size, 1, 'all calls return the same id, sequence and time');
        expectEqual((await wholeLog(bench.tenant, runId)).length, 1, 'one event is stored');
      }
    },
  }),
  runsCase({
    id: 'runs/fence-race-has-one-winner',
    title: 'of concurrent writers that expect the same head exactly one wins',
    proves: ['RUN-7'],
    async run(bench) {
      const clients = [bench.tenant, (await bench.peer()).forTenant(bench.tenantId)];
      const runId = bench.id('run');
      let head = 0;
      for (let round = 0; round < 5; round++) {
        const expectedSeq = head;
        const outcomes = await Promise.all(
          upTo(8).map((n) =>
            clients[n % 2]!.runs.appendEvent(runEvent(bench, { runId }), { expectedSeq }).catch((error: unknown) => {
              if (isTidemarkError(error, 'SEQ_CONFLICT')) return null;
              throw error;
            }),
          ),
        );
        const winners = outcomes.filter((it) => it !== null);
        expectEqual(winners.length, 1, 'exactly one writer passes the fence');
        head = winners[0]!.runSeq;
      }
      expectEqual((await wholeLog(bench.tenant, runId)).length, 5, 'one event per round is stored');
    },
  }),
  runsCase({
    id: 'runs/watermark-reader-misses-nothing',
    title: 'a watermark reader concurrent with writers sees every event exactly once, in order',
    proves: ['RUN-2', '001 §4', '001 §4.1', '001 §4.2'],
    async run(bench) {
      const runId = bench.id('run');
      let writing = true;
      const reader = async (limit: number): Promise<RunEventRecord[]> => {
        const seen: RunEventRecord[] = [];
        for (;;) {
          const ended = !writing;
          const page = await bench.tenant.runs.fetchEvents(runId, { afterSeq: seen.at(-1)?.runSeq ?? 0, limit });
          seen.push(...page);
          if (ended && page.length === 0) return seen;
          await new Promise(setImmediate);
        }
      };
      const written = writeTogether(bench, runId).finally(() => {
        writing = false;
      });
      const [, ...readers] = await Promise.all([written, reader(3), reader(7), reader(1_000)]);
      const log = await wholeLog(bench.tenant, runId);
      for (const seen of readers) {
        expectEqual(seen, log, 'a reader sees the log exactly: nothing appeared behind its watermark');
      }
    },
  }),
  runsCase({
    id: 'runs/batches-are-seen-whole',
    title: 'concurrent readers never see half a batch',
    proves: ['RUN-7', 'RUN-2'],
    async run(bench) {
      const runId = bench.id('run');
      const clients = [bench.tenant, (await bench.peer()).forTenant(bench.tenantId)];
      const size = 5;
      const writers = upTo(8).map((batch) => {
        const events = upTo(size).map((n) => runEvent(bench, { runId, payload: { batch, n } }));
        return clients[batch % 2]!.runs.appendEvents(events);
      });
      const check = (log: readonly RunEventRecord[]) => {
        expectEqual(log.length % size, 0, 'readers see a whole number of batches');
        for (let at = 0; at < log.length; at += size) {
          const batch = log.slice(at, at + size).map((it) => it.payload);
          expectEqual(
            batch,
            upTo(size).map((n) => ({ batch: batch[0]?.batch, n })),
            'each batch is contiguous and in order',
          );
        }
      };
      await whileWorking(Promise.all(writers), async () => check(await bench.tenant.runs.fetchEvents(runId)));
      check(await wholeLog(bench.tenant, runId));
    },
  }),
];
