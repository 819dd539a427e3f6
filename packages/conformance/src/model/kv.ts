/** Compares KV with the model: writes, swaps, deletes, reads and scans over a few colliding keys. */
import type { KvPredicate, KvRecord, KvValue, Store } from '@tidemark/core';
import fc from 'fast-check';
import { kvCase } from '../cases/define.ts';
import { all, allPages } from '../cases/iterate.ts';
import type { ConformanceCase } from '../kit.ts';
import { COLLIDING_IDS, compareWithModel } from './beside.ts';

type Changes = Record<string, KvValue | null>;

type KvCommand =
  | { do: 'put'; key: string; fields: Record<string, KvValue>; ttl: string | undefined }
  | { do: 'setFields'; key: string; changes: Changes; ifExists: boolean }
  | {
      do: 'swap';
      key: string;
      field: string;
      expected: KvValue | null;
      set: Changes;
      revision: 'any' | 'last' | 'none';
    }
  | { do: 'cas'; key: string; field: string; expected: KvValue | null; next: KvValue | null }
  | { do: 'touch'; key: string; ttl: string | null }
  | { do: 'delete' | 'get'; key: string }
  | { do: 'getMany'; keys: string[] }
  | {
      do: 'scan';
      prefix: string;
      from: string | undefined;
      to: string | undefined;
      reverse: boolean;
      where: KvPredicate[];
      maxResults: number;
      limit: number;
    }
  | { do: 'deletePrefix'; prefix: string; from: string | undefined; to: string | undefined; limit: number };

const FIELD = fc.constantFrom('a', 'A', 'a%', '__proto__');
const VALUE: fc.Arbitrary<KvValue> = fc.oneof(
  fc.constantFrom<KvValue>('', '0', '9', '10', '-1', '-10', '007', '9007199254740993', 'x', 'X', true),
  fc.uint8Array({ maxLength: 3 }).map((bytes) => Uint8Array.from(bytes)),
);
const NULLABLE = fc.option(VALUE, { nil: null, freq: 4 });
const FIELDS = fc.dictionary(FIELD, VALUE, { minKeys: 1, maxKeys: 3 });
const CHANGES = fc.dictionary(FIELD, NULLABLE, { minKeys: 1, maxKeys: 3 });
const PREDICATE: fc.Arbitrary<KvPredicate> = fc.record({
  field: FIELD,
  op: fc.constantFrom('eq', 'ne', 'lt', 'gt', 'lte', 'gte'),
  value: VALUE,
});

const PREFIX = fc.constantFrom('', '', '', 'r', 'r', 'r%', 'r_', '{', '__', '.', 'R', '*');
/** Bounds: keys that may be stored, and keys that sort between them. */
const BOUND = fc.option(fc.oneof(COLLIDING_IDS, fc.constantFrom('r\u007f', 'r🌊', 's', '\u{10ffff}', '!')), {
  nil: undefined,
  freq: 2,
});

const PUT: fc.Arbitrary<KvCommand> = fc.record({
  do: fc.constant('put' as const),
  key: COLLIDING_IDS,
  fields: FIELDS,
  ttl: fc.constantFrom(undefined, '1h'),
});
const SCAN: fc.Arbitrary<KvCommand> = fc.record({
  do: fc.constant('scan' as const),
  prefix: PREFIX,
  from: BOUND,
  to: BOUND,
  reverse: fc.boolean(),
  where: fc.array(PREDICATE, { maxLength: 2 }),
  maxResults: fc.integer({ min: 1, max: 9 }),
  limit: fc.integer({ min: 1, max: 3 }),
});
const OTHERS: fc.Arbitrary<KvCommand> = fc.oneof(
  fc.record({ do: fc.constant('setFields' as const), key: COLLIDING_IDS, changes: CHANGES, ifExists: fc.boolean() }),
  fc.record({ do: fc.constant('cas' as const), key: COLLIDING_IDS, field: FIELD, expected: NULLABLE, next: NULLABLE }),
  fc.record({
    do: fc.constant('swap' as const),
    key: COLLIDING_IDS,
    field: FIELD,
    expected: NULLABLE,
    set: CHANGES,
    revision: fc.constantFrom('any', 'last', 'none'),
  }),
  fc.record({ do: fc.constant('touch' as const), key: COLLIDING_IDS, ttl: fc.constantFrom('1h', null) }),
  fc.record({ do: fc.constantFrom('delete', 'get'), key: COLLIDING_IDS }),
  fc.record({ do: fc.constant('getMany' as const), keys: fc.array(COLLIDING_IDS, { maxLength: 4 }) }),
  fc.record({
    do: fc.constant('deletePrefix' as const),
    prefix: PREFIX.filter((prefix) => prefix !== ''),
    from: BOUND,
    to: BOUND,
    limit: fc.integer({ min: 1, max: 3 }),
  }),
);

/** Puts and scans are frequent, because a wrong range is detected only if several records are stored. */
const COMMAND: fc.Arbitrary<KvCommand> = fc.oneof(
  { arbitrary: PUT, weight: 7 },
  { arbitrary: SCAN, weight: 4 },
  { arbitrary: OTHERS, weight: 7 },
);

/**
 * The last revision of a key that each side has seen. Engines number revisions differently, so revisions are never
 * compared.
 */
type KvSession = Map<string, number>;

async function applyToKv({ kv }: Store, command: KvCommand, seen: KvSession): Promise<unknown> {
  const see = (key: string, record: KvRecord | null) => {
    if (record) seen.set(key, record.revision);
    return shown(record);
  };
  switch (command.do) {
    case 'put':
      return (await kv.put(command.key, command.fields, command.ttl === undefined ? {} : { ttl: command.ttl })).written;
    case 'setFields': {
      const { written, revision } = await kv.setFields(command.key, command.changes, { ifExists: command.ifExists });
      return { written, there: revision !== null };
    }
    case 'cas':
      return kv.compareAndSwap(command.key, command.field, command.expected, command.next);
    case 'swap': {
      const { key, set, revision } = command;
      const last = seen.get(key) ?? 0;
      const condition = revision === 'any' ? {} : { expectedRevision: revision === 'last' ? last : 0 };
      const { swapped, record } = await kv.swap(key, {
        expected: { [command.field]: command.expected },
        set,
        ...condition,
      });
      return { swapped, record: see(key, record) };
    }
    case 'touch':
      return kv.touch(command.key, command.ttl);
    case 'delete':
      return kv.delete(command.key);
    case 'get':
      return see(command.key, await kv.get(command.key));
    case 'getMany':
      return (await kv.getMany(command.keys)).map(shown);
    case 'scan': {
      const { prefix, where, maxResults, limit, from, to, reverse } = command;
      const range = { from, to, reverse };
      const scanned = await all(kv.scan(prefix, { where, maxResults }, range));
      const paged = await allPages((cursor) => kv.scanPage(prefix, { ...range, filter: { where }, limit, cursor }));
      const keys = await all(kv.scan(prefix, undefined, { ...range, keysOnly: true }));
      const counted = await kv.count(prefix, { from, to });
      const entries = [scanned, paged].map((some) => some.map(({ key, record }) => [key, shown(record)]));
      return [...entries, keys, counted];
    }
    case 'deletePrefix': {
      const { prefix, limit, from, to } = command;
      const { deleted, next } = await kv.deletePrefix(prefix, { from, to, limit });
      return { deleted, hasNext: next !== undefined };
    }
    default:
      return command satisfies never;
  }
}

function shown(record: KvRecord | null): unknown {
  if (!record) return null;
  const fields = Object.entries(record.fields).map(
    ([name, bytes]) => [name, Buffer.from(bytes).toString('hex')] as const,
  );
  return { fields: fields.sort(([a], [b]) => (a < b ? -1 : 1)), hasTtl: record.ttl !== undefined };
}

export const KV_MODEL_CASE: ConformanceCase = kvCase({
  id: 'model/kv',
  title: 'random sequences of KV commands return the same as the reference store',
  proves: ['KV-1', 'KV-2', 'KV-3', 'KV-4', 'KV-5', 'KV-6', 'GEN-5'],
  run: (bench) => compareWithModel(bench, COMMAND, applyToKv, () => new Map()),
});
