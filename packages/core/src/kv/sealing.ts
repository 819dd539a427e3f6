/** Sealed fields (KV-11): values that pass the store's codec, bound to their tenant, key and field. */
import { checkSealed } from '../checks/sealed.ts';
import { type Payloads, plain } from '../codec/payloads.ts';
import { formatSealed, isMarked, isSealedValue, parseStored, plainForm } from '../codec/sealed-value.ts';
import type { PayloadContext } from '../contracts/codec.ts';
import { invalidArgument, isTidemarkError, type TidemarkError } from '../contracts/errors.ts';
import type { KvRecord } from '../contracts/kv.ts';
import type { Fields, StoredRecord } from '../engine/records.ts';
import { jobTypeOf } from '../tools/job-keys.ts';

type FieldValues = ReadonlyMap<string, Uint8Array | null>;

/** Seals fields of writes, and opens fields of records. */
export class Sealing {
  readonly #payloads: Payloads;
  readonly #tenantId: string;

  constructor(payloads: Payloads, tenantId: string) {
    this.#payloads = payloads;
    this.#tenantId = tenantId;
  }

  /**
   * Returns the stored form of the fields of a write. `sealed` is true to seal all fields, or a list of field names.
   * `at` is the prefix of argument names in errors.
   */
  stored(
    key: string,
    set: FieldValues,
    { sealed, expected, at = '' }: { sealed: unknown; expected?: FieldValues | undefined; at?: string },
  ): FieldValues {
    const names = this.#namesOf(key, set, sealed, at);
    if (names.size === 0) return plainForms(set);
    for (const field of names) if (expected?.get(field)) throw onlyAbsent(`${at}expected.${field}`);
    const stored = new Map<string, Uint8Array | null>();
    for (const [field, value] of set) {
      if (value === null) stored.set(field, null);
      else stored.set(field, names.has(field) ? this.#seal(value, this.#contextOf(key, field)) : plainForm(value));
    }
    return stored;
  }

  /** Returns the stored form of the values in conditions. Only plain values can be compared. */
  comparable(expected: FieldValues): FieldValues {
    return plainForms(expected);
  }

  #namesOf(key: string, set: FieldValues, sealed: unknown, at: string): ReadonlySet<string> {
    const checked = checkSealed(sealed, `${at}sealed`, set);
    if (!checked) return NO_NAMES;
    const names = new Set(checked === true ? set.keys() : checked);
    if (names.size > 0 && jobTypeOf(key) !== null)
      throw invalidArgument(`${at}sealed`, 'absent for the key of a job, whose fields are compared and indexed', key);
    if (names.size > 0 && !this.#payloads.codec?.encrypts)
      throw invalidArgument(`${at}sealed`, 'absent unless the store was opened with a codec that encrypts');
    return names;
  }

  #seal(value: Uint8Array, context: PayloadContext): Uint8Array {
    return formatSealed(this.#payloads.codec!.encode(plain(value), context));
  }

  /** Returns the value of a stored field. Throws `CODEC_FAILED` if it cannot be opened. */
  open(key: string, field: string, bytes: Uint8Array): Uint8Array {
    if (!isMarked(bytes)) return new Uint8Array(bytes);
    const context = this.#contextOf(key, field);
    const parsed = parseStored(bytes, context);
    return new Uint8Array(parsed.steps.length === 0 ? parsed.data : this.#payloads.bytesOf(parsed, context));
  }

  /**
   * Converts a stored record for readers: copied bytes, in an object without a prototype. With `lenient`, leaves out
   * sealed fields that cannot be opened; use it after a write, whose success a failure to decode must not hide.
   */
  record(key: string, stored: StoredRecord, lenient = false): KvRecord {
    const fields = Object.create(null) as Record<string, Uint8Array>;
    const sealed: string[] = [];
    for (const [field, bytes] of stored.fields) {
      if (!isMarked(bytes)) {
        fields[field] = new Uint8Array(bytes);
        continue;
      }
      if (isSealedValue(bytes)) sealed.push(field);
      try {
        fields[field] = this.open(key, field, bytes);
      } catch (error) {
        if (!lenient || !isTidemarkError(error, 'CODEC_FAILED')) throw error;
      }
    }
    const record: KvRecord = { fields, revision: stored.revision };
    if (stored.ttlMs !== null) record.ttl = stored.ttlMs;
    if (sealed.length > 0) record.sealed = sealed;
    return record;
  }

  #contextOf(key: string, field: string): PayloadContext {
    return { tenantId: this.#tenantId, kind: 'kv-field', owner: key, item: field };
  }
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** Returns the stored form of values that are not sealed: almost always the values themselves. */
function plainForms(values: FieldValues): FieldValues {
  for (const value of values.values()) {
    if (value && isMarked(value)) return new Map(Array.from(values, ([field, it]) => [field, it && plainForm(it)]));
  }
  return values;
}

/** Throws if a condition that did not hold compares a sealed field with a value. */
export function refuseSealedConditions(expected: FieldValues | undefined, stored: Fields | undefined, at = ''): void {
  for (const [field, value] of expected ?? []) {
    const bytes = stored?.get(field);
    if (value !== null && bytes && isSealedValue(bytes)) throw onlyAbsent(`${at}expected.${field}`);
  }
}

function onlyAbsent(field: string): TidemarkError {
  return invalidArgument(field, 'null, because a sealed field can only be expected to be absent');
}
