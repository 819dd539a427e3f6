/**
 * Appends to runs through their journals (RUN-17). Concurrent calls of this process on one run share a commit instead
 * of racing for its head. Each append is planned on the result of the appends before it. Together they are also one
 * commit of the chain: the journal sets the time of its commit, and only the links of the next commit can cover that
 * time.
 */

import { TidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Journal, JournalBeginning, JournalName } from '../engine/journal.ts';
import type { RunAppend, RunHead, RunTombstone, SequencedEvent, StoredRunEvent } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { digestBase64 } from '../hash.ts';
import { planAppend } from '../runs/append.ts';
import type { ChainFormat, CommitChain } from '../runs/chain.ts';
import { encodeEvent } from '../runs/event-forms.ts';
import { expiryOf, hasExpired, runExpired } from '../runs/expiry.ts';
import { Lanes, sharedCall } from '../tools/lanes.ts';
import { LruMap } from '../tools/lru-map.ts';
import { journalId } from './journal-id.ts';
import { encodeHead, eventsByKey, headOf, nameOf, runOf } from './run-entries.ts';

/** The number of consecutive lost races after which a writer gives up. */
const MAX_TRIES = 200;
const MAX_KNOWN_HEADS = 16_384;
const MAX_COMMIT_APPENDS = 128;
/** Appends that would make a commit larger than this wait for the next commit. */
const MAX_COMMIT_CHARS = 256 * 1024;

type Request = { append: RunAppend; call: EngineCall };
type Outcome = SequencedEvent[] | Error;

/** The known state of a run. */
interface Known {
  head: RunHead | RunTombstone | null;
  /** Stored events by key, for keys that already exist. */
  found: ReadonlyMap<string, StoredRunEvent>;
  /** Whether the head was just read and every key was looked up. Only then may an append be refused. */
  isCurrent: boolean;
  /** The exact text of a tombstone in `head`. */
  tombstone?: string | null;
}

/** The position of a run that does not exist. */
const NO_POSITION = { seq: 0, rewrites: 0 };

const NOTHING: Known = { head: null, found: new Map(), isCurrent: false };

/** One round of planning: what to write, and the outcomes of the requests it covers. */
interface Round {
  rows: StoredRunEvent[];
  bodies: string[];
  head: RunHead | null;
  outcomes: Outcome[];
}

export class RunAppender {
  readonly #journal: Journal;
  readonly #format: () => ChainFormat;
  readonly #now: (call: EngineCall) => Promise<number>;
  readonly #lanes: Lanes<JournalName, Request, SequencedEvent[]>;
  /** The last heads that this process wrote. An outdated one costs a retry but never causes a wrong result. */
  readonly #heads = new LruMap<string, RunHead>(MAX_KNOWN_HEADS);

  /**
   * @param format returns the format of the chain that commits have now
   * @param now returns the engine's clock
   */
  constructor(journal: Journal, format: () => ChainFormat, now: (call: EngineCall) => Promise<number>) {
    this.#journal = journal;
    this.#format = format;
    this.#now = now;
    const options = { idOf: journalId, maxGroup: MAX_COMMIT_APPENDS };
    this.#lanes = new Lanes(options, (name, requests, id) => this.#appendAll(name, requests, id));
  }

  append(append: RunAppend, call: EngineCall): Promise<SequencedEvent[]> {
    return this.#lanes.submit(nameOf(append.run), { append, call }, call);
  }

  forget(name: JournalName): void {
    this.#heads.delete(journalId(name));
  }

  async #appendAll(name: JournalName, requests: readonly Request[], id: string): Promise<Outcome[]> {
    const call = sharedCall(requests);
    const appends = requests.map(({ append }) => append);
    const outcomes: Outcome[] = [];
    let known: Known = { ...NOTHING, head: this.#heads.peek(id) ?? null };
    try {
      for (let tries = 0; outcomes.length < appends.length; tries++) {
        if (tries === MAX_TRIES) throw tooMany(name);
        const open = appends.slice(outcomes.length);
        if (known.head === null && !known.isCurrent) known = await this.#read(name, open, call);
        const round = plan(open, known, this.#format(), canExpire(known) ? await this.#now(call) : 0);
        if (round === null) {
          known = NOTHING;
          continue;
        }
        const refused = round.rows.length > 0 && (await this.#commit(name, known, round, open.length, call));
        if (!refused) outcomes.push(...round.outcomes);
        if (!refused && round.rows.length > 0) this.#heads.replace(id, round.head!);
        known = refused || { ...NOTHING, head: round.head };
      }
    } catch (error) {
      // Earlier requests already have outcomes from earlier rounds.
      while (outcomes.length < appends.length) outcomes.push(error as Error);
    }
    return outcomes;
  }

  /** Reads the head first, so that all data found afterwards is at least as recent. */
  async #read(name: JournalName, appends: readonly RunAppend[], call: EngineCall): Promise<Known> {
    const keys = new Set(appends.flatMap(({ events }) => events.map(({ idempotencyKey }) => idempotencyKey)));
    const stored = await this.#journal.head(name, call);
    const head = headOf(name, stored);
    const found = eventsByKey(runOf(name), await this.#journal.find(name, [...keys], call));
    return { head, found, isCurrent: true, tombstone: stored.tombstone };
  }

  /** Commits a round. Returns `null`, or the run's current state when the commit was refused. */
  async #commit(name: JournalName, before: Known, round: Round, open: number, call: EngineCall): Promise<Known | null> {
    const { seq: known, rewrites } = (before.head as RunHead | null) ?? NO_POSITION;
    const entries = round.rows.map((row, at) => ({ key: row.idempotencyKey, body: round.bodies[at]! }));
    if (isTombstone(before.head)) return this.#begin(name, before, round, entries, call);
    const follows = before.head === null ? undefined : digestBase64(before.head.link);
    const outcome = await this.#journal.commit(
      name,
      { known, rewrites, follows, state: encodeHead(round.head!), entries },
      call,
    );
    if (!outcome.committed) {
      const head = headOf(name, outcome);
      // The events that were found earlier belong to a life that has ended.
      if (lifeIn(head) !== lifeIn(before.head)) return NOTHING;
      const found = new Map([...before.found, ...eventsByKey(runOf(name), outcome.found)]);
      // Keys of appends that were not in this commit were not looked up.
      const isCurrent = round.outcomes.length === open && !round.outcomes.some((it) => it instanceof Error);
      return { head, found, isCurrent, tombstone: outcome.tombstone };
    }
    settle(round, known, outcome.time);
    return null;
  }

  /** Commits a round that begins a new life of a deleted run, if its tombstone is still the one that was read. */
  async #begin(
    name: JournalName,
    before: Known,
    round: Round,
    entries: JournalBeginning['entries'],
    call: EngineCall,
  ): Promise<Known | null> {
    const begun = await this.#journal.begin(
      name,
      { tombstone: before.tombstone!, state: encodeHead(round.head!), entries },
      call,
    );
    if (begun === null) return NOTHING;
    round.head!.rewrites = begun.rewrites;
    settle(round, 0, begun.time);
    return null;
  }
}

/** Only such a run needs the clock for a plan, because the journal sets the time of every commit. */
function canExpire({ head }: Known): boolean {
  return head !== null && !isTombstone(head) && expiryOf(head) !== null;
}

function lifeIn(head: RunHead | RunTombstone | null): number {
  return head?.life ?? 1;
}

/**
 * Sets the time of a commit in its events and in the head, which the plan has just created. A commit that was stored
 * after the run had expired is refused: readers no longer know the run, and its removal includes the commit.
 */
function settle({ rows, head, outcomes }: Round, known: number, time: number): void {
  if (known === 0) head!.createdAt = time;
  head!.updatedAt = time;
  for (const row of rows) row.persistedAt = time;
  if (hasExpired(head!, time)) outcomes.fill(runExpired(head!.runId));
  for (const placed of outcomes)
    if (!(placed instanceof Error)) for (const it of placed) if (it.runSeq > known) it.persistedAt = time;
}

/** Plans as many appends as one commit should carry. Returns `null` when possibly stale state would refuse one. */
function plan(
  appends: readonly RunAppend[],
  { head, found, isCurrent }: Known,
  format: ChainFormat,
  now: number,
): Round | null {
  const round: Round = { rows: [], bodies: [], head: null, outcomes: [] };
  // A single append looks up only its own keys.
  const stored = appends.length === 1 ? null : new Map(found);
  let next = head;
  let commit: CommitChain | undefined;
  let chars = 0;
  for (const append of appends) {
    try {
      const planned = planAppend(append, next, stored ?? found, { now, commit, format });
      const { rows, placed } = planned;
      const bodies = rows.map(encodeEvent);
      for (const body of bodies) chars += body.length;
      if (round.rows.length > 0 && chars > MAX_COMMIT_CHARS) return round;
      for (const row of rows) stored?.set(row.idempotencyKey, row);
      round.rows.push(...rows);
      round.bodies.push(...bodies);
      round.outcomes.push(placed);
      if (rows.length > 0) next = round.head = planned.head;
      commit = planned.commit;
    } catch (error) {
      if (!isCurrent) return null;
      round.outcomes.push(error as Error);
    }
  }
  return round;
}

function tooMany({ name }: JournalName): TidemarkError {
  return new TidemarkError('OVERLOADED', `Run ${JSON.stringify(name)} is written to by too many at once; try again`, {
    runId: name,
  });
}
