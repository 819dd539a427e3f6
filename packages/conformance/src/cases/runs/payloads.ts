/** Payload fidelity: payloads are returned unchanged, or refused before anything is written (GEN-4). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { nestedTo, POISON_PAYLOADS, unrepresentable } from '../poison.ts';
import { runEvent, wholeLog } from './events.ts';

async function storedPayload(bench: Bench, payload: unknown): Promise<unknown> {
  const runId = bench.id('run');
  await bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: payload as Record<string, unknown> }));
  return (await bench.tenant.runs.fetchEvents(runId))[0]?.payload;
}

export const PAYLOAD_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/payloads-come-back-as-sent',
    title: 'NUL, lone surrogates, __proto__, empty keys, key order and all other JSON are returned unchanged',
    proves: ['GEN-4', '004 §2'],
    async run(bench) {
      for (const [name, json] of POISON_PAYLOADS) {
        const payload: unknown = JSON.parse(json);
        expectEqual(
          JSON.stringify(await storedPayload(bench, payload)),
          JSON.stringify(payload),
          `a payload with ${name} is unchanged`,
        );
      }
    },
  }),
  runsCase({
    id: 'runs/payloads-come-back-on-every-path',
    title: 'a payload reads the same by page, iterator, tail and batch',
    proves: ['GEN-4'],
    async run(bench) {
      const runId = bench.id('run');
      const payloads = POISON_PAYLOADS.map(([, json]) => JSON.parse(json));
      await bench.tenant.runs.appendEvents(payloads.map((payload) => runEvent(bench, { runId, payload })));
      const texts = payloads.map((it) => JSON.stringify(it));
      const seen: string[] = [];
      for await (const event of bench.tenant.runs.readEvents(runId, { limit: 2 }))
        seen.push(JSON.stringify(event.payload));
      expectEqual(seen, texts, 'the iterator yields the payload as sent');
      const live: string[] = [];
      for await (const event of bench.tenant.runs.tail(runId)) {
        live.push(JSON.stringify(event.payload));
        if (live.length === texts.length) break;
      }
      expectEqual(live, texts, 'the tail yields the payload as sent');
    },
  }),
  runsCase({
    id: 'runs/minus-zero-is-zero',
    title: '-0 becomes 0 and undefined properties are absent',
    proves: ['GEN-4'],
    async run(bench) {
      const payload = (await storedPayload(bench, {
        zero: -0,
        gone: undefined,
        deep: { gone: undefined, kept: null },
      })) as Record<string, unknown>;
      expect(Object.is(payload.zero, 0), '-0 is returned as 0');
      expectEqual(
        JSON.stringify(payload),
        '{"zero":0,"deep":{"kept":null}}',
        'undefined properties are absent, null ones kept',
      );
    },
  }),
  runsCase({
    id: 'runs/unrepresentable-payloads-are-refused',
    title: 'NaN, BigInt, functions, cycles, holes, Dates and Maps are INVALID_PAYLOAD before anything is written',
    proves: ['GEN-4'],
    async run(bench) {
      const runId = bench.id('run');
      const more: [string, unknown][] = [
        ['text', 'payload'],
        ['null', null],
        ['an array', [1]],
        ['a Map itself', new Map()],
      ];
      for (const [name, payload] of [...unrepresentable(), ...more]) {
        const error = await expectCode('INVALID_PAYLOAD', `a payload with ${name} is refused`, () =>
          bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: payload as Record<string, unknown> })),
        );
        expect(error.field?.startsWith('payload'), `the error names the position in the payload, not ${error.field}`);
      }
      expectEqual(await bench.tenant.runs.headSeq(runId), 0, 'nothing was written');
    },
  }),
  runsCase({
    id: 'runs/nesting-has-a-limit',
    title: 'payloads nest 64 levels deep, not 65',
    proves: ['GEN-4'],
    async run(bench) {
      const deepest = nestedTo(64);
      expectEqual(
        JSON.stringify(await storedPayload(bench, deepest)),
        JSON.stringify(deepest),
        '64 levels are returned',
      );
      for (const depth of [65, 1_000, 100_000]) {
        await expectCode('INVALID_PAYLOAD', `${depth} levels are refused`, () => storedPayload(bench, nestedTo(depth)));
      }
    },
  }),
  runsCase({
    id: 'runs/payload-size-limit-is-exact',
    title: 'a payload exactly at the limit is stored; one byte more is PAYLOAD_TOO_LARGE',
    proves: ['GEN-4'],
    async run(bench) {
      const limit = bench.store.info.limits.eventPayloadBytes;
      const room = limit - '{"a":""}'.length;
      const letters = { a: 'x'.repeat(room) };
      expectEqual(
        ((await storedPayload(bench, letters)) as typeof letters).a.length,
        room,
        `${limit} bytes are returned unchanged`,
      );
      const runId = bench.id('run');
      for (const a of ['x'.repeat(room + 1), 'é'.repeat(Math.floor(room / 2) + 1)]) {
        await expectCode('PAYLOAD_TOO_LARGE', `more than ${limit} bytes of UTF-8 are refused`, () =>
          bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: { a } })),
        );
      }
      expectEqual(await bench.tenant.runs.headSeq(runId), 0, 'nothing was written');
    },
  }),
  runsCase({
    id: 'runs/stored-events-share-nothing-with-callers',
    title: 'changing sent or returned objects does not change stored events',
    proves: ['GEN-4', '001 §2.3', '004 §4'],
    async run(bench) {
      const runId = bench.id('run');
      const event = runEvent(bench, {
        runId,
        payload: { list: [1], deep: { a: 1 } },
        labels: { l: '1' },
        extra: { e: 1 },
      });
      const expected = structuredClone(event.payload);
      await bench.tenant.runs.appendEvent(event);
      (event.payload as { list: number[] }).list.push(2);
      event.eventType = 'Changed';
      (event.extra as { e: number }).e = 2;
      const [first] = await wholeLog(bench.tenant, runId);
      expectEqual(first?.payload, expected, 'the payload is as it was when it was sent');
      expectEqual(
        [first?.eventType, first?.extra],
        ['Progress', { e: 1 }],
        'the envelope is as it was when it was sent',
      );
      (first!.payload as { deep: Record<string, number> }).deep.a = 99;
      first!.eventType = 'Changed';
      const [second] = await wholeLog(bench.tenant, runId);
      expectEqual(
        [second?.payload, second?.eventType],
        [expected, 'Progress'],
        'readers cannot change what others read',
      );
      const snapshot = await bench.tenant.runs.projectSnapshot(runId);
      snapshot.steps.push({ stepId: 'x', status: 'FAILED', logicalAttemptId: 1, engineAttemptId: 1, artifacts: [] });
      snapshot.status = 'FAILED';
      const again = await bench.tenant.runs.projectSnapshot(runId);
      expectEqual([again.steps, again.status], [[], 'PENDING'], 'readers cannot change the snapshot');
    },
  }),
];
