/**
 * An in-memory index of the journals of a stream in order of creation, for lists. It follows the stream and takes a few
 * hundred bytes per journal.
 */
import {
  type EngineCall,
  firstAfter,
  type JournalHead,
  type JournalName,
  type JournalRange,
  type JournalSpace,
  SortedKeys,
} from '@tidemark/core/engine';
import type { Link } from '../connection/link.ts';
import { HEADER } from '../messages/headers.ts';
import type { Messages, StoredMessage } from '../messages/messages.ts';
import { Follower } from '../streams/consumers.ts';
import { Mirror } from '../streams/mirror.ts';
import { nameOfSubject } from '../streams/subjects.ts';
import { headAfter, readCommitHead, readState } from './commits.ts';
import { idOf } from './journal-names.ts';
import { REMOVED } from './journal-reader.ts';

interface Listed {
  name: JournalName;
  head: JournalHead;
  /** Stream sequence of the message whose state is too large for headers and is read on demand. */
  stateSeq: number | null;
}

/** Reads the state of a commit that does not fit in the headers. */
export type ReadHead = (name: JournalName, call: EngineCall) => Promise<{ head: JournalHead | null }>;

export class Heads {
  readonly #link: Link;
  readonly #messages: Messages;
  readonly #mirror: Mirror;
  readonly #announce: (name: JournalName) => void;
  readonly #readHead: ReadHead;
  readonly #listed = new Map<string, Listed>();
  /** `createdAt`, tenant and name of each journal, in the order of lists. */
  readonly #order = new SortedKeys();
  /** Removed journals that refuse later commits. */
  readonly #tombstones = new Map<string, JournalName>();
  readonly #tenants = new Map<string, Set<string>>();
  #listener: Follower | null = null;

  constructor(link: Link, messages: Messages, announce: (name: JournalName) => void, readHead: ReadHead) {
    this.#link = link;
    this.#messages = messages;
    this.#announce = announce;
    this.#readHead = readHead;
    this.#mirror = new Mirror(
      link,
      messages,
      (message) => this.#take(message),
      () => this.#forget(),
    );
  }

  /** Starts to follow commits. */
  listen(): void {
    if (this.#mirror.started) return;
    this.#listener ??= new Follower(this.#link, {
      messages: this.#messages,
      filter: this.#messages.all,
      start: 'new',
      headersOnly: true,
      onMessage: (message) => this.#announce(this.#nameOf(message)),
    });
  }

  async tenantsOf(name: string, call: EngineCall): Promise<string[]> {
    await this.#mirror.caughtUp(call);
    return [...(this.#tenants.get(name) ?? [])].slice(0, 2);
  }

  /** Returns tenants that have a journal or the tombstone of a journal. */
  async tenants(space: JournalSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]> {
    await this.#mirror.caughtUp(call);
    const names = this.#known(space).map(({ tenantId }) => tenantId);
    return firstAfter(names, after, limit);
  }

  /** Returns the journals and tombstones of a tenant. */
  async names(
    space: JournalSpace,
    tenantId: string,
    after: string | null,
    limit: number,
    call: EngineCall,
  ): Promise<string[]> {
    await this.#mirror.caughtUp(call);
    const own = this.#known(space).filter((name) => name.tenantId === tenantId);
    return firstAfter(
      own.map(({ name }) => name),
      after,
      limit,
    );
  }

  #known(space: JournalSpace): JournalName[] {
    const listed = Array.from(this.#listed.values(), ({ name }) => name);
    return [...listed, ...this.#tombstones.values()].filter((name) => name.space === space);
  }

  async list(
    space: JournalSpace,
    range: JournalRange,
    call: EngineCall,
  ): Promise<{ name: JournalName; head: JournalHead }[]> {
    await this.#mirror.caughtUp(call);
    const found: Listed[] = [];
    for (const key of this.#walk(range)) {
      const listed = this.#listed.get(space + key.slice(TIME_DIGITS));
      if (!listed) continue;
      if (range.tenantId === undefined || listed.name.tenantId === range.tenantId) found.push(listed);
      if (found.length === range.limit) break;
    }
    return Promise.all(found.map((listed) => this.#whole(listed, call)));
  }

  *#walk({ order, after }: JournalRange): Generator<string> {
    const start = after && sortKey(after.createdAt, after.tenantId, after.name);
    if (order === 'newest') yield* this.#order.below(start);
    else for (const key of this.#order.from(start ?? '')) if (key !== start) yield key;
  }

  stop(): void {
    this.#mirror.stop();
    this.#listener?.stop();
  }

  async #whole({ name, head, stateSeq }: Listed, call: EngineCall): Promise<{ name: JournalName; head: JournalHead }> {
    const current = stateSeq === null ? null : (await this.#readHead(name, call)).head;
    return { name: { ...name }, head: { ...(current ?? head) } };
  }

  #take(message: StoredMessage): void {
    const name = this.#nameOf(message);
    const id = idOf(name);
    const commit = readCommitHead(message.headers);
    const known = this.#listed.get(id);
    const end = message.headers[HEADER.end];
    if (end !== undefined && end !== REMOVED) this.#tombstones.set(id, name);
    else this.#tombstones.delete(id);
    this.#nameTenant(name, commit !== null || message.headers[HEADER.kept] !== undefined);
    if (known && (!commit || known.head.createdAt !== commit.createdAt)) this.#drop(id, known);
    if (commit) {
      const state = readState(message.headers);
      const head = headAfter(commit, state ?? '');
      const listed = { name, head, stateSeq: state === null ? message.seq : null };
      if (!this.#listed.has(id)) this.#add(listed);
      this.#listed.set(id, listed);
    }
    this.#announce(name);
  }

  #nameOf({ subject, headers }: StoredMessage): JournalName {
    return nameOfSubject(this.#messages.subject, subject, headers[HEADER.name]) as JournalName;
  }

  #add({ name, head }: Listed): void {
    this.#order.add(sortKey(head.createdAt, name.tenantId, name.name));
  }

  #drop(id: string, { name, head }: Listed): void {
    this.#listed.delete(id);
    this.#order.delete(sortKey(head.createdAt, name.tenantId, name.name));
  }

  #nameTenant({ tenantId, name }: JournalName, isNamed: boolean): void {
    const tenants = this.#tenants.get(name) ?? new Set();
    if (isNamed) this.#tenants.set(name, tenants.add(tenantId));
    else tenants.delete(tenantId);
    if (tenants.size === 0) this.#tenants.delete(name);
  }

  #forget(): void {
    for (const [id, listed] of this.#listed) this.#drop(id, listed);
    this.#tombstones.clear();
    this.#tenants.clear();
  }
}

const TIME_DIGITS = 16;

/** Returns the key that sorts a journal by time, then tenant, then name: ids contain no NUL, and NUL sorts first. */
function sortKey(createdAt: number, tenantId: string, name: string): string {
  return `${String(createdAt).padStart(TIME_DIGITS, '0')}\0${tenantId}\0${name}`;
}
