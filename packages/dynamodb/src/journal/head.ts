/**
 * The head of a journal as an item, with the attributes `q` last sequence, `c` and `u` first and last time, `a` the
 * owner's state, `w` rewrites, `t` tombstone, `i` life, `k` hashes of the first keys, `m` whether keys are also in
 * pages, `y` and `z` life and progress of a restore, `v` lives that are being staged, `o` lives to remove. A life is a
 * random name under which entries are stored, so that the entries of a removed journal and of a later journal of the
 * same name never mix.
 */
import { randomBytes } from 'node:crypto';
import type { JournalHead, JournalName } from '@tidemark/core/engine';
import type { Item } from '../client.ts';
import { hash, joined, keyOf, sequenceBytes } from '../keys.ts';

/** The state of a journal. */
export interface Head {
  /** `null` if the journal is not live. */
  live: (JournalHead & { life: Buffer }) | null;
  tombstone: string | null;
  restoring: { life: Buffer; seq: number } | null;
  /** The `rewrites` of the live journal, or the last `rewrites` of the removed one. */
  rewrites: number;
  inlineKeys: ReadonlySet<string>;
  /** Whether some markers of keys contain the name of a commit. A condition cannot name such markers. */
  hasPages: boolean;
  staging: readonly Buffer[];
  doomed: readonly Buffer[];
}

/** For this many first entries, the keys are stored as hashes in the head, which saves an item per key. */
export const INLINE_KEYS = 40;
const KEY_HASH_BYTES = 16;
const INLINE_HASH_BYTES = 8;
const HEAD = Buffer.from('H');

export const NO_HEAD: Head = {
  live: null,
  tombstone: null,
  restoring: null,
  rewrites: 0,
  inlineKeys: new Set(),
  hasPages: false,
  staging: [],
  doomed: [],
};

export function partitionOf({ space, tenantId, name }: JournalName): Buffer {
  return joined('j', space, tenantId, name);
}

export function headKey(name: JournalName): Item {
  return keyOf(partitionOf(name), HEAD);
}

export function readHead(item: Item | undefined): Head {
  if (!item) return NO_HEAD;
  const rewrites = Number(item.w?.N ?? 0);
  const live = item.q && {
    seq: Number(item.q.N),
    createdAt: Number(item.c!.N),
    updatedAt: Number(item.u!.N),
    state: textOf(item.a!.B!),
    rewrites,
    life: Buffer.from(item.i!.B!),
  };
  return {
    live: live ?? null,
    tombstone: item.t ? textOf(item.t.B!) : null,
    restoring: item.y ? { life: Buffer.from(item.y.B!), seq: Number(item.z!.N) } : null,
    rewrites,
    inlineKeys: new Set((item.k?.BS ?? []).map(hexOf)),
    hasPages: item.m !== undefined,
    staging: (item.v?.BS ?? []).map((it) => Buffer.from(it)),
    doomed: (item.o?.BS ?? []).map((it) => Buffer.from(it)),
  };
}

/** Returns the head in the form that the port defines. */
export function headOf({ live, restoring }: Head): JournalHead | null {
  if (live) {
    const { life: _, ...head } = live;
    return head;
  }
  return restoring ? { seq: restoring.seq, createdAt: 0, updatedAt: 0, state: '', rewrites: 0 } : null;
}

export function newLife(): Buffer {
  return randomBytes(8);
}

/** Returns the first bytes of the hash of a key, for the set in the head. */
export function inlineHash(key: string): Buffer {
  return hash(key).subarray(0, INLINE_HASH_BYTES);
}

/** The end of the sort key of a marker that a condition can name. */
export const PLAIN_MARKER = Buffer.alloc(8);

/** Returns the sort key of the marker of a key. `commit` distinguishes markers that were stored before their commit. */
export function markerKey(life: Buffer, key: string, commit: Buffer): Buffer {
  return Buffer.concat([markerPrefix(life, key), commit]);
}

export function markerPrefix(life: Buffer, key: string): Buffer {
  return Buffer.concat([Buffer.from('K'), life, hash(key).subarray(0, KEY_HASH_BYTES)]);
}

/** Returns the sort key of the commit whose last entry has this sequence. */
export function commitKey(life: Buffer, lastSeq: number): Buffer {
  return Buffer.concat([Buffer.from('C'), life, sequenceBytes(lastSeq)]);
}

/** Returns the sort key of a part of a staged commit. */
export function stageKey(life: Buffer, stage: Buffer, lastSeq: number, chunk: number): Buffer {
  const at = Buffer.alloc(2);
  at.writeUInt16BE(chunk);
  return Buffer.concat([Buffer.from('S'), life, stage, sequenceBytes(lastSeq), at]);
}

const COMMIT = 'C'.charCodeAt(0);
/** Where the sequence begins: after the letter and the life, and in a stage also after its id. */
const COMMIT_SEQUENCE_AT = 9;
const STAGE_SEQUENCE_AT = 17;

/** Returns the sequence of the last entry in a commit or in a group of a staged commit. */
export function lastSeqOf({ s }: Item): number {
  const key = Buffer.from(s!.B!);
  return Number(key.readBigUInt64BE(key[0] === COMMIT ? COMMIT_SEQUENCE_AT : STAGE_SEQUENCE_AT));
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
