/** Scan filters: predicates that must all match (KV-4). */
import { checkInteger } from '../checks/numbers.ts';
import { checkId, checkObject, checkOneOf } from '../checks/text.ts';
import { isSealedValue, plainOf } from '../codec/sealed-value.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { Fields } from '../engine/records.ts';
import { compareValues } from './order.ts';
import { encodeValue } from './values.ts';

const OPERATORS = ['eq', 'ne', 'lt', 'gt', 'lte', 'gte', 'in'] as const;

interface Predicate {
  field: string;
  op: (typeof OPERATORS)[number];
  values: Uint8Array[];
}

/** A validated filter. */
export interface RecordFilter {
  predicates: Predicate[];
  maxResults: number;
}

/** Validates a filter: one predicate with an optional `maxResults`, or several under `where`. */
export function checkFilter(filter: unknown, maxBytes: number): RecordFilter {
  if (filter === undefined) return { predicates: [], maxResults: Number.POSITIVE_INFINITY };
  const given = checkObject(filter, 'filter');
  const where = given.where ?? (given.field === undefined && given.op === undefined ? [] : [given]);
  if (!Array.isArray(where)) throw invalidArgument('filter.where', 'an array of predicates', where);
  return {
    predicates: where.map((predicate) => checkPredicate(checkObject(predicate, 'filter.where'), maxBytes)),
    maxResults:
      given.maxResults === undefined
        ? Number.POSITIVE_INFINITY
        : checkInteger(given.maxResults, 'filter.maxResults', 1),
  };
}

function checkPredicate(it: Record<string, unknown>, maxBytes: number): Predicate {
  const field = checkId(it.field, 'filter.field');
  const op = checkOneOf(it.op, 'filter.op', OPERATORS);
  if (op === 'in' && !Array.isArray(it.value))
    throw invalidArgument('filter.value', "an array for 'in'", it.value ?? null);
  const values = op === 'in' ? (it.value as unknown[]) : [it.value];
  return { field, op, values: values.map((value) => encodeValue(value, 'filter.value', maxBytes)) };
}

export function matchesFilter(fields: Fields, filter: RecordFilter): boolean {
  return filter.predicates.every(({ field, op, values }) => {
    const stored = fields.get(field);
    if (stored === undefined) return op === 'ne';
    // The result of a comparison would reveal something about the sealed value.
    if (isSealedValue(stored)) return false;
    const value = plainOf(stored);
    const order = (to: Uint8Array) => compareValues(value, to);
    switch (op) {
      case 'eq':
        return Buffer.compare(value, values[0]!) === 0;
      case 'ne':
        return Buffer.compare(value, values[0]!) !== 0;
      case 'lt':
        return order(values[0]!) < 0;
      case 'gt':
        return order(values[0]!) > 0;
      case 'lte':
        return order(values[0]!) <= 0;
      case 'gte':
        return order(values[0]!) >= 0;
      case 'in':
        return values.some((it) => Buffer.compare(value, it) === 0);
      default:
        return op satisfies never;
    }
  });
}
