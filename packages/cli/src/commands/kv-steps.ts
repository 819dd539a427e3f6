/** `kv batch` and `kv reseal`: change several records. */
import { randomUUID } from 'node:crypto';
import { invalidArgument, type KvOperation, parseJsonText, TidemarkError } from '@tidemark/core';
import { readText } from '../arguments.ts';
import { defineCommand } from '../command.ts';
import type { Io } from '../io.ts';
import { maybe, one } from '../options.ts';
import { decodeFields } from './record-values.ts';

export const batch = defineCommand({
  name: 'kv batch',
  summary: 'Write up to 25 records in one step, or none',
  details:
    'Operations are put, setFields and delete, with the conditions expected and expectedRevision. Bytes are {"base64": "…"}. Exits with code 5 if a condition does not hold.',
  effect: 'destructive',
  args: { operations: one('JSON array of operations; @file or - reads it from a file or stdin') },
  examples: [
    {
      line: 'kv batch -',
      input:
        '[{"op":"setFields","key":"config.limits","fields":{"max":20}},{"op":"put","key":"config.new","fields":{"a":1}}]',
      shows: '"written":true',
    },
    {
      line: 'kv batch -',
      input: '[{"op":"put","key":"config.limits","fields":{"max":20},"expectedRevision":0}]',
      shows: 'CONFLICT',
      exit: 5,
    },
    {
      line: 'kv batch - --dry-run',
      input: '[{"op":"delete","key":"config.limits"}]',
      shows: '"would":"delete"',
    },
  ],
  async run({ store, out, io, args, dryRun, confirm }) {
    const { kv } = await store();
    const operations = await readOperations(args.operations, io);
    if (dryRun) {
      for (const { op, key } of operations) await out.report({ dryRun: true, would: op, key }, key);
      return;
    }
    const deleted = operations.filter(({ op }) => op === 'delete').map(({ key }) => key);
    if (deleted.length > 0)
      await confirm({
        action: `write ${operations.length} records and delete ${deleted.join(', ')}`,
        answer: deleted[0]!,
      });
    const result = await kv.batch(operations, { requestId: randomUUID() });
    if (!result.written) {
      const { key, record, condition } = result.unmet;
      throw new TidemarkError('CONFLICT', `The record ${JSON.stringify(key)} is not as ${condition} says`, {
        field: `operations[${result.unmet.index}].${condition}`,
        current: record && { revision: record.revision, fields: decodeFields(record) },
      });
    }
    for (const [at, { revision, existed }] of result.results.entries()) {
      const { key } = operations[at]!;
      await out.report({ key, written: true, revision, existed }, key);
    }
  },
});

async function readOperations(given: string, io: Io): Promise<KvOperation[]> {
  const operations = parseJsonText(await readText(given, io), 'operations');
  if (!Array.isArray(operations)) throw invalidArgument('operations', 'a JSON array');
  return operations.map((operation) => {
    const { fields, expected, ...rest } = Object(operation) as Record<string, unknown>;
    return {
      ...rest,
      ...(fields === undefined ? {} : { fields: valuesIn(fields) }),
      ...(expected === undefined ? {} : { expected: valuesIn(expected) }),
    } as unknown as KvOperation;
  });
}

/** Decodes values in the form `{"base64": "…"}`. */
function valuesIn(fields: unknown): unknown {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const { base64 } = Object(value) as { base64?: unknown };
      return [name, typeof base64 === 'string' ? Buffer.from(base64, 'base64') : value];
    }),
  );
}

export const reseal = defineCommand({
  name: 'kv reseal',
  summary: 'Encrypt sealed fields again with the current key',
  details: 'Run it after a key was changed, in a store or on a server that has both keys. It can be repeated.',
  effect: 'rw',
  args: { prefix: maybe('prefix of the keys (default: all keys)') },
  examples: [{ line: 'kv reseal config.', shows: '"complete":true' }],
  async run({ store, out, io, args, dryRun }) {
    const prefix = args.prefix ?? '';
    const opened = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'reseal', prefix }, prefix);
    const { resealRecords } = await import('@tidemark/runtime');
    const report = await resealRecords(opened, { prefix, signal: io.signal });
    return out.report({ prefix, ...report }, prefix);
  },
});
