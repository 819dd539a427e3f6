/** Scan filters in their JSON form. */
import { checkId, checkObject } from '@tidemark/core/portable';
import { valueToWire, type WireValue } from './values.ts';

export interface WireFilter {
  where: { field: string; op: string; value: WireValue | WireValue[] }[];
  maxResults?: number;
}

/** Converts a filter: one predicate with an optional `maxResults`, or several under `where`. */
export function filterToWire(filter: unknown, name: string, maxBytes: number): unknown {
  const { where, maxResults, ...single } = checkObject(filter, name);
  const isEmpty = single.field === undefined && single.op === undefined;
  const predicates = where ?? (isEmpty ? [] : [single]);
  const toWire = (value: unknown) => valueToWire(value, `${name}.value`, maxBytes);
  const predicateToWire = (predicate: unknown) => {
    const { field, op, value } = checkObject(predicate, `${name}.where`);
    checkId(field, `${name}.field`);
    checkId(op, `${name}.op`);
    return { field, op, value: Array.isArray(value) ? value.map(toWire) : toWire(value) };
  };
  return { where: Array.isArray(predicates) ? predicates.map(predicateToWire) : predicates, maxResults };
}
