/**
 * The entries of journals: one item per commit (`f` first sequence, `n` count, `t` time, `b` entries). A commit that is
 * too large for an item names a stage (`g`), whose parts hold the entries in groups. `h` is the number of items of a
 * group.
 */
import { randomBytes } from 'node:crypto';
import { corruptValue, type EngineCall, type JournalEntry, type JournalName } from '@tidemark/core/engine';
import type { Client, Item } from '../client.ts';
import { keyOf } from '../keys.ts';
import { decodePairs, encodePairs, type Pair, pairBytes } from '../pairs.ts';
import { readPartition } from '../partitions.ts';
import { commitKey, lastSeqOf, partitionOf, stageKey } from './head.ts';

/** The maximum size of a commit's item. It leaves room for redaction, which may make entries longer. */
const MAX_COMMIT_BYTES = 300 * 1024;
const CHUNK_BYTES = 350 * 1024;
const MAX_SEQ = Number.MAX_SAFE_INTEGER;
const PAGE = 1_000;

/** The entries of one item or group. */
export interface EntryGroup {
  firstSeq: number;
  entries: readonly JournalEntry[];
}

/**
 * Divides entries into groups that each fit into an item. An entry that is too large for an item forms its own group.
 */
export function groupsOf(entries: readonly JournalEntry[]): EntryGroup[] {
  const groups: JournalEntry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = pairBytes(pairOf(entry));
    if (groups.length === 0 || bytes + size > MAX_COMMIT_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)!.push(entry);
    bytes += size;
  }
  return groups.map((entries) => ({ firstSeq: entries[0]!.seq, entries }));
}

/** Whether entries fit into the item of their commit. */
export function fitsInCommit(entries: readonly JournalEntry[]): boolean {
  const bytes = entries.reduce((sum, entry) => sum + pairBytes(pairOf(entry)), 0);
  return bytes <= MAX_COMMIT_BYTES;
}

/** Returns the item of a commit, with its entries or with the stage that holds them. */
export function commitItem(
  name: JournalName,
  life: Buffer,
  entries: readonly JournalEntry[],
  stage: Buffer | null,
): Item {
  const [first, last] = [entries[0]!, entries.at(-1)!];
  return {
    ...keyOf(partitionOf(name), commitKey(life, last.seq)),
    f: { N: String(first.seq) },
    n: { N: String(entries.length) },
    ...(stage ? { g: { B: stage } } : { b: { B: encodeEntries(entries) } }),
  };
}

/** Returns the items of a stage. */
export function stageItems(name: JournalName, life: Buffer, stage: Buffer, groups: readonly EntryGroup[]): Item[] {
  return groups.flatMap(({ entries }) => groupItems(name, life, stage, entries));
}

/** Returns the items of one group. */
export function groupItems(name: JournalName, life: Buffer, stage: Buffer, entries: readonly JournalEntry[]): Item[] {
  const bytes = encodeEntries(entries);
  const count = Math.max(1, Math.ceil(bytes.length / CHUNK_BYTES));
  return Array.from({ length: count }, (_, chunk) => ({
    ...keyOf(partitionOf(name), stageKey(life, stage, entries.at(-1)!.seq, chunk)),
    f: { N: String(entries[0]!.seq) },
    h: { N: String(count) },
    b: { B: bytes.subarray(chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES) },
  }));
}

export function newStage(): Buffer {
  return randomBytes(8);
}

/** Encodes entries. Each entry has its own time, because the entries of restored commits have different times. */
function encodeEntries(entries: readonly JournalEntry[]): Buffer {
  return encodePairs(entries.map(pairOf));
}

function pairOf({ time, key, body }: JournalEntry): Pair {
  return [`${time.toString(36)}\0${key}`, body];
}

/**
 * Decodes the entries of a commit or a group. If the bytes cannot be read, the entries get empty bodies. Empty bodies
 * cannot be decoded, so the journal counts as damaged from these entries on.
 */
function decodeEntries(bytes: Uint8Array, item: Item): JournalEntry[] {
  const firstSeq = Number(item.f!.N);
  const count = lastSeqOf(item) - firstSeq + 1;
  const pairs = decodePairs(bytes);
  if (pairs?.length !== count)
    return Array.from({ length: count }, (_, at) => ({ seq: firstSeq + at, time: 0, key: '', body: '' }));
  return pairs.map(([timed, body], at) => {
    const cut = timed.indexOf('\0');
    const time = Number.parseInt(timed.slice(0, cut), 36);
    return { seq: firstSeq + at, time, key: timed.slice(cut + 1), body: body.toString() };
  });
}

export class EntryReader {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Returns entries after a sequence, up to and including `upTo`. Reads no commit after the one that contains `upTo`.
   */
  async read(
    name: JournalName,
    life: Buffer,
    { after, upTo }: { after: number; upTo: number },
    call: EngineCall,
  ): Promise<JournalEntry[]> {
    const entries: JournalEntry[] = [];
    if (upTo <= after) return entries;
    const take = async (from: number, to: number, page: number) => {
      const range = { from: commitKey(life, from), to: commitKey(life, to), page };
      for await (const items of readPartition(this.#client, 'log', partitionOf(name), range, call)) {
        for (const item of items) {
          for (const entry of await this.entriesOf(name, life, item, { after, upTo }, call))
            if (entry.seq > after && entry.seq <= upTo) entries.push(entry);
        }
        if (page === 1) return;
      }
    };
    await take(after + 1, upTo, PAGE);
    // The last commit may contain entries beyond the requested last sequence.
    const last = entries.at(-1)?.seq ?? after;
    if (last < upTo) await take(upTo + 1, MAX_SEQ, 1);
    return entries;
  }

  /** Returns the entries of a commit. For a staged commit, reads only the groups in the range. */
  async entriesOf(
    name: JournalName,
    life: Buffer,
    item: Item,
    { after, upTo }: { after: number; upTo: number },
    call: EngineCall,
  ): Promise<JournalEntry[]> {
    if (item.b) return decodeEntries(item.b.B!, item);
    const stage = Buffer.from(item.g!.B!);
    const entries: JournalEntry[] = [];
    const range = { from: stageKey(life, stage, after + 1, 0), to: stageKey(life, stage, MAX_SEQ, 0xffff) };
    for await (const group of this.#groups(name, range, call)) {
      entries.push(...group);
      if (group.at(-1)!.seq >= upTo) break;
    }
    return entries;
  }

  async *#groups(
    name: JournalName,
    range: { from: Buffer; to: Buffer },
    call: EngineCall,
  ): AsyncGenerator<JournalEntry[], void, undefined> {
    let chunks: Item[] = [];
    for await (const items of readPartition(this.#client, 'log', partitionOf(name), range, call))
      for (const item of items) {
        if (chunks.length > 0 && chunks[0]!.f!.N !== item.f!.N) throw corruptValue(name.space, name.name);
        chunks.push(item);
        if (chunks.length < Number(item.h!.N)) continue;
        const bytes = Buffer.concat(chunks.map(({ b }) => b!.B!));
        yield decodeEntries(bytes, item);
        chunks = [];
      }
  }

  /** Returns the item of the commit that contains an entry. */
  async commitAt(name: JournalName, life: Buffer, seq: number, call: EngineCall): Promise<Item | undefined> {
    const range = { from: commitKey(life, seq), to: commitKey(life, MAX_SEQ), page: 1 };
    for await (const [item] of readPartition(this.#client, 'log', partitionOf(name), range, call))
      return Number(item!.f!.N) <= seq ? item : undefined;
    return undefined;
  }

  /** Returns the group of a staged commit that contains an entry, and the number of items that hold the group. */
  async groupAt(
    name: JournalName,
    life: Buffer,
    stage: Buffer,
    seq: number,
    call: EngineCall,
  ): Promise<{ entries: JournalEntry[]; items: Item[] } | null> {
    const items: Item[] = [];
    const range = { from: stageKey(life, stage, seq, 0), to: stageKey(life, stage, MAX_SEQ, 0xffff), page: 2 };
    for await (const page of readPartition(this.#client, 'log', partitionOf(name), range, call)) {
      items.push(...page);
      const count = Number(items[0]!.h!.N);
      if (items.length < count) continue;
      items.length = count;
      const bytes = Buffer.concat(items.map(({ b }) => b!.B!));
      return { entries: decodeEntries(bytes, items[0]!), items };
    }
    return null;
  }
}
