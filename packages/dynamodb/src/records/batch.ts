/** Writes several records in one transaction: all of them or none. */
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { TidemarkError } from '@tidemark/core';
import {
  type EngineCall,
  type RecordName,
  type RecordOutcome,
  type RecordWrite,
  sleep,
  withAnswer,
} from '@tidemark/core/engine';
import type { Client } from '../client.ts';
import type { Hints } from '../hints.ts';
import {
  type Found,
  fieldBytes,
  liveState,
  MAX_FIELDS_BYTES,
  type PartsOf,
  recordKey,
  storedRecord,
} from './record-item.ts';
import { isPlan, outcomeOf, type Plan, planWrite, unchanged } from './record-plan.ts';

/** The part of the records engine that a batch uses. */
export interface BatchRecords {
  write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome>;
  findAll(names: readonly RecordName[], call: EngineCall): Promise<Found[]>;
  isAnswered(write: RecordWrite, found: Found, call: EngineCall): Promise<boolean>;
  prepare(plans: readonly Plan[], largest: number, call: EngineCall): Promise<Prepared[]>;
  settle(plan: Plan, parts: PartsOf | null, done: boolean, call: EngineCall): Promise<void>;
}

/** The actions of a plan, and the parts that were stored for it. */
export interface Prepared {
  put: NonNullable<TransactWriteItem['Put']>;
  indexActions: TransactWriteItem[];
  parts: PartsOf | null;
}

export interface BatchSources {
  records: BatchRecords;
  client: Client;
  hints: Hints;
  clock: () => number;
}

const MAX_TRIES = 100;
const MAX_DELAY_MS = 25;
/** DynamoDB's limits of a transaction, reduced by the space that keys and names take. */
const MAX_ACTIONS = 100;
const MAX_BYTES = 3 * 1024 * 1024;
/** In a transaction that would otherwise be too large, fields above this size are stored in parts. */
const LARGE_FIELDS = 64 * 1024;

export async function writeBatch(
  sources: BatchSources,
  writes: readonly RecordWrite[],
  call: EngineCall,
): Promise<RecordOutcome[]> {
  const { records } = sources;
  if (writes.length === 0) return [];
  if (writes.length === 1) return [await records.write(withAnswer(writes[0]!, []), call)];
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = await records.findAll(
      writes.map(({ name }) => name),
      call,
    );
    const answered = await Promise.all(writes.map((write, at) => records.isAnswered(write, found[at]!, call)));
    const decision = decide(writes, found, answered, sources.clock());
    if (!decision.holds) return decision.outcomes;
    if (await carryOut(sources, writes, decision, found, call)) return decision.outcomes;
    await sleep(Math.random() * Math.min(MAX_DELAY_MS, tries));
  }
  throw new TidemarkError(
    'OVERLOADED',
    'Too many writers change the same records at once; nothing was written, try again',
  );
}

interface Decision {
  holds: boolean;
  outcomes: RecordOutcome[];
  plans: Plan[];
  /** Writes that change nothing, provided that the record has not changed since it was read. */
  unchanged: number[];
}

/** Plans all writes. Every write is planned on the records as they were before the batch. */
function decide(
  writes: readonly RecordWrite[],
  found: readonly Found[],
  answered: readonly boolean[],
  now: number,
): Decision {
  const first = writes.map((write, at) => planWrite(write, found[at]!, answered[at]!, now));
  const decision: Decision = { holds: true, outcomes: [], plans: [], unchanged: [] };
  if (first.some((it) => !isPlan(it) && !it.applied)) {
    const outcomes = writes.map((_, at) => {
      const live = liveState(found[at]!, now);
      return { applied: false, record: live ? storedRecord(live, now) : null, existed: live !== undefined };
    });
    return { ...decision, holds: false, outcomes };
  }
  for (const [at, write] of writes.entries()) {
    // The answer of a batch is known only after the preceding writes have been planned.
    const complete = withAnswer(write, decision.outcomes);
    const plan = complete === write ? first[at]! : planWrite(complete, found[at]!, false, now);
    if (isPlan(plan)) decision.plans.push(plan);
    else if (!answered[at]) decision.unchanged.push(at);
    decision.outcomes.push(isPlan(plan) ? outcomeOf(plan) : plan);
  }
  return decision;
}

/** Executes the plans. Returns false when another writer was faster. */
async function carryOut(
  { records, client, hints }: BatchSources,
  writes: readonly RecordWrite[],
  { plans, unchanged: same }: Decision,
  found: readonly Found[],
  call: EngineCall,
): Promise<boolean> {
  if (plans.length === 0) return true;
  const bytes = plans.reduce((sum, { write, after }) => sum + (after ? fieldBytes(write.name, after.fields) : 0), 0);
  const prepared = await records.prepare(plans, bytes > MAX_BYTES ? LARGE_FIELDS : MAX_FIELDS_BYTES, call);
  const actions: TransactWriteItem[] = prepared.flatMap(({ put, indexActions }) => [{ Put: put }, ...indexActions]);
  for (const at of same) {
    const Key = recordKey(writes[at]!.name);
    actions.push({ ConditionCheck: { TableName: client.table('records'), Key, ...unchanged(found[at]!) } });
  }
  const settle = (done: boolean) =>
    Promise.all(plans.map((plan, at) => records.settle(plan, prepared[at]!.parts, done, call)));
  if (actions.length > MAX_ACTIONS) {
    await settle(false);
    throw new TidemarkError(
      'INVALID_ARGUMENT',
      `operations must change at most ${MAX_ACTIONS} items of DynamoDB, index entries of jobs included`,
      { field: 'operations', rule: `at most ${MAX_ACTIONS} items with index entries of jobs` },
    );
  }
  // After an unknown outcome the parts stay, because the records may refer to them.
  const { done } = await client.transact(actions, call);
  await settle(done);
  if (done)
    for (const plan of plans)
      hints.recordChanged({ name: plan.write.name, revision: plan.revision, record: outcomeOf(plan).record });
  return done;
}
