/** Checks of a batch of KV operations that need no encoding: shape, number, keys and size (KV-10). */
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import { byteLength } from './bytes.ts';
import { checkId, checkObject, checkOneOf } from './text.ts';

const MAX_OPERATIONS = 25;
const MAX_BYTES = 1024 * 1024;
const OPERATIONS = ['put', 'setFields', 'delete'] as const;

/** The members of each operation. Others are refused: a condition with a wrong name would be ignored. */
const MEMBERS: Record<(typeof OPERATIONS)[number], ReadonlySet<string>> = {
  put: new Set(['op', 'key', 'fields', 'ttl', 'sealed', 'expected', 'expectedRevision']),
  setFields: new Set(['op', 'key', 'fields', 'ttl', 'ifExists', 'sealed', 'expected', 'expectedRevision']),
  delete: new Set(['op', 'key', 'expected', 'expectedRevision']),
};

/** An operation whose values are not checked yet. */
export interface UncheckedOperation extends Record<string, unknown> {
  op: (typeof OPERATIONS)[number];
  key: string;
}

/** Returns the operations. Throws `INVALID_ARGUMENT` for too many, for unknown members and for a repeated key. */
export function checkOperations(operations: unknown): UncheckedOperation[] {
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > MAX_OPERATIONS)
    throw invalidArgument('operations', `an array of 1 to ${MAX_OPERATIONS} operations`);
  const keys = new Set<string>();
  return operations.map((operation: unknown, at) => {
    const given = checkObject(operation, `operations[${at}]`);
    const op = checkOneOf(given.op, `operations[${at}].op`, OPERATIONS);
    const unknown = Object.keys(given).find((name) => given[name] !== undefined && !MEMBERS[op].has(name));
    if (unknown !== undefined) throw invalidArgument(`operations[${at}].${unknown}`, `absent from ${op}`);
    const key = checkId(given.key, `operations[${at}].key`);
    if (keys.has(key)) throw invalidArgument(`operations[${at}].key`, 'a key that no other operation has', key);
    keys.add(key);
    return { ...given, op, key };
  });
}

/** Throws `PAYLOAD_TOO_LARGE` for a batch whose keys, field names and values are too large together. */
export function checkBatchBytes(bytes: number): void {
  if (bytes <= MAX_BYTES) return;
  throw new TidemarkError(
    'PAYLOAD_TOO_LARGE',
    `The operations are larger than ${MAX_BYTES} bytes together; split them, or store large values as artifacts`,
    { field: 'operations', rule: `at most ${MAX_BYTES} bytes of keys, field names and values` },
  );
}

/** Returns the bytes of a key and some fields. */
export function sizeOfFields(fields: Iterable<readonly [string, { length: number } | null]>): number {
  let bytes = 0;
  for (const [name, value] of fields) bytes += byteLength(name) + (value?.length ?? 0);
  return bytes;
}
