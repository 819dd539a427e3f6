/** The changes to stored history that the SDK requests: replacements of function calls, and transactions. */
import type {
  AgentInputItem,
  SessionHistoryRewriteArgs,
  SessionHistoryTransaction,
  SessionHistoryTransactionArgs,
} from '@openai/agents-core';
import type { JsonValue } from '@tidemark/core';
import { keySegment } from '@tidemark/core/adapters';
import type { Change } from './history.ts';
import { encodeItem } from './items.ts';
import { refuse } from './refuse.ts';

/** Returns items as JSON. Throws `INVALID_ARGUMENT` unless they are a list of objects. */
export function encodeItems(items: AgentInputItem[], field: string): JsonValue[] {
  if (!Array.isArray(items)) throw refuse(field, 'must be a list of items');
  for (const [at, item] of items.entries()) {
    if (typeof item !== 'object' || item === null) throw refuse(`${field}[${at}]`, 'must be an object');
  }
  return items.map(encodeItem);
}

/** A transaction in its stored form. */
export interface Operation {
  id: string;
  /** The idempotency key of its change. */
  key: string;
  change: Change;
  /** The items with which the history must end. */
  expected: readonly JsonValue[];
}

/** Returns a transaction in its stored form. Throws `INVALID_ARGUMENT` if it is malformed. */
export function operationOf(args: SessionHistoryTransactionArgs): Operation {
  const id: unknown = args?.operationId;
  if (typeof id !== 'string' || id.trim() === '') throw refuse('operationId', 'must be text that is not empty');
  const { transaction } = args;
  const change = changeOf(transaction);
  return { id, key: `operation.${keySegment(id)}`, change, expected: change.expected ?? [] };
}

function changeOf(transaction: SessionHistoryTransaction): Change {
  switch (transaction?.type) {
    case 'append_items':
      return { items: encodeItems(transaction.items, 'transaction.items') };
    case 'replace_suffix': {
      const expected = encodeItems(transaction.expectedSuffix, 'transaction.expectedSuffix');
      const items = encodeItems(transaction.replacement, 'transaction.replacement');
      return { remove: expected.length, items, expected };
    }
    default:
      throw refuse('transaction.type', 'must be append_items or replace_suffix');
  }
}

/**
 * Returns the items after the mutations. The first call with an id is replaced, and further calls with the same id are
 * removed.
 */
export function mutate(items: readonly AgentInputItem[], { mutations }: SessionHistoryRewriteArgs): AgentInputItem[] {
  let after = [...items];
  for (const [at, { type, callId, replacement }] of mutations.entries()) {
    if (type !== 'replace_function_call') throw refuse(`mutations[${at}].type`, 'must be replace_function_call');
    const isCall = (item: AgentInputItem) => item.type === 'function_call' && item.callId === callId;
    const first = after.findIndex(isCall);
    after = after.flatMap((item, position) => {
      if (!isCall(item)) return [item];
      return position === first ? [replacement] : [];
    });
  }
  return after;
}
