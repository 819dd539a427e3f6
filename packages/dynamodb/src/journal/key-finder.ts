/**
 * Finds the entries that have given keys: by the hashes in the head, by the markers of keys, and by the markers of
 * staged commits.
 */
import type { EngineCall, JournalEntry, JournalName } from '@tidemark/core/engine';
import type { Client } from '../client.ts';
import { keyOf } from '../keys.ts';
import { HIGHEST, readPartition } from '../partitions.ts';
import type { EntryReader } from './entries.ts';
import {
  type Head,
  hexOf,
  INLINE_KEYS,
  inlineHash,
  markerKey,
  markerPrefix,
  PLAIN_MARKER,
  partitionOf,
} from './head.ts';

const AT_ONCE = 32;

export class KeyFinder {
  readonly #client: Client;
  readonly #entries: EntryReader;

  constructor(client: Client, entries: EntryReader) {
    this.#client = client;
    this.#entries = entries;
  }

  /** Returns the entry of each key in a live journal, or `null` for a missing key. */
  async find(
    name: JournalName,
    head: Head,
    keys: readonly string[],
    call: EngineCall,
  ): Promise<(JournalEntry | null)[]> {
    const { live, inlineKeys } = head;
    if (!live) return keys.map(() => null);
    const found = new Map<string, JournalEntry>();
    if (keys.some((key) => inlineKeys.has(hexOf(inlineHash(key))))) {
      const wanted = new Set(keys);
      const first = await this.#entries.read(name, live.life, { after: 0, upTo: INLINE_KEYS }, call);
      for (const entry of first) if (wanted.has(entry.key)) found.set(entry.key, entry);
    }
    const left = keys.filter((key) => !found.has(key));
    // Up to this number of entries, all keys are in the head.
    const hasMarkers = head.hasPages || live.seq > INLINE_KEYS;
    const sequences = hasMarkers
      ? await this.#marked(name, live.life, head.hasPages, left, call)
      : new Map<string, number[]>();
    for (const [key, candidates] of sequences)
      for (const seq of candidates) {
        // A writer that lost the race for the head may have stored this marker. It then points to another entry, or to
        // none.
        if (seq > live.seq) continue;
        const [entry] = await this.#entries.read(name, live.life, { after: seq - 1, upTo: seq }, call);
        if (entry && entry.key === key) found.set(key, entry);
      }
    return keys.map((key) => found.get(key) ?? null);
  }

  /** Returns the sequences that markers name for keys. */
  async #marked(
    name: JournalName,
    life: Buffer,
    hasPages: boolean,
    keys: readonly string[],
    call: EngineCall,
  ): Promise<Map<string, number[]>> {
    const partition = partitionOf(name);
    const sequences = new Map<string, number[]>();
    if (!hasPages) {
      const markers = keys.map((key) => keyOf(partition, markerKey(life, key, PLAIN_MARKER)));
      const items = keys.length > 0 ? await this.#client.getMany('log', markers, call) : [];
      for (const [at, item] of items.entries()) if (item) sequences.set(keys[at]!, [Number(item.q!.N)]);
      return sequences;
    }
    const left = [...new Set(keys)];
    const lookUp = async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) {
        const prefix = markerPrefix(life, key);
        const range = { from: prefix, to: Buffer.concat([prefix, HIGHEST]) };
        for await (const items of readPartition(this.#client, 'log', partition, range, call))
          sequences.set(key, [...(sequences.get(key) ?? []), ...items.map(({ q }) => Number(q!.N))]);
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, left.length) }, lookUp));
    return sequences;
  }
}
