/**
 * The journal primitive on DynamoDB. A commit is one transaction. It writes the head, on the condition that the head is
 * still in the state that the writer has read. It also writes the entries, a marker for each key, which must not exist
 * yet, and a pending position in the feed. A commit that is too large for a transaction is staged first. The
 * transaction then makes it visible.
 */
import {
  type EngineCall,
  type Journal,
  type JournalBeginning,
  type JournalCommit,
  type JournalEntry,
  type JournalHead,
  type JournalName,
  type JournalOutcome,
  type JournalRange,
  type JournalRestore,
  type JournalSpace,
  LruMap,
  type RemoveOptions,
} from '@tidemark/core/engine';
import { Committer } from './journal/committing.ts';
import { EntryReader } from './journal/entries.ts';
import { Feed } from './journal/feed.ts';
import { type Head, headKey, headOf, readHead } from './journal/head.ts';
import { KeyFinder } from './journal/key-finder.ts';
import { isListed, JournalLists, requireListed } from './journal/lists.ts';
import type { JournalParts, JournalSources } from './journal/parts.ts';
import { Remover } from './journal/removing.ts';
import { restoreStep } from './journal/restoring.ts';
import { rewriteEntry } from './journal/rewriting.ts';

const MAX_KNOWN_HEADS = 16_384;

export class DynamoDbJournal implements Journal {
  readonly #parts: JournalParts;
  readonly #committer: Committer;
  readonly #remover: Remover;

  constructor(sources: JournalSources) {
    const { client, shards } = sources;
    const entries = new EntryReader(client);
    const readHeadOf = async (name: JournalName, call: EngineCall) =>
      readHead(await client.get('log', headKey(name), call));
    this.#parts = {
      ...sources,
      entries,
      keys: new KeyFinder(client, entries),
      lists: new JournalLists(client, shards),
      feed: new Feed(client, entries, shards),
      readHead: readHeadOf,
    };
    const known = new LruMap<string, Head>(MAX_KNOWN_HEADS);
    this.#committer = new Committer(this.#parts, known);
    this.#remover = new Remover(this.#parts);
  }

  async head(name: JournalName, call: EngineCall) {
    const head = await this.#parts.readHead(name, call);
    this.#committer.remember(name, head);
    return { head: headOf(head), tombstone: head.tombstone };
  }

  commit(name: JournalName, commit: JournalCommit, call: EngineCall): Promise<JournalOutcome> {
    return this.#committer.commit(name, commit, call);
  }

  begin(name: JournalName, beginning: JournalBeginning, call: EngineCall) {
    return this.#committer.begin(name, beginning, call);
  }

  async read(name: JournalName, afterSeq: number, limit: number, call: EngineCall): Promise<JournalEntry[]> {
    const { live } = await this.#parts.readHead(name, call);
    if (!live || live.seq <= afterSeq) return [];
    const upTo = Math.min(live.seq, afterSeq + limit);
    return this.#parts.entries.read(name, live.life, { after: afterSeq, upTo }, call);
  }

  async find(name: JournalName, keys: readonly string[], call: EngineCall): Promise<(JournalEntry | null)[]> {
    if (keys.length === 0) return [];
    const head = await this.#parts.readHead(name, call);
    this.#committer.remember(name, head);
    return this.#parts.keys.find(name, head, keys, call);
  }

  remove(name: JournalName, tombstone: string | null, options: RemoveOptions): Promise<number> {
    this.#committer.forget(name);
    return this.#remover.remove(name, tombstone, options);
  }

  restore(name: JournalName, step: JournalRestore, call: EngineCall): Promise<boolean> {
    this.#committer.forget(name);
    return restoreStep(this.#parts, name, step, call);
  }

  rewrite(name: JournalName, seq: number, body: { from: string; to: string }, call: EngineCall): Promise<boolean> {
    this.#committer.forget(name);
    return rewriteEntry(this.#parts, name, seq, body, call);
  }

  forget(name: JournalName, call: EngineCall): Promise<number> {
    this.#committer.forget(name);
    return this.#remover.forget(name, call);
  }

  tenants(space: JournalSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]> {
    return this.#parts.lists.tenants(space, after, limit, call);
  }

  names(
    space: JournalSpace,
    tenantId: string,
    after: string | null,
    limit: number,
    call: EngineCall,
  ): Promise<string[]> {
    return this.#parts.lists.names(space, tenantId, after, limit, call);
  }

  async clear(space: JournalSpace, tenantId: string, call: EngineCall): Promise<void> {
    if (isListed(space)) await this.#parts.feed.clear(tenantId, call);
  }

  tenantsOf(space: JournalSpace, name: string, call: EngineCall): Promise<string[]> {
    return this.#parts.lists.tenantsOf(space, name, call);
  }

  list(
    space: JournalSpace,
    range: JournalRange,
    call: EngineCall,
  ): Promise<{ name: JournalName; head: JournalHead }[]> {
    return this.#parts.lists.list(space, range, call);
  }

  feed(space: JournalSpace, after: string | null, limit: number, call: EngineCall) {
    requireListed(space);
    return this.#parts.feed.read(after, limit, call);
  }

  wait(space: JournalSpace, name: JournalName | null, call: EngineCall): Promise<void> {
    return this.#parts.hints.waitForJournal(space, name, call);
  }
}
