/** Restores journals step by step: each step stages entries under a new life, and the last one makes them all visible. */
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { EngineCall, JournalName, JournalRestore } from '@tidemark/core/engine';
import type { Item } from '../client.ts';
import { commitItem } from './entries.ts';
import { type Head, headKey, newLife } from './head.ts';
import { isListed } from './lists.ts';
import type { JournalParts } from './parts.ts';
import { discardStage, registerLife, stageEntries } from './staging.ts';

/**
 * Restores a step. Returns false and changes nothing when the journal is live or not in the state that the step
 * expects.
 */
export async function restoreStep(
  parts: JournalParts,
  name: JournalName,
  step: JournalRestore,
  call: EngineCall,
): Promise<boolean> {
  const { client, lists } = parts;
  const head = await parts.readHead(name, call);
  const { restoring } = head;
  const isKnown = head.tombstone === step.known.tombstone && (restoring?.seq ?? 0) === step.known.seq;
  if (head.live || !isKnown) return false;
  const life = restoring?.life ?? newLife();
  const registers = !restoring && step.entries.length > 0;
  if (registers && !(await registerLife(client, lists, name, life, head.tombstone, call))) return false;
  const stage =
    step.entries.length > 0 ? await stageEntries(client, name, life, step.entries, { withKeys: true }, call) : null;
  const TableName = client.table('log');
  const actions: TransactWriteItem[] = [
    { Update: { TableName, ...headUpdate(name, head, step, life, registers) } },
    ...lists.additions(name, step.isLast && isListed(name.space) ? step.head.createdAt : null),
  ];
  if (stage) actions.push({ Put: { TableName, Item: commitItem(name, life, step.entries, stage.id) } });
  if (step.isLast && isListed(name.space) && step.head.seq > 0) {
    const { seq, updatedAt } = step.head;
    actions.push(parts.feed.addition(name, life, { first: 1, count: seq, time: updatedAt, restored: true }));
  }
  const { done } = await client.transact(actions, call);
  if (!done) await discardStage(client, stage, call);
  if (done && step.isLast) parts.hints.journalChanged(name);
  return done;
}

function headUpdate(name: JournalName, head: Head, step: JournalRestore, life: Buffer, registered: boolean) {
  const { tombstone, restoring, rewrites } = head;
  const conditions = ['attribute_not_exists(q)'];
  const values: Item = {};
  if (tombstone === null) conditions.push('attribute_not_exists(t)');
  else {
    conditions.push('t = :t');
    values[':t'] = { B: Buffer.from(tombstone) };
  }
  if (restoring) {
    conditions.push('y = :i', 'z = :z');
    values[':z'] = { N: String(restoring.seq) };
  } else conditions.push('attribute_not_exists(y)');
  // The registration must still exist. An erasure of the journal withdraws it first.
  if (registered) conditions.push('contains(v, :i)');
  values[':i'] = { B: life };
  const removal = registered ? ' DELETE v :v' : '';
  if (registered) values[':v'] = { BS: [life] };
  const common = {
    Key: headKey(name),
    ConditionExpression: conditions.join(' AND '),
    ExpressionAttributeValues: values,
  };
  if (!step.isLast) {
    const seq = step.entries.at(-1)?.seq ?? step.known.seq;
    values[':s'] = { N: String(seq) };
    values[':n'] = { B: Buffer.from(step.tombstone) };
    return { ...common, UpdateExpression: `SET y = :i, z = :s, t = :n${removal}` };
  }
  const { seq, createdAt, updatedAt, state } = step.head;
  Object.assign(values, {
    ':q': { N: String(seq) },
    ':c': { N: String(createdAt) },
    ':u': { N: String(updatedAt) },
    ':a': { B: Buffer.from(state) },
    ':w': { N: String(Math.max(step.head.rewrites, rewrites) + 1) },
    ':m': { BOOL: true },
  });
  const sets = 'q = :q, c = :c, u = :u, a = :a, w = :w, i = :i, m = :m';
  return { ...common, UpdateExpression: `SET ${sets} REMOVE t, y, z, k${removal}` };
}
