/** Scan filters in their JSON form. */
import {
  checkId,
  checkInteger,
  checkObject,
  checkOneOf,
  invalidArgument,
  type ScanFilter,
} from '@tidemark/core/portable';
import { valueToWire, type WireValue } from './values.ts';

const OPERATORS = ['eq', 'ne', 'lt', 'gt', 'lte', 'gte', 'in'];

export interface WireFilter {
  where: { field: string; op: string; value: WireValue | WireValue[] }[];
  maxResults?: number;
}

/** Converts a filter: one predicate with an optional `maxResults`, or several under `where`. */
export function filterToWire(filter: ScanFilter | undefined, maxBytes: number): WireFilter | undefined {
  if (filter === undefined) return undefined;
  const it = checkObject(filter, 'filter');
  const where = it.where ?? (it.field === undefined && it.op === undefined ? [] : [it]);
  if (!Array.isArray(where)) throw invalidArgument('filter.where', 'an array of predicates', where);
  const maxResults = it.maxResults === undefined ? undefined : checkInteger(it.maxResults, 'filter.maxResults', 1);
  return {
    where: where.map((predicate) => predicateToWire(checkObject(predicate, 'filter.where'), maxBytes)),
    ...(maxResults === undefined ? {} : { maxResults }),
  };
}

function predicateToWire({ field, op, value }: Record<string, unknown>, maxBytes: number) {
  const name = checkId(field, 'filter.field');
  const operator = checkOneOf(op, 'filter.op', OPERATORS);
  if (op === 'in' && !Array.isArray(value)) throw invalidArgument('filter.value', "an array for 'in'", value ?? null);
  const toWire = (it: unknown) => valueToWire(it, 'filter.value', maxBytes);
  return {
    field: name,
    op: operator,
    value: op === 'in' ? (value as unknown[]).map(toWire) : toWire(value),
  };
}
