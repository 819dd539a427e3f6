/**
 * Appends to runs through their journals (RUN-17). Concurrent calls of this process on one run share a commit instead
 * of racing for its head. Each append is planned on the result of those before it.
 */

import { TidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Journal, JournalName } from '../engine/journal.ts';
import type { PlacedEvent, RunAppend, RunHead, RunTombstone, StoredRunEvent } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { planAppend } from '../runs/append.ts';
import { encodeEvent } from '../runs/event-forms.ts';
import { Lanes, sharedCall } from '../tools/lanes.ts';
import { LruMap } from '../tools/lru-map.ts';
import { journalId } from './journal-id.ts';
import { encodeHead, eventsByKey, headOf, nameOf, runOf } from './run-entries.ts';

/** Lost races in a row after which a writer gives up. */
const MAX_TRIES = 200;
const MAX_KNOWN_HEADS = 16_384;
const MAX_COMMIT_APPENDS = 128;
/** Appends that would make a commit larger than this wait for the next commit. */
const MAX_COMMIT_CHARS = 256 * 1024;

type Request = { append: RunAppend; call: EngineCall };
type Outcome = PlacedEvent[] | Error;

/** The known state of a run. */
interface Known {
  head: RunHead | RunTombstone | null;
  /** Stored events by key, for keys that already exist. */
  found: ReadonlyMap<string, StoredRunEvent>;
  /** Whether the head was just read and every key was looked up. Only then may an append be refused. */
  isCurrent: boolean;
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
  readonly #lanes: Lanes<JournalName, Request, PlacedEvent[]>;
  /** Last heads this process wrote. A stale one costs a retry, never a wrong result. */
  readonly #heads = new LruMap<string, RunHead>(MAX_KNOWN_HEADS);

  constructor(journal: Journal) {
    this.#journal = journal;
    const options = { idOf: journalId, maxGroup: MAX_COMMIT_APPENDS };
    this.#lanes = new Lanes(options, (name, requests) => this.#appendAll(name, requests));
  }

  append(append: RunAppend, call: EngineCall): Promise<PlacedEvent[]> {
    return this.#lanes.submit(nameOf(append.run), { append, call }, call);
  }

  forget(name: JournalName): void {
    this.#heads.delete(journalId(name));
  }

  async #appendAll(name: JournalName, requests: readonly Request[]): Promise<Outcome[]> {
    const call = sharedCall(requests);
    const appends = requests.map(({ append }) => append);
    const outcomes: Outcome[] = [];
    let known: Known = { ...NOTHING, head: this.#heads.peek(journalId(name)) ?? null };
    try {
      for (let tries = 0; outcomes.length < appends.length; tries++) {
        if (tries === MAX_TRIES) throw tooMany(name);
        const open = appends.slice(outcomes.length);
        if (known.head === null && !known.isCurrent) known = await this.#read(name, open, call);
        const round = plan(open, known);
        if (round === null) {
          known = NOTHING;
          continue;
        }
        const refused = round.rows.length > 0 && (await this.#commit(name, known, round, open.length, call));
        if (!refused) outcomes.push(...round.outcomes);
        known = refused || { ...NOTHING, head: round.head };
      }
    } catch (error) {
      // Earlier requests already have outcomes from earlier rounds.
      while (outcomes.length < appends.length) outcomes.push(error as Error);
    }
    return outcomes;
  }

  /** Reads the head first, so that everything found later is at or after it. */
  async #read(name: JournalName, appends: readonly RunAppend[], call: EngineCall): Promise<Known> {
    const keys = new Set(appends.flatMap(({ events }) => events.map(({ idempotencyKey }) => idempotencyKey)));
    const head = headOf(name, await this.#journal.head(name, call));
    return { head, found: eventsByKey(runOf(name), await this.#journal.find(name, [...keys], call)), isCurrent: true };
  }

  /** Commits a round. Returns `null`, or the run's current state when the commit was refused. */
  async #commit(name: JournalName, before: Known, round: Round, open: number, call: EngineCall): Promise<Known | null> {
    const { seq: known, rewrites } = isTombstone(before.head) ? NO_POSITION : (before.head ?? NO_POSITION);
    const entries = round.rows.map((row, at) => ({ key: row.idempotencyKey, body: round.bodies[at]! }));
    const outcome = await this.#journal.commit(
      name,
      { known, rewrites, state: encodeHead(round.head!), entries },
      call,
    );
    if (!outcome.committed) {
      const found = new Map([...before.found, ...eventsByKey(runOf(name), outcome.found)]);
      // Keys of appends that were not in this commit were not looked up.
      const isCurrent = round.outcomes.length === open && !round.outcomes.some((it) => it instanceof Error);
      return { head: headOf(name, outcome), found, isCurrent };
    }
    const createdAt = known === 0 ? outcome.time : round.head!.createdAt;
    round.head = { ...round.head!, createdAt, updatedAt: outcome.time };
    this.#heads.set(journalId(name), round.head);
    for (const row of round.rows) row.persistedAt = outcome.time;
    for (const placed of round.outcomes) {
      if (!(placed instanceof Error)) for (const it of placed) if (it.runSeq > known) it.persistedAt = outcome.time;
    }
    return null;
  }
}

/** Plans as many appends as one commit should carry. Returns `null` when possibly stale state would refuse one. */
function plan(appends: readonly RunAppend[], { head, found, isCurrent }: Known): Round | null {
  const round: Round = { rows: [], bodies: [], head: null, outcomes: [] };
  const stored = new Map(found);
  let next = head;
  let chars = 0;
  for (const append of appends) {
    try {
      const { rows, placed, head: after } = planAppend(append, next, stored, 0);
      const bodies = rows.map(encodeEvent);
      chars += bodies.reduce((sum, body) => sum + body.length, 0);
      if (round.rows.length > 0 && chars > MAX_COMMIT_CHARS) return round;
      for (const row of rows) stored.set(row.idempotencyKey, row);
      round.rows.push(...rows);
      round.bodies.push(...bodies);
      round.outcomes.push(placed);
      if (rows.length > 0) next = round.head = after;
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
