/**
 * Encodes claims for `claim-first.lua`. The claims of one worker differ only in their id, so the parts that they have
 * in common are encoded once and cached.
 */
import { type FirstClaims, JOB_PREFIX, type RecordWrite } from '@tidemark/core/engine';
import { fieldArguments } from './field-arguments.ts';
import { type IndexKeyTemplate, indexKeysAfter } from './job-index-keys.ts';
import { Encoded } from './protocol/encode.ts';
import { bytesOf } from './record-step.ts';
import { type SumShift, sumShift } from './sum-shifts.ts';

/** The field in which the claims of a worker differ. */
export const OWN = 'claim_id';
const STATE = 'state';
/** Kinds are numbered by one ASCII character. */
const MAX_KINDS = 127;

type Claim = FirstClaims['writes'][number];

/** Claims that differ only in their ids. */
interface Kind {
  first: Claim;
  arguments: Encoded;
}

/** The kinds of claims of one type of job. */
export class ClaimKinds {
  readonly #taskType: string;
  /** The field whose checksum is known, and its value; `null` without checksums. */
  readonly #known: [string, Uint8Array] | null;
  #remembered: Kind[] = [];

  constructor(taskType: string, readyState: string, sums: boolean) {
    this.#taskType = taskType;
    this.#known = sums ? [STATE, Buffer.from(readyState)] : null;
  }

  /** Encodes the first claims, until there are more kinds than the script accepts. Returns their number. */
  encode(claims: readonly Claim[]): { count: number; kinds: Kind[]; claims: Encoded } {
    const [kinds, encoded]: [Kind[], Encoded] = [[], new Encoded()];
    let count = 0;
    for (const claim of claims) {
      let at = kinds.findIndex(({ first }) => isAlike(first, claim));
      if (at === -1) at = kinds.push(this.#kindOf(claim)) - 1;
      if (at === MAX_KINDS) {
        kinds.pop();
        break;
      }
      const id = claim.set.get(OWN)!;
      encoded.add(String.fromCharCode(at + 1) + (claim.requestId ?? '')).add(bytesOf(id));
      encoded.addBytes(this.#known ? String(sumShift(this.#known, [OWN, id]).constant) : '');
      count++;
    }
    return { count, kinds, claims: encoded };
  }

  #kindOf(claim: Claim): Kind {
    const known = this.#remembered.find(({ first }) => isAlike(first, claim));
    if (known) return known;
    const kind = { first: claim, arguments: this.#encodeKind(claim) };
    if (this.#remembered.length >= MAX_KINDS) this.#remembered = [];
    this.#remembered.push(kind);
    return kind;
  }

  #encodeKind({ set, stamps, requestId: _, unless: __, ...claim }: Claim): Encoded {
    const name = { space: 'kv', tenantId: '', key: `${JOB_PREFIX}${this.#taskType}.?` } as const;
    const write: RecordWrite = { name, mode: 'merge', ...claim, set, stamps };
    const indexKeys = indexKeysAfter(write);
    if (!indexKeys) throw new Error('The index entries of a claimed job depend on more than its claim');
    const [values, dropped, tables]: [Encoded, Encoded, string[]] = [new Encoded(), new Encoded(), []];
    let sets = 0;
    for (const [field, value] of set) {
      if (field === OWN) continue;
      const { name, companion } = fieldArguments(field);
      if (value === null) dropped.addReady(name).addReady(companion);
      else {
        sets++;
        values.addReady(name).add(bytesOf(value)).addReady(companion);
        const shift = this.#known && sumShift(this.#known, [field, value]);
        values.addBytes(shift ? String(shift.constant) : '').addBytes(tableNumber(tables, shift));
      }
    }
    for (const field of stamps?.keys() ?? []) dropped.addReady(fieldArguments(field).companion);
    const id = set.get(OWN)!;
    const ownTable = tableNumber(tables, this.#known && sumShift(this.#known, [OWN, id]));
    const counts = [tables.length, sets, dropped.count, stamps?.size ?? 0, indexKeys.length];
    const out = new Encoded().addBytes(String.fromCharCode(...counts));
    for (const table of tables) out.addBytes(table);
    out.append(values).append(dropped);
    for (const [field, offset] of stamps ?? []) out.addReady(fieldArguments(field).name).addBytes(String(offset));
    for (const indexKey of indexKeys) addIndexKey(out, indexKey, bytesOf(id).toString());
    return out.addReady(fieldArguments(OWN).companion).addBytes(ownTable);
  }
}

/** Returns the position of the table of a shift, counted from 1, and adds it if it is new. */
function tableNumber(tables: string[], shift: SumShift | null): string {
  if (!shift) return '';
  const at = tables.indexOf(shift.table);
  return String(at === -1 ? tables.push(shift.table) : at + 1);
}

function addIndexKey(args: Encoded, { start, offset }: IndexKeyTemplate, id: string): void {
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
