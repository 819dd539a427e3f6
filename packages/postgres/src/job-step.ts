/** Encodes the moves and claims of a step of jobs for its statement, and returns the outcome of each. */
import {
  type FirstClaim,
  type FirstClaims,
  indexKeysOf,
  JOB_PREFIX,
  type RecordWrite,
  sumInteger,
  TIME_DIGITS,
} from '@tidemark/core/engine';
import { fieldSum, integerOf, recordStart } from '@tidemark/sql';
import { BinaryArray, ColumnSets, type ElementType } from './binary-arrays.ts';
import { type FieldValue, MAX_SHIFT, zeroTime, zeroTimeSum } from './checksum-sql.ts';
import type { HeldJob } from './held-jobs.ts';
import { claimedJob, movedJob, type StepOutcome, type StepRow } from './job-step-outcomes.ts';
import {
  CLAIM_SUMS,
  CLAIMABLE,
  CLOCK_ROW,
  inputsOf,
  jobStepSql,
  STEP_FOUND,
  STEP_INPUTS,
  type StepInput,
  type StepParts,
} from './job-step-sql.ts';
import { push, type Statement } from './record-group.ts';

/** A write on a job that this process holds. */
export interface HeldMove {
  write: RecordWrite;
  before: HeldJob;
}

/** The first ready jobs of a type, to be claimed. */
export interface ClaimsOfType {
  tenantId: string;
  step: FirstClaims;
}

const MAX_BYTES_OF_A_MOVE = 16 * 1024;

/** Two times between which index keys with a time differ. */
const [EARLY, LATE] = [2_000_000_000_000, 3_000_000_000_000];

/** An index key. If `shift` is a number, the server appends the time that is that many milliseconds from now. */
interface TimedKey {
  text: string;
  shift: number | null;
}

export class JobStep {
  readonly #moves: HeldMove[] = [];
  #claims: ClaimsOfType | null = null;
  readonly #tables = new Map<StepInput, BinaryArray[]>();
  /** The numbers of the times, from 1, by their distance from now. */
  readonly #stamps = new Map<number, number>();
  /** Where the table of each checksum begins. */
  readonly #maps = new Map<Int32Array, number>();

  /** Adds a move. Call it in the order of keys. Returns false if this statement cannot make the move. */
  addMove(move: HeldMove): boolean {
    const { write, before } = move;
    const { name, set, ttlMs } = write;
    const stamps = [...(write.stamps ?? NO_STAMPS)];
    const isPlain =
      write.mode === 'merge' && write.requestId === undefined && stamps.length <= 2 && before.state.expiresAt === null;
    if (!isPlain || !isSmall(set) || !areTimes(set, stamps) || !isShift(ttlMs ?? 0)) return false;
    const after = new Map(before.state.fields);
    for (const [field, value] of set) {
      if (value === null) after.delete(field);
      else after.set(field, value);
    }
    const keys = timedKeys(name.key, after, stamps);
    const old = new Set(indexKeysOf(name.key, before.state.fields));
    const kept = keys?.filter(({ text, shift }) => shift === null && old.has(text)) ?? [];
    if (!keys || kept.length > 1 || after.size === 0) return false;
    const no = this.#moves.push(move) - 1;
    const start = recordStart(name.tenantId, name.key);
    let known = 0;
    for (const [field, value] of after) {
      if (stamps.some(([stamp]) => stamp === field)) continue;
      const sum = fieldSum(start, field, value);
      known += sum;
      if (set.has(field)) this.#add('fields', [no, field, value, null, sum, null]);
    }
    for (const field of before.state.fields.keys()) if (!after.has(field)) this.#add('goneFields', [no, field]);
    const times = stamps.map(([field, shift]): [stamp: number, sum: number] => {
      const time: [number, number] = [this.#stampOf(shift), zeroTimeSum(start, field)];
      this.#add('fields', [no, field, null, ...time, null]);
      return time;
    });
    for (const key of keys) if (key !== kept[0]) this.#addKey(no, key);
    const expires = typeof ttlMs === 'number';
    const [first = NO_TIME, second = NO_TIME] = times;
    this.#add('moves', [
      ...[no, name.tenantId, name.key, before.state.revision, before.sum, kept[0]?.text ?? null],
      ...[expires ? this.#stampOf(ttlMs) : null, known, sumInteger(expires ? 0 : null, sumInteger(0, start))],
      ...[...first, ...second],
    ]);
    return true;
  }

  /** Adds the claims of a type, after the moves. Returns false if this statement cannot make them. */
  addClaims(claims: ClaimsOfType): boolean {
    const { taskType, ready, writes } = claims.step;
    const names = namesIn(writes[0]!).join();
    const isPlain = (write: FirstClaim) => isPlainClaim(write) && namesIn(write).join() === names;
    if (this.#claims || ready.state !== String(CLAIMABLE.value) || !writes.every(isPlain)) return false;
    const keys = writes.map(({ set, stamps }) => {
      const fields = new Map<string, Uint8Array>();
      for (const [field, value] of set) if (value !== null) fields.set(field, value);
      // The index keys of a job contain its type but not its id.
      return timedKeys(`${JOB_PREFIX}${taskType}.any`, fields, [...(stamps ?? NO_STAMPS)]);
    });
    if (!keys.every((it) => it !== null)) return false;
    this.#claims = claims;
    for (const [at, write] of writes.entries()) {
      const no = this.#moves.length + at;
      this.#add('claims', [no, at + 1, JSON.stringify(write.requestId), write.unless.key]);
      for (const [field, value] of write.set) {
        if (value === null && !write.stamps?.has(field)) this.#add('goneFields', [no, field]);
        if (value !== null) this.#add('fields', [no, field, value, null, ...this.#sumOf({ field, value })]);
      }
      for (const [field, shift] of write.stamps ?? NO_STAMPS)
        this.#add('fields', [no, field, null, this.#stampOf(shift), ...this.#sumOf({ field, ...zeroTime })]);
      for (const key of keys[at]!) this.#addKey(no, key);
    }
    return true;
  }

  get isEmpty(): boolean {
    return this.#moves.length === 0 && !this.#claims;
  }

  /** All tenants of the step. */
  get tenants(): string[] {
    const ofMoves = this.#moves.map(({ write }) => write.name.tenantId);
    return [...new Set(this.#claims ? [...ofMoves, this.#claims.tenantId] : ofMoves)];
  }

  statement(): Statement {
    const parts = { moves: this.#moves.length > 0, claims: this.#claims !== null };
    const values: unknown[] = [encoded('int8', this.#stamps.keys())];
    for (const name of inputsOf(parts)) for (const column of this.#columnsOf(name)) values.push(column.finish());
    const release = () => {
      for (const [name, columns] of this.#tables) stepColumns[name].giveBack(columns);
    };
    return { text: textOf(parts), values: [...values, ...this.#claimValues()], release };
  }

  /** Returns the values of `CLAIM_PARAMETERS`. */
  #claimValues(): unknown[] {
    if (!this.#claims) return [];
    const { tenantId, step } = this.#claims;
    const { taskType, due, ready, writes } = step;
    return [
      ...[tenantId, taskType, due?.from ?? null, due?.to ?? null, ready.from, ready.to, writes.length],
      encoded(
        'text',
        writes.map(({ unless }) => unless.key),
      ),
      encoded('text', namesIn(writes[0]!)),
      encodedTables([...this.#maps.keys()]),
    ];
  }

  decode(rows: readonly StepRow[]): StepOutcome {
    const jobs = new Map(rows.map((row) => [row[0], row]));
    const clock = jobs.get(CLOCK_ROW);
    const now = clock ? integerOf(clock[1]) : 0;
    const result: StepOutcome = { moves: [], claims: null, claimed: [], damaged: [] };
    for (const [no, { write, before }] of this.#moves.entries()) {
      const row = jobs.get(no);
      result.moves.push(row ? movedJob(write, before, row, now) : 'raced');
    }
    if (!this.#claims) return result;
    const { tenantId, step } = this.#claims;
    const found = clock?.[4] ?? STEP_FOUND.others;
    const outcomes = step.writes.map((write, at) => {
      const row = jobs.get(this.#moves.length + at);
      return row ? claimedJob(tenantId, { at, write }, row, now, result) : null;
    });
    const isCut = found === STEP_FOUND.others || result.damaged.length > 0;
    result.claims = { isDue: found === STEP_FOUND.due, isCut, outcomes };
    return result;
  }

  #add(name: StepInput, values: readonly (string | number | null | Uint8Array)[]): void {
    push(this.#columnsOf(name), values);
  }

  #addKey(no: number, { text, shift }: TimedKey): void {
    this.#add('indexKeys', [no, text, shift === null ? null : this.#stampOf(shift)]);
  }

  #columnsOf(name: StepInput): BinaryArray[] {
    let columns = this.#tables.get(name);
    if (!columns) {
      columns = stepColumns[name].take();
      this.#tables.set(name, columns);
    }
    return columns;
  }

  /** Returns the number of a time. */
  #stampOf(shift: number): number {
    const known = this.#stamps.get(shift);
    if (known !== undefined) return known;
    const stamp = this.#stamps.size + 1;
    this.#stamps.set(shift, stamp);
    return stamp;
  }

  #sumOf(field: FieldValue): [sum: number, map: number] {
    const table = CLAIM_SUMS.tableFor(field);
    let at = this.#maps.get(table);
    if (at === undefined) {
      at = this.#maps.size * table.length;
      this.#maps.set(table, at);
    }
    return [CLAIM_SUMS.constantFor(field, table), at];
  }
}

const stepColumns = Object.fromEntries(
  Object.entries(STEP_INPUTS).map(([name, columns]) => [name, new ColumnSets(columns.map(([, type]) => type))]),
) as Record<StepInput, ColumnSets>;

const texts = new Map<string, string>();

function textOf(parts: StepParts): string {
  const id = `${parts.moves} ${parts.claims}`;
  let text = texts.get(id);
  if (text === undefined) {
    text = jobStepSql(parts);
    texts.set(id, text);
  }
  return text;
}

/** So that a statement for a whole group stays small. */
function isSmall(set: RecordWrite['set']): boolean {
  let bytes = 0;
  for (const value of set.values()) bytes += value?.length ?? 0;
  return bytes <= MAX_BYTES_OF_A_MOVE;
}

function isShift(ms: number): boolean {
  return Number.isSafeInteger(ms) && Math.abs(ms) <= MAX_SHIFT;
}

type Stamps = readonly (readonly [field: string, shift: number])[];

const NO_STAMPS: Stamps = [];
const NO_TIME = [null, null] as const;

/** Whether the statement can compute the times, and no field is a time and a value. */
function areTimes(set: RecordWrite['set'], stamps: Stamps): boolean {
  return stamps.every(([field, shift]) => (set.get(field) ?? null) === null && isShift(shift));
}

function isPlainClaim({ set, stamps, ttlMs, requestId }: FirstClaim): boolean {
  return ttlMs === null && requestId !== undefined && areTimes(set, [...(stamps ?? NO_STAMPS)]);
}

function namesIn({ set, stamps }: FirstClaim): string[] {
  return [...set.keys(), ...(stamps?.keys() ?? [])];
}

/**
 * Returns the index keys of a job with the time that each ends with, if it depends on the time of the step. Changes the
 * times in `fields`. Returns `null` if a key depends on the time otherwise.
 */
function timedKeys(key: string, fields: Map<string, Uint8Array>, stamps: Stamps): TimedKey[] | null {
  const keysAt = (now: number) => {
    for (const [field, shift] of stamps) fields.set(field, Buffer.from(String(now + shift)));
    return indexKeysOf(key, fields);
  };
  const [early, late] = [keysAt(EARLY), keysAt(LATE)];
  if (early.length !== late.length) return null;
  const keys = early.map((text, at): TimedKey => {
    if (text === late[at]) return { text, shift: null };
    return { text: text.slice(0, -TIME_DIGITS), shift: Number(text.slice(-TIME_DIGITS)) - EARLY };
  });
  const isLate = ({ text, shift }: TimedKey, at: number) =>
    shift === null || (isShift(shift) && late[at] === text + String(LATE + shift).padStart(TIME_DIGITS, '0'));
  return keys.every(isLate) ? keys : null;
}

function encoded(type: ElementType, values: Iterable<string | number>): Buffer {
  const array = new BinaryArray(type);
  for (const value of values) array.push(value);
  return array.finish();
}

let lastTables: { tables: readonly Int32Array[]; bytes: Buffer } = { tables: [], bytes: encoded('int4', []) };

/** Encodes tables one after the other. A worker sends the same tables with every claim. */
function encodedTables(tables: readonly Int32Array[]): Buffer {
  const isSame = tables.length === lastTables.tables.length && tables.every((it, at) => it === lastTables.tables[at]);
  if (!isSame)
    lastTables = {
      tables,
      bytes: encoded(
        'int4',
        tables.flatMap((table) => [...table]),
      ),
    };
  return lastTables.bytes;
}
