/** `kv`: reads, writes and watches records. */
import { randomUUID } from 'node:crypto';
import { type KvRecord, type KvStore, type KvValue, type KvWriteResult, TidemarkError } from '@tidemark/core';
import { readText } from '../arguments.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { duration, integer, many, maybe, one, parsePair, texts, toggle } from '../options.ts';
import { ENTRIES, rangeCommands, watch } from './kv-ranges.ts';
import { batch, reseal } from './kv-steps.ts';
import { decodeFields } from './record-values.ts';

const KEY = one('key of the record');
const SEALED = texts('field', 'encrypt this field in storage; the store needs an encryption key');

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
    sealed: SEALED,
    ifAbsent: toggle('only if the record does not exist'),
    expectedRevision: integer('n', 'only if the record has this revision', 1),
  },
  examples: [
    { line: 'kv put config.flags dark=on beta=off --ttl 1h', shows: '"written":true' },
    { line: 'kv put config.limits max=20 --if-absent', shows: 'CONFLICT', exit: 5 },
    { line: 'kv put config.limits max=20 --dry-run', shows: '"would":"put"' },
  ],
  async run({ store, out, io, args, options: { ttl, sealed, ifAbsent, expectedRevision }, dryRun }) {
    const { kv } = await store();
    const fields = await readFields(args.fields, io);
    if (dryRun) return out.report({ dryRun: true, would: 'put', key: args.key, fields }, args.key);
    const ttlOption = ttl === undefined ? {} : { ttl };
    const revision = ifAbsent ? 0 : expectedRevision;
    const written =
      revision === undefined
        ? await kv.put(args.key, fields, { requestId: randomUUID(), sealed, ...ttlOption })
        : await replaceAt(kv, args.key, revision, fields, { ttl: ttl ?? null, sealed });
    return out.report({ key: args.key, ...written }, args.key);
  },
});

/** Replaces a record if it has this revision. 0 means that the record must not exist. */
async function replaceAt(
  kv: KvStore,
  key: string,
  revision: number,
  fields: Record<string, string>,
  options: { ttl: number | null; sealed: string[] },
): Promise<KvWriteResult> {
  const before = revision === 0 ? null : await kv.get(key);
  const gone = Object.keys(before?.fields ?? {}).filter((name) => !Object.hasOwn(fields, name));
  const set = { ...fields, ...Object.fromEntries(gone.map((name) => [name, null])) };
  const change = { expectedRevision: revision, set, ...options, requestId: randomUUID() };
  const { swapped, record } = await kv.swap(key, change);
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
    sealed: SEALED,
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
    const result = await kv.setFields(args.key, fields, {
      ifExists: options.ifExists,
      sealed: options.sealed,
      requestId: randomUUID(),
    });
    await out.report({ key: args.key, ...result }, args.key);
  },
});

const cas = defineCommand({
  name: 'kv cas',
  summary: 'Write a field if it has the expected value',
  details: 'Exits with code 5 if the field has another value.',
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

export const kvCommands = [get, put, set, cas, touch, batch, remove, ...rangeCommands, reseal, watch];
