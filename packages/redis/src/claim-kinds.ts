/**
 * Encodes claims for `claim-first.lua`. The claims of one worker differ only in their id, so what they have in common is
 * sent once.
 */
import { type FirstClaims, JOB_PREFIX, type RecordWrite } from '@tidemark/core/engine';
import { fieldArguments } from './field-arguments.ts';
import { type Place, placesAfter } from './job-places.ts';
import { Encoded } from './protocol/encode.ts';
import { bytesOf } from './record-step.ts';
import { sumShift } from './sum-shifts.ts';

/** The field in which the claims of a worker differ. */
export const OWN = 'claim_id';
const STATE = 'state';
/** Kinds are numbered by one ASCII character. */
const MOST_KINDS = 127;

type Claim = FirstClaims['writes'][number];

/** Claims that differ only in their ids. */
interface Kind {
  first: Claim;
  number: number;
}

export class ClaimKinds {
  readonly #taskType: string;
  /** The field whose checksum is known, and its value; `null` without checksums. */
  readonly #known: [string, Uint8Array] | null;
  readonly #kinds: Kind[] = [];
  readonly #tables: string[] = [];
  readonly #encodedKinds = new Encoded();
  readonly #claims = new Encoded();

  constructor({ taskType, ready }: FirstClaims, sums: boolean) {
    this.#taskType = taskType;
    this.#known = sums ? [STATE, Buffer.from(ready.state)] : null;
  }

  /** Adds a claim. Returns false if there is no room for its kind. */
  add(claim: Claim): boolean {
    const kind = this.#kinds.find(({ first }) => isAlike(first, claim)) ?? this.#addKind(claim);
    if (!kind) return false;
    const id = claim.set.get(OWN)!;
    this.#claims.add(String.fromCharCode(kind.number) + (claim.requestId ?? '')).add(bytesOf(id));
    this.#claims.addBytes(this.#known ? String(sumShift(this.#known, [OWN, id]).constant) : '');
    return true;
  }

  /** Appends the arguments of tables, kinds and claims, after the numbers of buckets, tables and kinds. */
  encode(args: Encoded, buckets: number): Encoded {
    args.addBytes(`${buckets} ${this.#tables.length} ${this.#kinds.length}`);
    for (const table of this.#tables) args.addBytes(table);
    return args.append(this.#encodedKinds).append(this.#claims);
  }

  #addKind(claim: Claim): Kind | null {
    if (this.#kinds.length === MOST_KINDS) return null;
    const kind = { first: claim, number: this.#kinds.length + 1 };
    this.#kinds.push(kind);
    this.#encodeKind(claim);
    return kind;
  }

  #encodeKind({ set, stamps, requestId: _, unless: __, ...claim }: Claim): void {
    const name = { space: 'kv', tenantId: '', key: `${JOB_PREFIX}${this.#taskType}.?` } as const;
    const write: RecordWrite = { name, mode: 'merge', ...claim, set, stamps };
    const places = placesAfter(write);
    if (!places) throw new Error('The index entries of a claimed job depend on more than its claim');
    const [values, dropped] = [new Encoded(), new Encoded()];
    let sets = 0;
    for (const [field, value] of set) {
      if (field === OWN) continue;
      const { name, companion } = fieldArguments(field);
      if (value === null) dropped.addReady(name).addReady(companion);
      else {
        sets++;
        values.addReady(name).add(bytesOf(value)).addReady(companion);
        const shift = this.#known && sumShift(this.#known, [field, value]);
        values.addBytes(shift ? String(shift.constant) : '').addBytes(shift ? this.#tableNumber(shift.table) : '');
      }
    }
    for (const field of stamps?.keys() ?? []) dropped.addReady(fieldArguments(field).companion);
    const shape = String.fromCharCode(sets, dropped.count, stamps?.size ?? 0, places.length);
    const out = this.#encodedKinds.addBytes(shape).append(values).append(dropped);
    for (const [field, offset] of stamps ?? []) out.addReady(fieldArguments(field).name).addBytes(String(offset));
    const id = set.get(OWN)!;
    for (const place of places) addPlace(out, place, bytesOf(id).toString());
    const shift = this.#known && sumShift(this.#known, [OWN, id]);
    out.addReady(fieldArguments(OWN).companion).addBytes(shift ? this.#tableNumber(shift.table) : '');
  }

  /** Returns the position of a table, counted from 1, and adds it if it is new. */
  #tableNumber(table: string): string {
    const at = this.#tables.indexOf(table);
    return String(at === -1 ? this.#tables.push(table) : at + 1);
  }
}

function addPlace(args: Encoded, { start, offset }: Place, id: string): void {
  if (offset !== null) args.addBytes(String(offset)).add(start);
  else if (start.endsWith(`/${id}`)) args.addBytes('id').add(start.slice(0, -id.length));
  else args.addBytes('').add(start);
}

/** Whether two claims differ only in their ids. Ids of the same length have the same table of checksums. */
function isAlike(a: Claim, b: Claim): boolean {
  if (a.ttlMs !== b.ttlMs || a.set.size !== b.set.size || a.stamps?.size !== b.stamps?.size) return false;
  if (a.set.get(OWN)!.length !== b.set.get(OWN)!.length) return false;
  for (const [field, value] of a.set) if (field !== OWN && !isSame(value, b.set.get(field))) return false;
  if (a.stamps) for (const [field, offset] of a.stamps) if (b.stamps!.get(field) !== offset) return false;
  return true;
}

function isSame(a: Uint8Array | null, b: Uint8Array | null | undefined): boolean {
  return a === null || !b ? a === b : Buffer.compare(a, b) === 0;
}
