/**
 * Quarantined runs on keyed backends: one record holds all entries and two counters, so that an entry, its release
 * number and the generation that readers compare change in one conditional step.
 */

import type { EngineCall } from '../engine/call.ts';
import type {
  CurrentQuarantines,
  FoundDamage,
  QuarantineEngine,
  QuarantineQuery,
  StoredQuarantine,
} from '../engine/quarantines.ts';
import type { RecordName, Records, StoredRecord } from '../engine/records.ts';
import type { RunKey } from '../engine/run-key.ts';
import { compareKeys } from '../kv/order.ts';
import { entryAfter } from '../runs/quarantine-entry.ts';
import { refuseIfOver } from '../tools/contention.ts';
import { joinKey, splitKey } from '../tools/joined-keys.ts';
import { fieldsOf, textField } from '../tools/record-fields.ts';

/** Callers cannot reach this space. Its tenant id is arbitrary, and erasing that tenant keeps the counters. */
const RECORD: RecordName = { space: 'quarantines', tenantId: 'default', key: 'runs' };
/** Unlike these names, the names of entries contain a `/`. Quarantines and releases share one counter. */
const GENERATION = 'generation';
const RELEASES = 'releases';

/** The decoded record. */
interface Quarantines {
  revision: number;
  generation: string;
  releases: number;
  entries: ReadonlyMap<string, StoredQuarantine>;
}

/** Fields to set; `null` removes a field. */
type Change = Record<string, string | number | null>;

export class KeyedQuarantines implements QuarantineEngine {
  readonly #records: Records;
  #known: Quarantines = NOTHING;

  constructor(records: Records) {
    this.#records = records;
  }

  async current(tenantId: string | null, afterRelease: number | null, call: EngineCall): Promise<CurrentQuarantines> {
    const { entries } = await this.#latest(call);
    const seen = [...entries.values()].filter((entry) => tenantId === null || entry.tenantId === tenantId);
    const newest = seen.reduce((highest, { release }) => Math.max(highest, release), 0);
    const isWanted = ({ state, release }: StoredQuarantine) =>
      state === 'quarantined' || (afterRelease !== null && release > afterRelease);
    return { newest, entries: seen.filter(isWanted) };
  }

  async list(query: QuarantineQuery, call: EngineCall): Promise<StoredQuarantine[]> {
    const { entries } = await this.#latest(call);
    return [...entries.values()]
      .filter((entry) => query.tenantId === undefined || entry.tenantId === query.tenantId)
      .filter((entry) => query.state === undefined || entry.state === query.state)
      .filter((entry) => query.after === undefined || compareRuns(entry, query.after) > 0)
      .sort(compareRuns)
      .slice(0, query.limit);
  }

  async find(run: RunKey, call: EngineCall): Promise<StoredQuarantine | null> {
    return (await this.#latest(call)).entries.get(nameOf(run)) ?? null;
  }

  put(run: RunKey, damage: FoundDamage, call: EngineCall) {
    return this.#change(call, ({ entries, releases }) => {
      const { entry, isNew, isChanged } = entryAfter(run, entries.get(nameOf(run)) ?? null, damage, releases + 1);
      const numbered: Change = isNew ? { [RELEASES]: releases + 1 } : {};
      const change: Change | null = isChanged ? { [nameOf(run)]: encode(entry), ...numbered } : null;
      return { change, outcome: { entry, isNew } };
    });
  }

  release(seen: StoredQuarantine, call: EngineCall): Promise<StoredQuarantine | null> {
    return this.#change(call, ({ entries, releases }) => {
      const stored = entries.get(nameOf(seen));
      if (!stored || encode(stored) !== encode(seen)) return { change: null, outcome: null };
      const entry: StoredQuarantine = { ...stored, state: 'released', release: releases + 1 };
      return { change: { [nameOf(seen)]: encode(entry), [RELEASES]: releases + 1 }, outcome: entry };
    });
  }

  remove(run: RunKey, call: EngineCall): Promise<void> {
    return this.#change(call, ({ entries }) => {
      return { change: entries.has(nameOf(run)) ? { [nameOf(run)]: null } : null, outcome: undefined };
    });
  }

  /** Removes every entry of a tenant. */
  eraseTenant(tenantId: string, call: EngineCall): Promise<void> {
    return this.#change(call, ({ entries }) => {
      const names = [...entries.values()].filter((entry) => entry.tenantId === tenantId).map(nameOf);
      const change = names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, null]));
      return { change, outcome: undefined };
    });
  }

  /** Reads one field if nothing has changed, and the whole record if the generation has changed. */
  async #latest(call: EngineCall): Promise<Quarantines> {
    const field = await this.#records.getField(RECORD, GENERATION, call);
    const generation = field === null ? NOTHING.generation : Buffer.from(field).toString();
    if (generation !== this.#known.generation) this.#known = await this.#read(call);
    return this.#known;
  }

  async #read(call: EngineCall): Promise<Quarantines> {
    const [record] = await this.#records.get([RECORD], call);
    return record ? decode(record) : NOTHING;
  }

  /** Reads, decides and writes conditionally, and retries if another writer was faster. */
  async #change<T>(
    call: EngineCall,
    decide: (known: Quarantines) => { change: Change | null; outcome: T },
  ): Promise<T> {
    for (;;) {
      const known = await this.#read(call);
      const { change, outcome } = decide(known);
      if (change === null) return outcome;
      const set = fieldsOf({ ...change, [GENERATION]: Number(known.generation) + 1 });
      const expect = { revision: known.revision };
      if ((await this.#records.write({ name: RECORD, mode: 'merge', set, expect }, call)).applied) return outcome;
      refuseIfOver(call);
    }
  }
}

const NOTHING: Quarantines = { revision: 0, generation: '0', releases: 0, entries: new Map() };

function decode(record: StoredRecord): Quarantines {
  const entries = new Map<string, StoredQuarantine>();
  for (const name of record.fields.keys()) {
    if (!name.includes('/')) continue;
    const [tenantId, runId] = splitKey(name) as [string, string];
    const [fromSeq, reason, at, state, release, notice = 0] = JSON.parse(textField(record, name)!) as Encoded;
    entries.set(name, { tenantId, runId, fromSeq, reason, at, state, release, notice });
  }
  return {
    revision: record.revision,
    generation: textField(record, GENERATION) ?? NOTHING.generation,
    releases: Number(textField(record, RELEASES) ?? 0),
    entries,
  };
}

/** The last number is absent in entries that older versions wrote. Older versions ignore it. */
type Encoded = [number, string, number, StoredQuarantine['state'], number, number?];

function encode({ fromSeq, reason, at, state, release, notice }: StoredQuarantine): string {
  return JSON.stringify([fromSeq, reason, at, state, release, notice] satisfies Encoded);
}

function nameOf({ tenantId, runId }: RunKey): string {
  return joinKey([tenantId, runId]);
}

function compareRuns(a: RunKey, b: RunKey): number {
  return compareKeys(a.tenantId, b.tenantId) || compareKeys(a.runId, b.runId);
}
