/** Commits entries to a journal. */
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import {
  type EngineCall,
  type JournalBeginning,
  type JournalCommit,
  type JournalEntry,
  type JournalName,
  type JournalOutcome,
  type LruMap,
  sleep,
} from '@tidemark/core/engine';
import type { Item } from '../client.ts';
import { keyOf } from '../keys.ts';
import { commitItem, fitsInCommit } from './entries.ts';
import {
  type Head,
  headKey,
  headOf,
  hexOf,
  INLINE_KEYS,
  inlineHash,
  markerKey,
  NO_HEAD,
  newLife,
  PLAIN_MARKER,
  partitionOf,
  readHead,
} from './head.ts';
import { isListed } from './lists.ts';
import type { JournalParts } from './parts.ts';
import { discardStage, registerLife, type Stage, stageEntries } from './staging.ts';

/**
 * The maximum number of keys. A transaction has at most 100 actions, and a condition at most 300 operators, of which
 * each key takes two.
 */
const MAX_KEYS = 80;
const MAX_TRIES = 20;

/** An attempt to commit on top of a head. */
interface Attempt {
  name: JournalName;
  commit: JournalCommit;
  head: Head;
  life: Buffer;
  time: number;
  entries: readonly JournalEntry[];
  stage: Stage | null;
}

export class Committer {
  readonly #parts: JournalParts;
  readonly #known: LruMap<string, Head>;

  constructor(parts: JournalParts, known: LruMap<string, Head>) {
    this.#parts = parts;
    this.#known = known;
  }

  /** Caches a head for the next commit. An outdated head costs a retry, because the transaction checks the head. */
  remember(name: JournalName, head: Head): void {
    if (head.live) this.#known.set(idOf(name), head);
    else this.#known.delete(idOf(name));
  }

  forget(name: JournalName): void {
    this.#known.delete(idOf(name));
  }

  async commit(name: JournalName, commit: JournalCommit, call: EngineCall): Promise<JournalOutcome> {
    let head = await this.#start(name, commit, call);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (!isKnown(head, commit)) return this.#refusal(name, head, commit, call);
      if (head.hasPages) {
        const outcome = await this.#refusal(name, head, commit, call);
        if (!outcome.committed && outcome.found.length > 0) return outcome;
      }
      const attempt = await this.#prepare(name, commit, head, call);
      const next = attempt && (await this.#attempt(attempt, call));
      if (next === 'committed') {
        this.remember(name, headAfter(attempt!));
        this.#parts.hints.journalChanged(name);
        return { committed: true, time: attempt!.time };
      }
      head = next ?? (await this.#parts.readHead(name, call));
      this.remember(name, head);
      // Either the head has a later time than this process knew, or another life was registered in the meantime.
      const refusal = await this.#refusal(name, head, commit, call);
      if (!isKnown(head, commit) || (!refusal.committed && refusal.found.length > 0)) return refusal;
      await sleep(Math.random() * tries);
    }
    return this.#refusal(name, await this.#parts.readHead(name, call), commit, call);
  }

  /**
   * Begins a removed journal again with the first commit of a new life, on the condition that the tombstone has not
   * changed.
   */
  async begin(
    name: JournalName,
    { tombstone, ...first }: JournalBeginning,
    call: EngineCall,
  ): Promise<{ time: number; rewrites: number } | null> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const head = await this.#parts.readHead(name, call);
      if (head.live || head.restoring || head.tombstone !== tombstone) return null;
      const attempt = await this.#prepare(name, { ...first, known: 0 }, head, call);
      if (attempt && (await this.#attempt(attempt, call)) === 'committed') {
        const after = headAfter(attempt);
        this.remember(name, after);
        this.#parts.hints.journalChanged(name);
        return { time: attempt.time, rewrites: after.rewrites };
      }
      await sleep(Math.random() * tries);
    }
    return null;
  }

  /** Writes to a new journal without reading it first. The transaction is refused if the journal exists. */
  async #start(name: JournalName, commit: JournalCommit, call: EngineCall): Promise<Head> {
    const head = this.#known.get(idOf(name));
    if (head?.live && isKnown(head, commit)) return head;
    return commit.known === 0 && !head ? NO_HEAD : this.#parts.readHead(name, call);
  }

  async #prepare(name: JournalName, commit: JournalCommit, head: Head, call: EngineCall): Promise<Attempt | null> {
    const { client, clock, lists } = this.#parts;
    const time = Math.max(clock(), head.live?.updatedAt ?? 0);
    const entries = commit.entries.map((entry, at) => ({ ...entry, time, seq: commit.known + at + 1 }));
    const hasManyKeys = entries.length > MAX_KEYS;
    const attempt: Attempt = { name, commit, head, life: head.live?.life ?? newLife(), time, entries, stage: null };
    if (!hasManyKeys && fitsInCommit(entries)) return attempt;
    if (!head.live && !(await registerLife(client, lists, name, attempt.life, head.tombstone, call))) return null;
    if (hasManyKeys && head.live && !head.hasPages) {
      const found = await this.#parts.keys.find(
        name,
        head,
        entries.map(({ key }) => key),
        call,
      );
      if (found.some((entry) => entry !== null)) return null;
    }
    attempt.stage = await stageEntries(client, name, attempt.life, entries, { withKeys: hasManyKeys }, call);
    return attempt;
  }

  /**
   * Returns `committed`, the head because of which the transaction was refused, or `null` when a key caused the
   * refusal.
   */
  async #attempt(attempt: Attempt, call: EngineCall): Promise<Head | null | 'committed'> {
    const { client } = this.#parts;
    const outcome = await client.transact(this.#actions(attempt), call);
    if (outcome.done) return 'committed';
    await discardStage(client, attempt.stage, call);
    return outcome.failed[0] ? readHead(outcome.items[0]) : null;
  }

  #actions(attempt: Attempt): TransactWriteItem[] {
    const { client, feed, lists } = this.#parts;
    const { name, commit, head, life, time, entries, stage } = attempt;
    const TableName = client.table('log');
    const actions: TransactWriteItem[] = [{ Update: { TableName, ...headUpdate(attempt) } }];
    actions.push({ Put: { TableName, Item: commitItem(name, life, entries, stage?.id ?? null) } });
    for (const { seq, key } of stage?.hasKeys ? [] : entries.filter((entry) => entry.seq > INLINE_KEYS)) {
      const marker = { ...keyOf(partitionOf(name), markerKey(life, key, PLAIN_MARKER)), q: { N: String(seq) } };
      const isNew = {
        ConditionExpression: 'attribute_not_exists(#p)',
        ExpressionAttributeNames: { '#p': 'p' },
      };
      actions.push({ Put: { TableName, Item: marker, ...isNew } });
    }
    if (!head.live) actions.push(...lists.additions(name, time));
    const position = { first: commit.known + 1, count: entries.length, time, restored: false };
    if (isListed(name.space)) actions.push(feed.addition(name, life, position));
    return actions;
  }

  /** Reads the keys after the head, so that the keys are at least as recent as the head. */
  async #refusal(name: JournalName, head: Head, { entries }: JournalCommit, call: EngineCall): Promise<JournalOutcome> {
    const keys = entries.map(({ key }) => key);
    const found = await this.#parts.keys.find(name, head, keys, call);
    return {
      committed: false,
      head: head.live ? headOf(head) : null,
      tombstone: head.tombstone,
      found: found.filter((entry) => entry !== null),
    };
  }
}

function idOf({ space, tenantId, name }: JournalName): string {
  return `${space}\0${tenantId}\0${name}`;
}

function isKnown({ live, tombstone }: Head, { known, rewrites }: JournalCommit): boolean {
  if (tombstone !== null || (live?.seq ?? 0) !== known) return false;
  return rewrites === undefined || rewrites === (live?.rewrites ?? 0);
}

/** Returns the `rewrites` after a commit. When a removed journal begins again, its `rewrites` increase. */
function rewritesAfter({ live, tombstone, rewrites }: Head): number {
  if (live) return live.rewrites;
  return tombstone === null ? 0 : rewrites + 1;
}

/** Returns the head in the state that the transaction has written. */
function headAfter({ commit, head, life, time, entries, stage }: Attempt): Head {
  const createdAt = head.live?.createdAt ?? time;
  const rewrites = rewritesAfter(head);
  const inline = stage?.hasKeys ? [] : entries.filter(({ seq }) => seq <= INLINE_KEYS);
  return {
    ...NO_HEAD,
    live: { seq: commit.known + entries.length, createdAt, updatedAt: time, state: commit.state, rewrites, life },
    rewrites,
    inlineKeys: new Set([...head.inlineKeys, ...inline.map(({ key }) => hexOf(inlineHash(key)))]),
    hasPages: head.hasPages || stage?.hasKeys === true,
  };
}

/**
 * Returns the update of the head, on the condition that the head is still the one that the writer has read and contains
 * none of the keys.
 */
function headUpdate({ name, commit, head, life, time, entries, stage }: Attempt) {
  const values: Item = {
    ':q': { N: String(commit.known + entries.length) },
    ':u': { N: String(time) },
    ':a': { B: Buffer.from(commit.state) },
    ':i': { B: life },
  };
  const sets = ['q = :q', 'u = :u', 'a = :a', 'i = :i'];
  const conditions = [head.tombstone === null ? 'attribute_not_exists(t)' : 't = :t'];
  if (head.tombstone !== null) values[':t'] = { B: Buffer.from(head.tombstone) };
  const adds: string[] = [];
  const deletes: string[] = [];
  if (head.live) {
    conditions.push('q = :k', 'i = :i', 'u <= :u', 'w = :w');
    Object.assign(values, { ':k': { N: String(commit.known) }, ':w': { N: String(head.live.rewrites) } });
    if (head.inlineKeys.size > 0) {
      for (const [at, { key }] of (stage?.hasKeys ? [] : entries).entries()) {
        conditions.push(`NOT contains(k, :h${at})`);
        values[`:h${at}`] = { B: inlineHash(key) };
      }
    }
  } else {
    conditions.push('attribute_not_exists(q)', 'attribute_not_exists(y)');
    sets.push('c = :u', 'w = :w');
    values[':w'] = { N: String(rewritesAfter(head)) };
  }
  const inline = stage?.hasKeys ? [] : entries.filter(({ seq }) => seq <= INLINE_KEYS);
  if (inline.length > 0) {
    adds.push('k :n');
    values[':n'] = { BS: distinct(inline.map(({ key }) => inlineHash(key))) };
  }
  if (stage?.hasKeys) {
    sets.push('m = :m');
    values[':m'] = { BOOL: true };
  }
  if (stage && !head.live) {
    // The registration must still exist. An erasure of the journal withdraws it first.
    conditions.push('contains(v, :i)');
    deletes.push('v :v');
    values[':v'] = { BS: [life] };
  }
  const parts = [`SET ${sets.join(', ')}`];
  if (adds.length > 0) parts.push(`ADD ${adds.join(', ')}`);
  if (deletes.length > 0) parts.push(`DELETE ${deletes.join(', ')}`);
  if (head.tombstone !== null) parts.push('REMOVE t');
  return {
    Key: headKey(name),
    UpdateExpression: parts.join(' '),
    ConditionExpression: conditions.join(' AND '),
    ExpressionAttributeValues: values,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
}

/**
 * Removes duplicates, because DynamoDB's sets refuse equal members and two keys of one commit may have the same hash.
 */
function distinct(hashes: readonly Buffer[]): Buffer[] {
  return [...new Map(hashes.map((it) => [hexOf(it), it])).values()];
}
