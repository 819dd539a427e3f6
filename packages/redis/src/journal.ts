/** The journal primitive on Redis: a head and a stream per journal, to which one script commits. */

import { TidemarkError } from '@tidemark/core';
import {
  type EngineCall,
  type Journal,
  type JournalBeginning,
  type JournalCommit,
  type JournalEntry,
  type JournalFeedItem,
  type JournalHead,
  type JournalName,
  type JournalOutcome,
  type JournalPosition,
  type JournalRange,
  type JournalRestore,
  type JournalRewrite,
  type JournalSpace,
  type RemoveOptions,
  rewritten,
  seqConflict,
  sha256Hex,
} from '@tidemark/core/engine';
import type { Commands } from './commands.ts';
import { type Commit, readFeed, removeFromFeed, type StreamEntry } from './feed.ts';
import type { Hints } from './hints.ts';
import type { Layout } from './layout.ts';
import { distinctLexical, excluded, included, type LexicalRange, mergeLexical, readLexical } from './lexical.ts';
import { Encoded } from './protocol/encode.ts';
import { COMMIT, FORGET_JOURNAL, REMOVE_JOURNAL, RESTORE_JOURNAL, REWRITE } from './scripts.ts';

/** Fields of a head. They cannot collide with keys of entries, because keys contain no NUL. */
export const HEAD = '\0head';
export const TOMBSTONE = '\0tombstone';
const RESTORED = '\0restored';
const LIFE_DIGITS = 16;
export const REWRITES = '\0rewrites';
const TIME_DIGITS = 16;
const REWRITE_PAGE = 100;
const CLEAR_PAGE = 1_000;
/** How long the leftovers of an interrupted rewrite are kept. */
const COPY_LIVES_MS = '600000';

export interface JournalParts {
  commands: Commands;
  layout: Layout;
  hints: Hints;
}

class RedisJournal implements Journal {
  readonly #commands: Commands;
  readonly #layout: Layout;
  readonly #hints: Hints;

  constructor({ commands, layout, hints }: JournalParts) {
    this.#commands = commands;
    this.#layout = layout;
    this.#hints = hints;
  }

  async head(name: JournalName, call: EngineCall) {
    const { bucket, head } = this.#layout.journal(name);
    const args = ['HMGET', head, HEAD, TOMBSTONE, RESTORED, REWRITES];
    const [found, tombstone, restored, rewrites] = (await this.#commands.read(bucket, args, call)) as Texts;
    const known = restored ? { seq: Number(restored), createdAt: 0, updatedAt: 0, state: '', rewrites: 0 } : null;
    return { head: found ? parseHead(found, rewrites) : known, tombstone: tombstone?.toString() ?? null };
  }

  commit(name: JournalName, commit: JournalCommit, call: EngineCall): Promise<JournalOutcome> {
    const { bucket, head, log } = this.#layout.journal(name);
    const keys = new Encoded().add(head).add(log);
    if (isListed(name.space)) keys.add(this.#feedKey(bucket));
    if (isListed(name.space) && commit.known === 0) keys.addAll(this.#listKeys(bucket, name.tenantId));
    if (commit.known === 0) keys.addAll(this.#nameKeys(bucket, name));
    const args = commitArguments(name, commit, keys.count);
    return this.#commands.share(bucket, COMMIT, keys, args, call, (reply) => {
      if (typeof reply === 'number') {
        this.#hints.journalChanged(name);
        return { committed: true, time: reply };
      }
      const [found, tombstone, entries, rewrites] = reply as [Buffer | null, Buffer | null, StreamEntry[], Buffer];
      return {
        committed: false,
        head: found && parseHead(found, rewrites),
        tombstone: tombstone?.toString() ?? null,
        found: entries.map(parseEntry),
      };
    });
  }

  async read(name: JournalName, afterSeq: number, limit: number, call: EngineCall): Promise<JournalEntry[]> {
    return (await this.#readLog(name, afterSeq, limit, call)).map(parseEntry);
  }

  async #readLog(name: JournalName, afterSeq: number, limit: number, call: EngineCall): Promise<StreamEntry[]> {
    const { bucket, log } = this.#layout.journal(name);
    const args = ['XRANGE', log, `${afterSeq + 1}-0`, '+', 'COUNT', String(limit)];
    return (await this.#commands.read(bucket, args, call)) as StreamEntry[];
  }

  async find(name: JournalName, keys: readonly string[], call: EngineCall): Promise<(JournalEntry | null)[]> {
    if (keys.length === 0) return [];
    const { bucket, head, log } = this.#layout.journal(name);
    const sequences = (await this.#commands.read(bucket, ['HMGET', head, ...keys], call)) as Texts;
    return Promise.all(
      sequences.map(async (seq) => {
        if (seq === null) return null;
        const [entry] = (await this.#commands.read(
          bucket,
          ['XRANGE', log, `${seq}-0`, `${seq}-0`],
          call,
        )) as StreamEntry[];
        return entry ? parseEntry(entry) : null;
      }),
    );
  }

  async remove(
    name: JournalName,
    tombstone: string | null,
    { expectedSeq, expectedRewrites, keepsName, notice, ...call }: RemoveOptions,
  ): Promise<number> {
    const { bucket, head, log, restoring } = this.#layout.journal(name);
    const keys = [head, log];
    if (isListed(name.space)) {
      keys.push(...this.#listKeys(bucket, name.tenantId), restoring, this.#layout.shared(bucket, 'removed-events'));
      keys.push(this.#feedKey(bucket));
    } else keys.push(...this.#nameKeys(bucket, name));
    const args = [tombstone ?? '', name.tenantId, name.name, String(expectedSeq ?? ''), keepsName ? '1' : '0'];
    args.push(String(expectedRewrites ?? ''), notice ?? '');
    const removed = await this.#commands.write(bucket, REMOVE_JOURNAL, keys, args, call);
    if (typeof removed !== 'number') throw rewritten(name.name, Number(removed));
    if (removed < 0) throw seqConflict(name.name, expectedSeq!, -removed);
    if (notice !== undefined && removed > 0) this.#hints.journalChanged(name);
    return removed;
  }

  async restore(name: JournalName, step: JournalRestore, call: EngineCall): Promise<boolean> {
    const { bucket, keys } = this.#restoreKeys(name);
    const { seq, createdAt, updatedAt, state, rewrites } = step.head;
    const args = [step.known.tombstone ?? '', String(step.known.seq), step.tombstone, step.isLast ? '1' : '0'];
    args.push(`${seq} ${createdAt} ${updatedAt}\n${state}`, String(createdAt), String(seq), name.tenantId, name.name);
    args.push(sha256Hex(step.tombstone).slice(0, LIFE_DIGITS), String(rewrites), step.notice ?? '');
    for (const entry of step.entries) args.push(String(entry.seq), String(entry.time), entry.key, entry.body);
    const isDone = (await this.#commands.write(bucket, RESTORE_JOURNAL, keys, args, call)) === 1;
    if (isDone && step.isLast) this.#hints.journalChanged(name);
    return isDone;
  }

  #restoreKeys(name: JournalName): { bucket: number; keys: string[] } {
    const { bucket, head, log, restoring } = this.#layout.journal(name);
    const keys = [head, log, restoring, this.#feedKey(bucket), ...this.#listKeys(bucket, name.tenantId)];
    return { bucket, keys: [...keys, ...this.#nameKeys(bucket, name)] };
  }

  /** Starts a journal with a single-step restore, whose entries get the server's time. */
  async begin(name: JournalName, { tombstone, state, entries }: JournalBeginning, call: EngineCall) {
    const { bucket, keys } = this.#restoreKeys(name);
    const args = [tombstone, '0', '', '1', state, '', String(entries.length), name.tenantId, name.name];
    args.push(sha256Hex(`${tombstone}\0begin`).slice(0, LIFE_DIGITS), '0', '');
    for (const [at, { key, body }] of entries.entries()) args.push(String(at + 1), '', key, body);
    const begun = (await this.#commands.write(bucket, RESTORE_JOURNAL, keys, args, call)) as [number, number] | 0;
    if (begun === 0) return null;
    this.#hints.journalChanged(name);
    return { time: begun[0], rewrites: begun[1] };
  }

  async rewrite(name: JournalName, seq: number, body: JournalRewrite, call: EngineCall): Promise<boolean> {
    const { bucket, head, log } = this.#layout.journal(name);
    for (;;) {
      const rewrites = (await this.#commands.read(bucket, ['HGET', head, REWRITES], call)) ?? '0';
      const keys = [head, log, `${log}:copy-${crypto.randomUUID()}`];
      if (body.notice !== undefined) keys.push(this.#feedKey(bucket));
      let answer = '0';
      while (/^\d+$/.test(answer)) {
        const args = [String(rewrites), answer, String(REWRITE_PAGE), String(seq), body.from, body.to, COPY_LIVES_MS];
        if (body.notice !== undefined) args.push(name.tenantId, name.name, body.notice);
        answer = String(await this.#commands.write(bucket, REWRITE, keys, args, call));
      }
      if (answer === 'done' && body.notice !== undefined) this.#hints.journalChanged(name);
      if (answer !== 'again') return answer === 'done';
    }
  }

  async forget(name: JournalName, call: EngineCall): Promise<number> {
    const { bucket, head, log, restoring } = this.#layout.journal(name);
    const keys = [head, log, ...this.#nameKeys(bucket, name)];
    if (isListed(name.space)) keys.push(...this.#listKeys(bucket, name.tenantId), restoring);
    return (await this.#commands.write(bucket, FORGET_JOURNAL, keys, [name.tenantId, name.name], call)) as number;
  }

  tenants(space: JournalSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]> {
    const key = (bucket: number) => this.#layout.journalTenants(bucket, space);
    return distinctLexical(this.#commands, this.#layout.buckets, key, after, limit, call);
  }

  names(
    space: JournalSpace,
    tenantId: string,
    after: string | null,
    limit: number,
    call: EngineCall,
  ): Promise<string[]> {
    const key = (bucket: number) => this.#layout.journals(bucket, space, tenantId);
    return distinctLexical(this.#commands, this.#layout.buckets, key, after, limit, call);
  }

  /**
   * Feed entries contain the tenant of their run, but no index finds them by tenant, so this call reads the whole feed
   * page by page.
   */
  async clear(space: JournalSpace, tenantId: string, call: EngineCall): Promise<void> {
    if (!isListed(space)) return;
    for (let bucket = 0; bucket < this.#layout.buckets; bucket++)
      await removeFromFeed(
        this.#commands,
        { bucket, key: this.#feedKey(bucket), page: CLEAR_PAGE },
        (commits) => commits.filter(({ name }) => name.tenantId === tenantId),
        call,
      );
  }

  async tenantsOf(space: JournalSpace, name: string, call: EngineCall): Promise<string[]> {
    requireListed(space);
    const range: LexicalRange = { from: included(`${name}\0`), to: excluded(`${name}\x01`), order: 'ascending' };
    const pages = await Promise.all(
      Array.from({ length: this.#layout.buckets }, (_, bucket) =>
        readLexical(this.#commands, bucket, this.#layout.shared(bucket, 'run-names'), range, 2, call),
      ),
    );
    return pages.flat().map((member) => member.toString().split('\0')[1]!);
  }

  async list(space: JournalSpace, range: JournalRange, call: EngineCall) {
    requireListed(space);
    const { tenantId, limit } = range;
    const key = (bucket: number) =>
      tenantId === undefined
        ? this.#layout.shared(bucket, 'run-list')
        : this.#layout.tenants(bucket, 'run-list', tenantId);
    const merge = mergeLexical(this.#commands, this.#layout.buckets, key, listRange(range), limit, call);
    const found: { name: JournalName; head: JournalHead }[] = [];
    while (found.length < limit) {
      const wanted = limit - found.length;
      const members = await merge.take(wanted);
      const names = members.map((member) => ({ space, ...parseMember(member.toString(), tenantId) }));
      const heads = await Promise.all(names.map((name) => this.head(name, call)));
      for (const [at, name] of names.entries()) if (heads[at]!.head) found.push({ name, head: heads[at]!.head! });
      if (members.length < wanted) break;
    }
    return found;
  }

  async feed(
    space: JournalSpace,
    after: string | null,
    limit: number,
    call: EngineCall,
    notices = false,
  ): Promise<JournalFeedItem[]> {
    requireListed(space);
    const source = {
      notices,
      buckets: this.#layout.buckets,
      keyOf: (bucket: number) => this.#feedKey(bucket),
      entries: async ({ name, first, count, life }: Commit) => {
        const entries = await this.#readLog(name, first - 1, count, call);
        return entries
          .filter((entry) => lifeOf(entry) === life)
          .map(parseEntry)
          .filter(({ seq }) => seq < first + count);
      },
    };
    return readFeed(this.#commands, source, after, limit, call);
  }

  wait(space: JournalSpace, name: JournalName | null, call: EngineCall): Promise<void> {
    return this.#hints.waitForJournal(space, name, call);
  }

  #feedKey(bucket: number): string {
    return this.#layout.shared(bucket, 'feed');
  }

  /** The indexes that contain a journal from its first commit until it is completely removed. */
  #nameKeys(bucket: number, { space, tenantId }: JournalName): string[] {
    return [this.#layout.journals(bucket, space, tenantId), this.#layout.journalTenants(bucket, space)];
  }

  #listKeys(bucket: number, tenantId: string): string[] {
    return [
      this.#layout.shared(bucket, 'run-list'),
      this.#layout.tenants(bucket, 'run-list', tenantId),
      this.#layout.shared(bucket, 'run-names'),
    ];
  }
}

type Texts = (Buffer | null)[];

/** Only runs are listed and in the feed; agent logs are found through their session or trace. */
function isListed(space: JournalSpace): boolean {
  return space === 'runs';
}

function requireListed(space: JournalSpace): void {
  if (!isListed(space)) throw new TidemarkError('UNSUPPORTED', `On Redis journals of ${space} are not listed`);
}

/** Returns the arguments of a commit, in the order `commit.lua` reads them. */
function commitArguments({ tenantId, name }: JournalName, commit: JournalCommit, keys: number): Encoded {
  const { known, rewrites, follows, state, entries } = commit;
  const count = entries.length;
  const shape = String.fromCharCode(keys, count >> 14, (count >> 7) & 127, count & 127);
  const args = new Encoded().addBytes(shape + known);
  args
    .add(String(rewrites ?? ''))
    .add(follows ?? '')
    .add(state);
  args.add(`${tenantId}\0${name}`).addBytes(`${known + 1} ${count}`);
  for (let at = 0; at < count; at++) args.add(entries[at]!.key).addBytes(String(known + 1 + at));
  for (const { body } of entries) args.add(body);
  return args;
}

/** Parses `seq createdAt updatedAt`, a line end, and the state. */
export function parseHead(bytes: Buffer, rewrites: Buffer | null | undefined): JournalHead {
  const text = bytes.toString();
  const end = text.indexOf('\n');
  const [seq, createdAt, updatedAt] = text.slice(0, end).split(' ').map(Number) as [number, number, number];
  return { seq, createdAt, updatedAt, state: text.slice(end + 1), rewrites: Number(rewrites ?? 0) };
}

/**
 * Decodes an entry. An incomplete entry gets an empty body. An empty body cannot be decoded, so the journal counts as
 * damaged from that entry on.
 */
function parseEntry([id, [, time, , key, , body]]: StreamEntry): JournalEntry {
  const seq = Number.parseInt(id.toString(), 10);
  return { seq, time: Number(time), key: key?.toString() ?? '', body: body?.toString() ?? '' };
}

/** Returns the life of a restored entry. */
function lifeOf([, fields]: StreamEntry): string | undefined {
  return fields[7]?.toString();
}

function listRange({ order, after, tenantId }: JournalRange): LexicalRange {
  const bound = after ? excluded(memberOf(after, tenantId)) : null;
  return order === 'oldest'
    ? { from: bound, to: null, order: 'ascending' }
    : { from: null, to: bound, order: 'descending' };
}

/** The member of a run in a list of runs. The list of a single tenant omits the tenant. */
export function memberOf(run: JournalPosition, tenantId: string | undefined): string {
  const createdAt = String(run.createdAt).padStart(TIME_DIGITS, '0');
  return tenantId === undefined ? `${createdAt}\0${run.tenantId}\0${run.name}` : `${createdAt}\0${run.name}`;
}

function parseMember(member: string, tenantId: string | undefined): { tenantId: string; name: string } {
  const parts = member.split('\0');
  return tenantId === undefined ? { tenantId: parts[1]!, name: parts[2]! } : { tenantId, name: parts[1]! };
}

export function redisJournal(parts: JournalParts): Journal {
  return new RedisJournal(parts);
}
