/** `kv list`, `scan`, `count`, `delete-prefix` and `watch`: commands for ranges of records. */
import {
  invalidArgument,
  type KvChange,
  type KvEntry,
  type KvKey,
  type KvKeyRange,
  type KvPredicate,
  type KvRecord,
} from '@tidemark/core';
import { durationText } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { follow } from '../follow.ts';
import { duration, maybe, one, text, texts, toggle } from '../options.ts';
import type { View } from '../output.ts';
import { limitOption, upTo } from '../pages.ts';
import { decodeFields } from './record-values.ts';

const ttlText = ({ ttl }: KvRecord) => (ttl === undefined ? '' : durationText(ttl));
const recordJson = ({ key, record }: KvEntry) => ({ key, ...record, fields: decodeFields(record) });

/** Records with their fields. */
export const ENTRIES: View<KvEntry> = {
  columns: [
    { title: 'KEY', of: ({ key }) => key },
    { title: 'REVISION', of: ({ record }) => record.revision },
    { title: 'TTL', of: ({ record }) => ttlText(record) },
    { title: 'FIELDS', of: ({ record }) => ({ json: decodeFields(record) }) },
  ],
  id: ({ key }) => key,
  json: recordJson,
};

const KEYS: View<KvKey> = {
  columns: [{ title: 'KEY', of: ({ key }) => key }],
  id: ({ key }) => key,
  json: ({ key }) => ({ key }),
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

const list = defineCommand({
  name: 'kv list',
  summary: 'List keys that start with a prefix',
  details: 'Reads only the keys; `kv scan` lists the records.',
  effect: 'ro',
  args: { prefix: maybe('prefix of the keys (default: all keys)') },
  options: { limit: limitOption },
  examples: [
    { line: 'kv list', shows: 'config.limits' },
    { line: 'kv list config. -o id', shows: 'config.limits' },
  ],
  async run({ store, out, args: { prefix = '' }, options }) {
    const { kv } = await store();
    const keys = upTo(options.limit, (page) => kv.scanPage(prefix, { ...page, keysOnly: true }), out);
    await out.list(keys, KEYS, 'No records found.');
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

export const rangeCommands = [removePrefix, list, scan, count];
export { watch };
