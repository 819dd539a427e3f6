/** Requests that are wrong in every way: types, sizes, ids, encodings, conditions and methods, drawn for one operation. */
import fc from 'fast-check';
import { type Operation, type Parameter, type Schema, sampleOf } from './server-api.ts';

export interface WildRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

const KNOWN_IDS = ['run', 'key', 'session', 'trace', 'mail', 'job', 'text', '1'];
const HOSTILE_IDS = [
  '',
  '.',
  '..',
  '~',
  '~~',
  '/',
  '\0',
  'a\0b',
  '%',
  '日本 🗻',
  '__proto__',
  'constructor',
  '\r\nx: y',
];
/** Segments that stand for no text at all, or for none that is well-formed. */
const BROKEN_SEGMENTS = ['%', '%zz', '%ff', '%c0%ae', '%ed%a0%80', '%00', '%2e%2e', '..%2f..%2f', '+', ';a=b'];

const longId = fc.integer({ min: 500, max: 4_000 }).map((length) => 'x'.repeat(length));
const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...KNOWN_IDS) },
  { weight: 2, arbitrary: fc.constantFrom(...HOSTILE_IDS) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  { weight: 1, arbitrary: longId },
);
const segment = fc.oneof(
  { weight: 6, arbitrary: anyText.map(encodeURIComponent) },
  { weight: 1, arbitrary: fc.constantFrom(...BROKEN_SEGMENTS) },
);

const wildNumber = fc.constantFrom(0, -1, 1, 2, 0.5, 1_000, 1_001, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 1e300, -1e300);
const wildText = fc.oneof(
  anyText,
  fc.constantFrom('NaN', '1e999', 'null', '{}', '[', '{"__proto__":{"x":1}}', 'true', '-1', '0', 'x', '\ud800', '5m'),
);
const wildJson = fc.oneof(
  { weight: 3, arbitrary: wildText },
  { weight: 2, arbitrary: wildNumber },
  { weight: 1, arbitrary: fc.constantFrom(null, true, [], {}, [[]], { toString: 1 }) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);

const NAMES = {
  runId: 'run',
  toRunId: 'fork',
  tenantId: 'default',
  eventId: '8f14e45f-ceea-467f-a9d8-2f1f5c1a3b7e',
  eventType: 'Progress',
  emittedAt: '2026-01-01T00:00:00.000Z',
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  fields: { text: 'x' },
  set: { text: 'x' },
};

/** A value that fits, with some members of it replaced, removed or added. */
function bent(schema: Schema): fc.Arbitrary<unknown> {
  const fitting = sampleOf(schema, NAMES);
  if (typeof fitting !== 'object' || fitting === null || Array.isArray(fitting)) return wildJson;
  const members = Object.keys(fitting);
  const change = fc.record({ at: fc.nat(), value: wildJson, how: fc.constantFrom('replace', 'remove', 'add') });
  return fc.array(change, { maxLength: 3 }).map((changes) => {
    const value: Record<string, unknown> = { ...fitting };
    for (const { at, value: wild, how } of changes) {
      const name = members[at % Math.max(1, members.length)] ?? 'x';
      if (how === 'remove') delete value[name];
      else value[how === 'add' ? `extra-${at % 3}` : name] = wild;
    }
    return value;
  });
}

const DEEP = `${'['.repeat(50_000)}`;
const BROKEN_BODIES = [
  '',
  '{',
  'null',
  '[]',
  '{"a":1e400}',
  '{"a":9007199254740993}',
  DEEP,
  '\ufeff{}',
  '{"a":"\\ud800"}',
].map((text) => Buffer.from(text));
const brokenBody = fc.oneof(
  fc.constantFrom(...BROKEN_BODIES, Buffer.from([0xff, 0xfe, 0x00])),
  fc.uint8Array().map(Buffer.from),
);

function bodyOf({ bodies }: Operation): fc.Arbitrary<{ type: string | null; body: Buffer | null }> {
  const types = Object.keys(bodies);
  if (types.length === 0)
    return fc.constantFrom({ type: null, body: null }, { type: 'application/json', body: Buffer.from('{}') });
  const fits = types.map((type) => {
    const { schema } = bodies[type]!;
    const values = bent(schema ?? bodies['application/json']?.schema ?? {});
    const isLines = type.endsWith('ndjson');
    const text = isLines
      ? fc.array(values, { maxLength: 4 }).map((lines) => lines.map(json).join('\n'))
      : values.map(json);
    return fc.oneof(
      {
        weight: 4,
        arbitrary: text.map((it) => ({
          type,
          body: Buffer.from(`${it}\nbytes`.slice(0, isLines ? -6 : type.endsWith('artifact') ? undefined : -6)),
        })),
      },
      { weight: 1, arbitrary: brokenBody.map((body) => ({ type, body })) },
    );
  });
  const odd = fc.record({
    type: fc.constantFrom(null, 'text/plain', 'application/json; charset=x', 'x', '/'),
    body: brokenBody,
  });
  return fc.oneof({ weight: 8, arbitrary: fc.oneof(...fits) }, { weight: 1, arbitrary: odd });
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

function parameterOf({ name, schema, content }: Parameter): fc.Arbitrary<[string, string][]> {
  // Long polls would make every round as slow as they are long.
  if (name === 'wait') return fc.constantFrom('1ms', '0', '61s', 'x', '').map((value) => [[name, value]]);
  const fitting = json(sampleOf(schema ?? content!['application/json'].schema, NAMES, name));
  const value = fc.oneof(
    fc.constant(fitting.replaceAll(/^"|"$/g, '')),
    wildText,
    wildNumber.map(String),
    wildJson.map(json),
  );
  return fc.array(value, { maxLength: 2 }).map((values) => values.map((it) => [name, it]));
}

const header = (...values: (string | undefined)[]) => fc.constantFrom(...values, undefined, undefined, undefined);
const headers = fc.record({
  'tidemark-tenant': header('a%2Fb', '%ff', 'x'.repeat(600), ''),
  'tidemark-timeout': header('0', '-1', 'x', '5000', '1e99'),
  'if-match': header('"0"', '"1"', '1', '*', 'W/"1"', '"99999999999999999999"'),
  'if-none-match': header('*', '"1"', ''),
  'idempotency-key': header('k', '', 'x'.repeat(600)),
  'last-event-id': header('0', '-1', 'x', 'WzEsMl0', 'bnVsbA', '%', '"'),
  'content-encoding': header('gzip', 'identity', 'x'),
  accept: header('text/event-stream', 'application/x-ndjson', 'text/html', '*/*', ''),
});

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];

/** Requests to an operation; now and then with a method it does not take. */
export function wildRequests(operation: Operation): fc.Arbitrary<WildRequest> {
  const places = [...operation.path.matchAll(/\{\w+\}/g)];
  const query = operation.parameters.filter(({ in: place }) => place === 'query').map(parameterOf);
  const unknown = fc.constantFrom<[string, string][]>([], [], [], [['unknown', 'x']], [['__proto__', 'x']]);
  return fc
    .record({
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constant(operation.method) },
        { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
      ),
      segments: fc.tuple(...places.map(() => segment)),
      query: fc.tuple(...query, unknown),
      given: fc.array(fc.boolean(), { minLength: query.length + 1, maxLength: query.length + 1 }),
      headers,
      content: bodyOf(operation),
    })
    .map(({ method, segments, query, given, headers, content }) => {
      const left = [...segments] as string[];
      const path = operation.path.replaceAll(/\{\w+\}/g, () => left.shift()!);
      const chosen = query.filter((_, index) => given[index]).flat();
      const text = new URLSearchParams(chosen.map(([name, value]) => [name, value.toWellFormed()])).toString();
      const all = { ...headers, ...(content.type === null ? {} : { 'content-type': content.type }) };
      const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
      return {
        method,
        path: text === '' ? path : `${path}?${text}`,
        headers: Object.fromEntries(sent),
        body: content.body,
      };
    });
}
