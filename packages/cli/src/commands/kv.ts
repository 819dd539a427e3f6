/** `kv`: reads, writes and watches records. */
import { randomUUID } from 'node:crypto';
import {
  invalidArgument,
  type KvChange,
  type KvEntry,
  type KvKey,
  type KvKeyRange,
  type KvPredicate,
  type KvRecord,
  type KvStore,
  type KvValue,
  type KvWriteResult,
  TidemarkError,
} from '@tidemark/core';
import { readText } from '../arguments.ts';
import { durationText } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { follow } from '../follow.ts';
import type { Io } from '../io.ts';
import { duration, integer, many, maybe, one, parsePair, text, texts, toggle } from '../options.ts';
import type { View } from '../output.ts';
import { limitOption, upTo } from '../pages.ts';

const KEY = one('key of the record');
const ttlText = ({ ttl }: KvRecord) => (ttl === undefined ? '' : durationText(ttl));
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns a field as text if it is valid UTF-8, else as base64. */
function fieldValue(bytes: Uint8Array): string | { base64: string } {
  try {
    return strict.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}

function decodeFields({ fields }: KvRecord): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, bytes]) => [name, fieldValue(bytes)]));
}

const recordJson = ({ key, record }: KvEntry) => ({ key, ...record, fields: decodeFields(record) });

const KEYS: View<KvKey> = {
  columns: [{ title: 'KEY', of: ({ key }) => key }],
  id: ({ key }) => key,
  json: ({ key }) => ({ key }),
};

const ENTRIES: View<KvEntry> = {
  columns: [
    { title: 'KEY', of: ({ key }) => key },
    { title: 'REVISION', of: ({ record }) => record.revision },
    { title: 'TTL', of: ({ record }) => ttlText(record) },
    { title: 'FIELDS', of: ({ record }) => ({ json: decodeFields(record) }) },
  ],
  id: ({ key }) => key,
  json: recordJson,
};

const CHANGES: View<KvChange> = {
  columns: [
    { title: 'CHANGE', of: ({ type }) => type, width: 8 },
    { title: 'KEY', of: ({ key }) => key, width: 40 },
    { title: 'FIELDS', of: ({ record }) => (record ? { json: decodeFields(record) } : '') },
  ],
  id: ({ key }) => key,
  json: ({ key, type, record }) => ({ key, type, record: record && { ...record, fields: decodeFields(record) } }),
};

const get = defineCommand({
  name: 'kv get',
  summary: 'Show a record, or one of its fields',
  effect: 'ro',
  args: { key: KEY, field: maybe('print only the bytes of this field') },
  examples: [
    { line: 'kv get config.limits', shows: '"max":"10"' },
    { line: 'kv get config.limits max', shows: '10' },
    { line: 'kv get config.absent', shows: 'NOT_FOUND', exit: 3 },
  ],
  async run({ store, out, args: { key, field } }) {
    const { kv } = await store();
    const record = await kv.get(key);
    const bytes = field === undefined ? undefined : record?.fields[field];
    if (!record || (field !== undefined && !bytes))
      throw new TidemarkError(
        'NOT_FOUND',
        `There is no record ${JSON.stringify(key)}${field === undefined ? '' : ` with a field ${JSON.stringify(field)}`}`,
      );
    if (bytes) await out.raw(out.form === 'table' ? Buffer.concat([bytes, Buffer.from('\n')]) : bytes);
    else await out.show({ key, record }, ENTRIES);
  },
});

const put = defineCommand({
  name: 'kv put',
  summary: 'Replace a record',
  effect: 'rw',
  args: { key: KEY, fields: many('fields as name=value; @file or - reads the value from a file or stdin') },
  options: {
    ttl: duration('duration', 'how long to keep it (default: for ever)'),
    ifAbsent: toggle('only if the record does not exist'),
    expectedRevision: integer('n', 'only if the record has this revision', 1),
  },
  examples: [
    { line: 'kv put config.flags dark=on beta=off --ttl 1h', shows: '"written":true' },
    { line: 'kv put config.limits max=20 --if-absent', shows: 'CONFLICT', exit: 5 },
    { line: 'kv put config.limits max=20 --dry-run', shows: '"would":"put"' },
  ],
  async run({ store, out, io, args, options: { ttl, ifAbsent, expectedRevision }, dryRun }) {
    const { kv } = await store();
    const fields = await readFields(args.fields, io);
    if (dryRun) return out.report({ dryRun: true, would: 'put', key: args.key, fields }, args.key);
    const ttlOption = ttl === undefined ? {} : { ttl };
    const revision = ifAbsent ? 0 : expectedRevision;
    const written =
      revision === undefined
        ? await kv.put(args.key, fields, { requestId: randomUUID(), ...ttlOption })
        : await replaceAt(kv, args.key, revision, fields, ttl ?? null);
    return out.report({ key: args.key, ...written }, args.key);
  },
});

/** Replaces a record if it has this revision; 0 means that it must not exist. */
async function replaceAt(
  kv: KvStore,
  key: string,
  revision: number,
  fields: Record<string, string>,
  ttl: number | null,
): Promise<KvWriteResult> {
  const before = revision === 0 ? null : await kv.get(key);
  const gone = Object.keys(before?.fields ?? {}).filter((name) => !Object.hasOwn(fields, name));
  const set = { ...fields, ...Object.fromEntries(gone.map((name) => [name, null])) };
  const { swapped, record } = await kv.swap(key, { expectedRevision: revision, set, ttl, requestId: randomUUID() });
  if (!swapped) throw conflict(key, record);
  return { written: true, revision: record!.revision };
}

async function readFields(given: readonly string[], io: Io): Promise<Record<string, string>> {
  const fields: Record<string, string> = {};
  for (const pair of given) {
    const [name, value] = parsePair(pair, 'fields');
    fields[name] = await readText(value, io);
  }
  return fields;
}

function conflict(key: string, record: KvRecord | null): TidemarkError {
  return new TidemarkError('CONFLICT', `The record ${JSON.stringify(key)} is not as expected`, {
    current: record && { revision: record.revision, fields: decodeFields(record) },
  });
}

const set = defineCommand({
  name: 'kv set',
  summary: 'Write some fields of a record and keep the others',
  effect: 'rw',
  args: { key: KEY, fields: many('fields as name=value; with --remove-empty, name= removes a field') },
  options: {
    removeEmpty: toggle('remove fields whose value is empty'),
    ifExists: toggle('only if the record exists'),
  },
  examples: [
    { line: 'kv set config.limits max=20', shows: '"written":true' },
    { line: 'kv set config.limits burst= --remove-empty', shows: '"written":true' },
  ],
  async run({ store, out, io, args, options, dryRun }) {
    const { kv } = await store();
    const read = await readFields(args.fields, io);
    const fields = Object.fromEntries(
      Object.entries(read).map(([name, value]): [string, KvValue | null] => [
        name,
        options.removeEmpty && value === '' ? null : value,
      ]),
    );
    if (dryRun) return out.report({ dryRun: true, would: 'set', key: args.key, fields }, args.key);
    const result = await kv.setFields(args.key, fields, { ifExists: options.ifExists, requestId: randomUUID() });
    await out.report({ key: args.key, ...result }, args.key);
  },
});

const cas = defineCommand({
  name: 'kv cas',
  summary: 'Write a field if it has the expected value',
  details: 'Exit code 5 when it has another value.',
  effect: 'rw',
  args: { key: KEY, field: one('name of the field'), expected: one('value it must have'), next: one('value to write') },
  options: { absent: toggle('expect that the field does not exist; ignores <expected>') },
  examples: [
    { line: 'kv cas config.limits max 10 20', shows: '"swapped":true' },
    { line: 'kv cas config.limits max 11 20', shows: '"max":"10"', exit: 5 },
  ],
  async run({ store, out, args, options, dryRun }) {
    const { kv } = await store();
    const { key, field, next } = args;
    const expected = options.absent ? null : args.expected;
    if (dryRun) return out.report({ dryRun: true, would: 'swap', key, field, expected, next }, key);
    const result = await kv.swap(key, {
      expected: { [field]: expected },
      set: { [field]: next },
      requestId: randomUUID(),
    });
    if (!result.swapped) throw conflict(key, result.record);
    await out.report({ key, swapped: true, revision: result.record!.revision }, key);
  },
});

const touch = defineCommand({
  name: 'kv touch',
  summary: 'Set or remove the time to live of a record',
  effect: 'rw',
  args: { key: KEY },
  options: { ttl: duration('duration', 'new time to live from now (default: for ever)') },
  examples: [{ line: 'kv touch config.limits --ttl 1h', shows: '"touched":true' }],
  async run({ store, out, args, options, dryRun }) {
    const { kv } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'touch', key: args.key, ttl: options.ttl ?? null }, args.key);
    const touched = await kv.touch(args.key, options.ttl ?? null, { requestId: randomUUID() });
    await out.report({ key: args.key, touched }, args.key);
    return touched ? EXIT.ok : EXIT.notFound;
  },
});

const remove = defineCommand({
  name: 'kv delete',
  summary: 'Delete records',
  effect: 'destructive',
  args: { keys: many('keys of the records') },
  examples: [
    { line: 'kv delete config.limits --yes', shows: '"deleted":true' },
    { line: 'kv delete config.limits --dry-run', shows: '"would":"delete"' },
  ],
  async run({ store, out, args: { keys }, dryRun, confirm }) {
    const { kv } = await store();
    if (dryRun) {
      const found = await kv.getMany(keys);
      for (const [at, key] of keys.entries())
        await out.report({ dryRun: true, would: 'delete', key, exists: found[at] !== null }, key);
      return;
    }
    await confirm(
      keys.length === 1
        ? { action: `delete the record ${keys[0]}`, answer: keys[0]! }
        : { action: `delete ${keys.length} records`, answer: String(keys.length) },
    );
    for (const key of keys) await out.report({ key, deleted: await kv.delete(key, { requestId: randomUUID() }) }, key);
  },
});

const CONDITION = /^(.+?)(!=|<=|>=|=|<|>)(.*)$/s;
const OPERATORS = { '=': 'eq', '!=': 'ne', '<': 'lt', '>': 'gt', '<=': 'lte', '>=': 'gte' } as const;

function parsePredicate(given: string): KvPredicate {
  const [, field, operator, value] = CONDITION.exec(given) ?? [];
  if (field === undefined)
    throw invalidArgument('--where', "a field, one of = != < <= > >=, and a value: 'state!=done'", given);
  return { field, op: OPERATORS[operator as keyof typeof OPERATORS], value: value! };
}

const WHERE = texts('condition', "only records that match: 'state!=done', 'count>=10'");
const RANGE = {
  from: text('key', 'lowest key, inclusive'),
  to: text('key', 'end of the keys, exclusive'),
};
const DELETED_AT_ONCE = 500;

function rangeOf({ from, to }: { from: string | undefined; to: string | undefined }): KvKeyRange {
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

const scan = defineCommand({
  name: 'kv scan',
  summary: 'List records whose key starts with a prefix',
  effect: 'ro',
  args: { prefix: maybe('prefix of the keys (default: all keys)') },
  options: {
    where: WHERE,
    ...RANGE,
    reverse: toggle('highest keys first'),
    keysOnly: toggle('show keys without reading the records'),
    limit: limitOption,
  },
  examples: [
    { line: 'kv scan config.', shows: 'config.limits' },
    { line: 'kv scan --from config. --to config.m --reverse --keys-only', shows: 'config.limits' },
    { line: "kv scan gbe.state.tasks. --where 'state=failed' -o id", shows: 'gbe.state.tasks.email-send.mail-3' },
  ],
  async run({ store, out, args, options }) {
    const { kv } = await store();
    const prefix = args.prefix ?? '';
    const form = {
      ...rangeOf(options),
      filter: { where: options.where.map(parsePredicate) },
      reverse: options.reverse,
    };
    const none = 'No records found.';
    const entries = upTo(options.limit, (page) => kv.scanPage(prefix, { ...page, ...form }), out);
    const keys = upTo(options.limit, (page) => kv.scanPage(prefix, { ...page, ...form, keysOnly: true }), out);
    await (options.keysOnly ? out.list(keys, KEYS, none) : out.list(entries, ENTRIES, none));
  },
});

const count = defineCommand({
  name: 'kv count',
  summary: 'Count records whose key starts with a prefix',
  details: 'exact is false when counting stopped early: there are at least that many.',
  effect: 'ro',
  args: { prefix: maybe('prefix of the keys (default: all keys)') },
  options: { where: WHERE, ...RANGE },
  examples: [{ line: 'kv count config.', shows: '"exact":true' }],
  async run({ store, out, args, options }) {
    const { kv } = await store();
    const filter = options.where.length === 0 ? {} : { filter: { where: options.where.map(parsePredicate) } };
    const counted = await kv.count(args.prefix ?? '', { ...rangeOf(options), ...filter });
    await out.report({ ...counted }, String(counted.count));
  },
});

const removePrefix = defineCommand({
  name: 'kv delete-prefix',
  summary: 'Delete all records whose key starts with a prefix',
  details: 'Works in steps. After a failure, the same command deletes the rest.',
  effect: 'destructive',
  args: { prefix: one('prefix of the keys, at least one character') },
  options: RANGE,
  examples: [
    { line: 'kv delete-prefix config. --yes', shows: '"deleted":1' },
    { line: 'kv delete-prefix config. --dry-run', shows: '"would":"delete"' },
  ],
  async run({ store, out, args: { prefix }, options, dryRun, confirm }) {
    const { kv } = await store();
    const range = rangeOf(options);
    if (dryRun) {
      const counted = await kv.count(prefix, range);
      return out.report({ dryRun: true, would: 'delete', prefix, ...range, ...counted }, prefix);
    }
    await confirm({ action: `delete the records under ${prefix}`, answer: prefix });
    let deleted = 0;
    let cursor: string | undefined;
    do {
      const step = await kv.deletePrefix(prefix, { ...range, cursor, limit: DELETED_AT_ONCE });
      deleted += step.deleted;
      cursor = step.next;
    } while (cursor !== undefined);
    return out.report({ prefix, ...range, deleted }, prefix);
  },
});

const watch = defineCommand({
  name: 'kv watch',
  summary: 'Show changes to records as they happen',
  details: 'Starts now and ends with Ctrl-C. Changes made while the connection is lost are not shown.',
  effect: 'ro',
  args: { prefix: maybe('prefix of the keys (default: all keys)') },
  options: { for: duration('duration', 'stop after this time') },
  examples: [{ line: 'kv watch config. --for 100ms', shows: 'Watching' }],
  async run({ store, out, io, args, options }) {
    const { kv } = await store({ mustExist: true });
    await out.note(`Watching ${args.prefix ?? 'all records'}; press Ctrl-C to stop.`);
    const limit = options.for === undefined ? undefined : AbortSignal.timeout(options.for);
    const signal = limit ? AbortSignal.any([io.signal, limit]) : io.signal;
    const code = await follow(
      { io: { ...io, signal }, out },
      { from: (_, until) => kv.watch(args.prefix ?? '', { signal: until }), cursorOf: () => undefined, view: CHANGES },
    );
    return io.signal.aborted ? code : EXIT.ok;
  },
});

export const kvCommands = [get, put, set, cas, touch, remove, removePrefix, scan, count, watch];
