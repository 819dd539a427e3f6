/**
 * Expresses a write as one update on conditions, without reading the record first. This is possible for a live record
 * that is neither a job nor stored in parts. Every other write reads the record first.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { RecordWrite } from '@tidemark/core/engine';
import type { ConditionalWrite, Item, OwnWrite } from '../client.ts';
import { summed, sumOfName } from './field-sums.ts';
import { nameOfField, nextRevision, ownWrite, recordKey, removableAt } from './record-item.ts';
import { hasIndexKeys } from './record-plan.ts';
import { NO_WRITE, newWriteId, WRITE_ATTRIBUTES } from './write-history.ts';

/** One less than the number of ids that a record holds, so that an update never has to move an id elsewhere. */
const MAX_REQUESTS = 31;
/** The maximum number of fields, because expressions have at most 4 KB and 300 operators. */
const MAX_FIELDS = 40;

export interface QuickWrite {
  request: ConditionalWrite;
  own: OwnWrite;
}

/** Returns the update, or `null` when the write must read the record first. */
export function quickWrite(write: RecordWrite, now: number): QuickWrite | null {
  const { name, mode, expect, set, stamps, ttlMs, requestId, requestIsNew } = write;
  if (mode !== 'merge' || hasIndexKeys(name) || write.answersBatch || expect?.exists === false) return null;
  if (expect?.revision === 0 || (requestId !== undefined && !requestIsNew)) return null;
  const values = [...set, ...(expect?.fields ?? [])];
  // An update that removes fields is excluded, because it might remove the last field.
  if (values.length > MAX_FIELDS || [...set.values()].includes(null)) return null;
  const issued = nextRevision();
  const writeId = newWriteId(issued);
  const it = new Expression();
  const f = it.name('f');
  const own = it.value({ B: writeId });
  const time = it.value({ N: String(now) });
  const start = sumOfName(name);
  const stored = (field: string, value: Uint8Array) => it.value({ B: summed(start, field, value) });
  const revision = it.value({ N: String(issued) });
  const alive = [
    `attribute_exists(${f})`,
    `(attribute_not_exists(${it.name('x')}) OR ${it.name('x')} > ${time})`,
    `${it.name('r')} < ${revision}`,
  ];
  for (const [field, value] of expect?.fields ?? []) {
    const path = `${f}.${it.name(nameOfField(field))}`;
    alive.push(value === null ? `attribute_not_exists(${path})` : `${path} = ${stored(field, value)}`);
  }
  if (expect?.revision !== undefined) alive.push(`${it.name('r')} = ${it.value({ N: String(expect.revision) })}`);
  const sets = [`${it.name('w')} = ${own}`, `${it.name('r')} = ${revision}`, ...shifts(it)];
  for (const [field, value] of set) sets.push(`${f}.${it.name(nameOfField(field))} = ${stored(field, value!)}`);
  for (const [field, plus] of stamps ?? [])
    sets.push(`${f}.${it.name(nameOfField(field))} = ${stored(field, Buffer.from(String(now + plus)))}`);
  if (typeof ttlMs === 'number') {
    sets.push(`${it.name('x')} = ${it.value({ N: String(now + ttlMs) })}`);
    sets.push(`${it.name('e')} = ${it.value(removableAt(now + ttlMs))}`);
  }
  if (requestId !== undefined) {
    const q = it.name('q');
    alive.push(`(attribute_not_exists(${q}) OR size(${q}) < ${it.value({ N: String(MAX_REQUESTS) })})`);
    sets.push(
      `${q} = list_append(if_not_exists(${q}, ${it.value({ L: [] })}), ${it.value({ L: [{ S: requestId }] })})`,
    );
  }
  const removed = ttlMs === null ? ` REMOVE ${it.name('x')}, ${it.name('e')}` : '';
  const request: ConditionalWrite = {
    table: 'records',
    input: {
      Key: recordKey(name),
      ConditionExpression: alive.join(' AND '),
      UpdateExpression: `SET ${sets.join(', ')}${removed}`,
      ...it.placeholders(),
      ReturnValues: 'ALL_NEW',
    },
  };
  return { request, own: ownWrite(writeId, write) };
}

/** Moves each id of the history to the next attribute. All values are read before the update. */
function shifts(it: Expression): string[] {
  const none = it.value({ B: NO_WRITE });
  return WRITE_ATTRIBUTES.slice(1).map(
    (attribute, at) => `${it.name(attribute)} = if_not_exists(${it.name(WRITE_ATTRIBUTES[at]!)}, ${none})`,
  );
}

/** Collects the placeholders of an expression, each name once. */
class Expression {
  readonly #names = new Map<string, string>();
  readonly #values: Item = {};
  #count = 0;

  name(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const placeholder = `#n${this.#names.size}`;
    this.#names.set(text, placeholder);
    return placeholder;
  }

  value(value: AttributeValue): string {
    const placeholder = `:v${this.#count++}`;
    this.#values[placeholder] = value;
    return placeholder;
  }

  placeholders(): { ExpressionAttributeNames: Record<string, string>; ExpressionAttributeValues: Item } {
    const names = Object.fromEntries([...this.#names].map(([text, placeholder]) => [placeholder, text]));
    return { ExpressionAttributeNames: names, ExpressionAttributeValues: this.#values };
  }
}
