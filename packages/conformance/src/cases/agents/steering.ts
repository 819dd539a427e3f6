/** Steering: the cursor rules that updates share, then the sanitising of untrusted payloads (AGT-8). */
import type { JsonObject, SteeringEvent, SteeringEventType } from '@tidemark/core';
import { expect, expectEqual } from '../../expect.ts';
import type { Bench } from '../../kit.ts';
import { casesOf, inOrder, steering } from './samples.ts';
import { type SessionLog, sessionLogCases } from './session-log.ts';

const cases = casesOf('agents', 'steering');

const STEERING_LOG: SessionLog = {
  capability: 'steering',
  save: (agents, sessionId, id, taskId = 'task') => agents.saveSteering(steering(sessionId, id, { taskId })),
  list: async (agents, sessionId, options) => ids(await agents.listSteering(sessionId, options)),
  page: async (agents, sessionId, options) => {
    const page = await agents.listSteeringPage(sessionId, options);
    return { ...page, items: ids(page.items) };
  },
};

function ids(items: SteeringEvent[]): string[] {
  return items.map((item) => item.eventId);
}

const TYPES: SteeringEventType[] = [
  'INJECT_CONTEXT',
  'REDIRECT',
  'CANCEL',
  'PRIORITIZE',
  'PAUSE',
  'RESUME',
  'APPROVE',
  'REJECT',
  'USER_MESSAGE',
];

/** The maximum sizes of a stored payload by AGT-8. */
const LIMITS = { bytes: 16_384, depth: 6, keys: 64, items: 50, codePoints: 4_096, keyCodePoints: 64 };

/** Measures every size of a payload that has a limit. */
function measure(payload: JsonObject): typeof LIMITS {
  const sizes = {
    bytes: Buffer.byteLength(JSON.stringify(payload)),
    depth: 0,
    keys: 0,
    items: 0,
    codePoints: 0,
    keyCodePoints: 0,
  };
  const visit = (value: unknown, depth: number): void => {
    if (typeof value === 'string') sizes.codePoints = Math.max(sizes.codePoints, [...value].length);
    if (typeof value !== 'object' || value === null) return;
    sizes.depth = Math.max(sizes.depth, depth);
    if (Array.isArray(value)) sizes.items = Math.max(sizes.items, value.length);
    else {
      const keys = Object.keys(value);
      sizes.keys = Math.max(sizes.keys, keys.length);
      for (const key of keys) sizes.keyCodePoints = Math.max(sizes.keyCodePoints, [...key].length);
    }
    for (const member of Object.values(value)) visit(member, depth + 1);
  };
  visit(payload, 1);
  return sizes;
}

/** Returns the keys and primitive values of a payload. */
function keysAndValues(payload: unknown): Set<unknown> {
  const found = new Set<unknown>();
  JSON.stringify(payload, (key, value) => {
    found.add(key);
    if (typeof value !== 'object') found.add(value);
    return value;
  });
  return found;
}

async function stored(bench: Bench, payload: JsonObject): Promise<JsonObject> {
  const sessionId = bench.id('session');
  await bench.tenant.agents.saveSteering(steering(sessionId, 'e', { payload }));
  const [event] = await bench.tenant.agents.listSteering(sessionId);
  expect(event?.payload, 'a steering event is stored with a payload');
  return event.payload;
}

function nested(depth: number): JsonObject {
  return depth <= 1 ? { bottom: 'reached' } : { inner: nested(depth - 1) };
}

/** A payload over each limit, and over all of them at once. */
const OVERSIZED: Record<string, JsonObject> = {
  'a long text': { text: 'x'.repeat(5_000) },
  'a long text of emoji': { text: '\u{1F600}'.repeat(5_000) },
  'a long list': { list: Array.from({ length: 51 }, (_, n) => n) },
  'an object of many keys': Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`key-${n}`, n])),
  'a long key': { [`k${'é'.repeat(64)}`]: 1 },
  'deep nesting': nested(12),
  'many bytes': Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`text-${n}`, '\u4e2d'.repeat(3_000)])),
  'all at once': {
    ...Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`${n}`.repeat(80), 'y'.repeat(n * 100)])),
    list: Array.from({ length: 80 }, () => nested(20)),
  },
};

/** Payloads exactly at each limit, which must not be cut. */
const FITTING: Record<string, JsonObject> = {
  empty: {},
  'the longest text': { text: 'x'.repeat(LIMITS.codePoints) },
  'the longest list': { list: Array.from({ length: LIMITS.items }, (_, n) => n) },
  'the most keys': Object.fromEntries(Array.from({ length: LIMITS.keys }, (_, n) => [`key-${n}`, n])),
  'the longest key': { ['\u{1F511}'.repeat(LIMITS.keyCodePoints)]: true },
  'the deepest nesting': nested(LIMITS.depth),
  'the most bytes': { text: `${'\u{1F600}'.repeat(4_093)}x` },
};

export const STEERING_CASES = [
  ...sessionLogCases(STEERING_LOG),

  cases({
    id: 'agents/steering/come-back-whole',
    title: 'A steering event is returned with every field as it was saved',
    proves: ['000 save_steering', '000 list_steering', 'AGT-1'],
    async run(bench) {
      const sessionId = bench.id('session');
      const sent = TYPES.map((eventType, n) =>
        steering(sessionId, `e${n}`, { eventType, source: n % 2 ? 'user' : 'supervisor' }),
      );
      await inOrder(sent, (one) => bench.tenant.agents.saveSteering(one));
      expectEqual(await bench.tenant.agents.listSteering(sessionId), sent, 'events of every type come back as saved');
      expectEqual((await bench.tenant.agents.listSteeringPage(sessionId)).items, sent, 'pages return the same items');
    },
  }),

  cases({
    id: 'agents/steering/first-write-wins',
    title: 'A steering event saved twice keeps its first content',
    proves: ['000 save_steering', '000 idempotency', 'AGT-7'],
    async run(bench) {
      const sessionId = bench.id('session');
      const first = steering(sessionId, 'e', { eventType: 'APPROVE' });
      await bench.tenant.agents.saveSteering(first);
      await bench.tenant.agents.saveSteering({ ...first, eventType: 'REJECT', payload: {} });
      expectEqual(await bench.tenant.agents.listSteering(sessionId), [first], 'an approval stays an approval');
    },
  }),

  cases({
    id: 'agents/steering/what-fits-is-kept',
    title: 'A payload within the limits is stored unchanged',
    proves: ['000 save_steering', 'AGT-8'],
    async run(bench) {
      for (const [name, payload] of Object.entries(FITTING)) {
        expectEqual(await stored(bench, payload), payload, `nothing is cut from a payload with ${name}`);
      }
    },
  }),

  ...Object.entries(OVERSIZED).map(([name, payload]) =>
    cases({
      id: `agents/steering/cuts-${name.replaceAll(' ', '-')}`,
      title: `A steering payload with ${name} is cut to size and marked`,
      proves: ['000 save_steering', 'AGT-8'],
      async run(bench) {
        const cut = await stored(bench, payload);
        const sizes = measure(cut);
        for (const limit of Object.keys(LIMITS) as (keyof typeof LIMITS)[]) {
          expect(
            sizes[limit] <= LIMITS[limit],
            `a stored payload has at most ${LIMITS[limit]} ${limit}, not ${sizes[limit]}`,
          );
        }
        const sent = keysAndValues(payload);
        expect(
          [...keysAndValues(cut)].some((word) => !sent.has(word)),
          'cut payloads carry a mark that the sender did not write',
        );
        expectEqual(await stored(bench, cut), cut, 'sanitising a stored payload again changes nothing');
      },
    }),
  ),
];
