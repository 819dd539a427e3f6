/**
 * Requests that are wrong in every way: types, sizes, ids, encodings, conditions and methods, generated for one
 * operation.
 */
import fc from 'fast-check';
import { type Operation, type Parameter, resolve, type Schema, sampleOf } from './server-api.ts';

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
/** Path segments that decode to no text, or to malformed text. */
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
  state: 'pending',
  threshold: '1m',
  topics: 'runs,kv/a,sessions/session',
  taskType: 'mail',
  taskId: 'job',
  token: 'token',
  worker: 'worker',
  status: 'RUNNING',
  updateType: 'PROGRESS',
  keys: ['key'],
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

/** A valid value, with or without optional members, some of whose members are replaced, removed or added. */
function bent(schema: Schema): fc.Arbitrary<unknown> {
  const whole = resolve(schema);
  if (whole.anyOf) return fc.oneof(...whole.anyOf.map(bent));
  const fitting = sampleOf(whole, NAMES);
  if (typeof fitting !== 'object' || fitting === null) return wildJson;
  if (Array.isArray(fitting)) return fc.array(bent(whole.items ?? {}), { maxLength: 3 });
  const members = Object.entries(whole.properties ?? {});
  const optional = members.filter(([name]) => !(name in fitting));
  const change = fc.record({ at: fc.nat(), value: wildJson, how: fc.constantFrom('replace', 'remove', 'add') });
  const changes = fc.oneof(fc.constant([]), fc.array(change, { minLength: 1, maxLength: 2 }));
  return fc.tuple(fc.subarray(optional), changes).map(([more, bends]) => {
    const value: Record<string, unknown> = { ...fitting };
    for (const [name, member] of more) value[name] = sampleOf(member, NAMES, name);
    for (const { at, value: wild, how } of bends) {
      const name = members[at % Math.max(1, members.length)]?.[0] ?? 'x';
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

/** The first line of an artifact that is sent with a label. */
const label = fc.record(
  {
    mimeType: fc.oneof(wildJson, fc.constantFrom('text/html', 'a\nb', 'text/é', 'x'.repeat(300))),
    filename: wildJson,
    scope: wildJson,
    ttl: wildJson,
  },
  { requiredKeys: [] },
);

/** Valid and invalid bodies of a type that the operation accepts. */
function bodyOfType(type: string, { bodies }: Operation): fc.Arbitrary<Buffer> {
  const values = bent(bodies[type]!.schema ?? bodies['application/json']?.schema ?? {}).map(json);
  const text = type.endsWith('ndjson')
    ? fc.array(values, { maxLength: 4 }).map((lines) => lines.join('\n'))
    : type.endsWith('.artifact')
      ? label.map((it) => `${json(it)}\nbytes`)
      : values;
  return fc.oneof({ weight: 4, arbitrary: text.map((it) => Buffer.from(it)) }, { weight: 1, arbitrary: brokenBody });
}

const MEGABYTE = 1024 * 1024;
/** Texts that keep slow patterns busy. */
const PUMPS = ['eyJ-', 'tmk_', 'a://a', 'Bearer ', '?token=', '/', '\\', '"', '.', '\0', '\ud800'];
const pumped = fc.record({ pump: fc.constantFrom(...PUMPS), length: fc.constantFrom(1_000, 10_000, 200_000) });
const PUMPED_QUERY = 8_000;

/** Bodies that are small to send and costly to process: many members, long names, deep values, one endless line. */
const heavyBody = fc
  .record({
    shape: fc.constantFrom('items', 'fields', 'name', 'events', 'line', 'deep'),
    size: fc.constantFrom(1, 4),
    text: pumped,
  })
  .map(({ shape, size, text: { pump, length } }) => {
    const bytes = size * MEGABYTE;
    const name = JSON.stringify(pump.repeat(length / pump.length));
    switch (shape) {
      case 'items':
        return `{"keys":[${'1,'.repeat(bytes / 2)}1]}`;
      case 'fields':
        return `{"fields":{${Array.from({ length: bytes / 16 }, (_, n) => `"f${n}":"x"`).join()}}}`;
      case 'name':
        return `{"fields":{${name}:[]},${name}:${name}}`;
      case 'events':
        return `[${'{},'.repeat(bytes / 3)}{}]`;
      case 'line':
        return `{"payload":{"a":"${'x'.repeat(bytes)}`;
      default:
        return `{"payload":${'{"a":'.repeat(bytes / 16)}`;
    }
  })
  .map((text) => Buffer.from(text));

function contentOf(operation: Operation, heavy: boolean): fc.Arbitrary<{ type: string | null; body: Buffer | null }> {
  const types = Object.keys(operation.bodies);
  const none = { type: null, body: null };
  if (types.length === 0) return fc.constantFrom(none, none, { type: 'application/json', body: Buffer.from('{}') });
  const right = types.map((type) => bodyOfType(type, operation).map((body) => ({ type, body })));
  const odd = fc.constantFrom(null, 'text/plain', 'application/json; charset=x', 'x', '/');
  return fc.oneof(
    ...(heavy ? [{ weight: 1, arbitrary: fc.record({ type: fc.constantFrom(...types), body: heavyBody }) }] : []),
    { weight: 9, arbitrary: fc.oneof(...right) },
    { weight: 1, arbitrary: fc.record({ type: odd, body: brokenBody }) },
  );
}

/** The maximum length of a name and its value together in an encoded URL. */
function longQuery(pump: string): string {
  const encoded = encodeURIComponent(pump.toWellFormed()).length;
  return pump.repeat(Math.floor(PUMPED_QUERY / 2 / encoded));
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

function parameterOf({ name, required, schema, content }: Parameter): fc.Arbitrary<[string, string][]> {
  // Long polls would make every round as slow as they are long.
  if (name === 'wait')
    return fc.constantFrom([], [], ['1ms'], ['0'], ['61s'], ['x']).map((it) => it.map((of) => [name, of]));
  const fitting = json(sampleOf(schema ?? content!['application/json'].schema, NAMES, name)).replaceAll(/^"|"$/g, '');
  const wild = fc.oneof(wildText, wildNumber.map(String), wildJson.map(json));
  const values = fc.oneof(
    { weight: 12, arbitrary: fc.constant(required ? [fitting] : []) },
    { weight: 3, arbitrary: fc.constant([fitting]) },
    { weight: 2, arbitrary: fc.array(wild, { maxLength: 2 }) },
  );
  return values.map((it) => it.map((value) => [name, value]));
}

const header = (...values: string[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...values) });
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

/** Requests to an operation, occasionally with a method it does not support. */
export function wildRequests(operation: Operation, heavy = false): fc.Arbitrary<WildRequest> {
  const parameters = [...operation.path.matchAll(/\{\w+\}/g)];
  const query = operation.parameters.filter(({ in: location }) => location === 'query').map(parameterOf);
  const unknown = fc.oneof(
    { weight: 19, arbitrary: fc.constant<[string, string][]>([]) },
    { weight: 1, arbitrary: fc.constantFrom<[string, string][]>([['unknown', 'x']], [['__proto__', 'x']]) },
    ...(heavy
      ? [{ weight: 1, arbitrary: pumped.map(({ pump }): [string, string][] => [[longQuery(pump), longQuery(pump)]]) }]
      : []),
  );
  return fc
    .record({
      method: fc.oneof(
        { weight: 19, arbitrary: fc.constant(operation.method) },
        { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
      ),
      segments: fc.tuple(...parameters.map(() => segment)),
      query: fc.tuple(...query, unknown),
      headers,
      content: contentOf(operation, heavy),
    })
    .map(({ method, segments, query, headers, content }) => {
      const left = [...segments] as string[];
      const path = operation.path.replaceAll(/\{\w+\}/g, () => left.shift()!);
      const text = new URLSearchParams(
        query.flat().map(([name, value]): [string, string] => [name.toWellFormed(), value.toWellFormed()]),
      ).toString();
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
