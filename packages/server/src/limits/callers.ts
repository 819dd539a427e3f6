/** Limits on each key and tenant, per second and at a time, so that no caller can monopolise the server. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { EVENT_STREAM } from '@tidemark/wire';
import type { Principal } from '../auth.ts';
import { Refusal } from '../http/refusal.ts';
import type { Limits } from '../limits.ts';
import { type Held, type Rate, Use } from './use.ts';

const MANY_USES = 10_000;
const STREAM_PATH = /^\/v1\/stream(\?|$)/;
const WAIT = /[?&]wait=/;

/** The concurrency limits that apply to each type of request. A stream also counts as a wait. */
const HELD_BY: Record<'request' | 'stream' | 'poll', readonly Held[]> = {
  request: ['requestsAtATime'],
  stream: ['streamsAtATime', 'waitsAtATime'],
  poll: ['waitsAtATime'],
};

const SCAN_RATES: readonly Rate[] = ['rowsPerSecond', 'readBytesPerSecond'];

const WORDS: Record<Held | Rate, string> = {
  requestsAtATime: 'requests at a time',
  streamsAtATime: 'live streams at a time',
  waitsAtATime: 'long polls and live streams at a time',
  topicsAtATime: 'topics of live streams at a time',
  requestsPerSecond: 'requests a second',
  bytesPerSecond: 'bytes sent a second',
  rowsPerSecond: 'rows read by lists a second',
  readBytesPerSecond: 'bytes read by lists a second',
};

export class Callers {
  readonly #limits: Limits;
  readonly #onLimited: (limit: string) => void;
  readonly #uses = new Map<string, Use>();

  /** `onLimited` is called with the name of each limit that refuses a request. */
  constructor(limits: Limits, onLimited: (limit: string) => void) {
    this.#limits = limits;
    this.#onLimited = onLimited;
  }

  /** Counts a request until its response is sent, or refuses it. */
  admit(principal: Principal, request: IncomingMessage, response: ServerResponse): void {
    const uses = this.#usesOf(principal);
    const bytes = Number(request.headers['content-length'] ?? 0);
    for (const use of uses) {
      if (!use.rate('requestsPerSecond').take()) throw this.#tooMuch(use, 'requestsPerSecond');
      if (bytes > 0 && use.rate('bytesPerSecond').isEmpty) throw this.#tooMuch(use, 'bytesPerSecond');
    }
    this.#hold(uses, HELD_BY[kindOf(request)], 1, response);
    if (bytes > 0) for (const use of uses) use.rate('bytesPerSecond').charge(bytes);
  }

  /** Counts the topics of a stream until the stream ends, or refuses the stream. */
  admitTopics(principal: Principal, count: number, response: ServerResponse): void {
    this.#hold(this.#usesOf(principal), ['topicsAtATime'], count, response);
  }

  /** Refuses a list while its caller has read too many rows or bytes. */
  admitScan(principal: Principal): void {
    for (const use of this.#usesOf(principal))
      for (const rate of SCAN_RATES) if (use.rate(rate).isEmpty) throw this.#tooMuch(use, rate);
  }

  /** Whether a list of this caller would be refused now. */
  isOverScan(principal: Principal): boolean {
    return this.#usesOf(principal).some((use) => SCAN_RATES.some((rate) => use.rate(rate).isEmpty));
  }

  /** Charges the rows and bytes that a list has read. */
  chargeScan(principal: Principal, rows: number, bytes: number): void {
    for (const use of this.#usesOf(principal)) {
      use.rate('rowsPerSecond').charge(rows);
      use.rate('readBytesPerSecond').charge(bytes);
    }
  }

  #hold(uses: readonly Use[], kinds: readonly Held[], count: number, response: ServerResponse): void {
    for (const use of uses)
      for (const kind of kinds) if (use.held[kind] + count > use.limits[kind]) throw this.#tooMuch(use, kind);
    for (const { held } of uses) for (const kind of kinds) held[kind] += count;
    response.once('close', () => {
      for (const { held } of uses) for (const kind of kinds) held[kind] -= count;
    });
  }

  /** Keys of different tenants may have the same id, because issuers choose the subjects of tokens. */
  #usesOf({ id, tenantId }: Principal): Use[] {
    if (tenantId === null) return [this.#useOf(`operator ${id}`, '')];
    return [this.#useOf(`key ${tenantId}\0${id}`, ''), this.#useOf(`tenant ${tenantId}`, 'tenant.')];
  }

  #useOf(name: string, prefix: '' | 'tenant.'): Use {
    let use = this.#uses.get(name);
    if (!use) {
      if (this.#uses.size >= MANY_USES) this.#forgetIdle();
      use = new Use(prefix === '' ? this.#limits : this.#limits.tenant, prefix);
      this.#uses.set(name, use);
    }
    return use;
  }

  #forgetIdle(): void {
    for (const [name, use] of this.#uses) if (use.isIdle) this.#uses.delete(name);
  }

  #tooMuch(use: Use, kind: Held | Rate): Refusal {
    const name = use.prefix + kind;
    const rule = `at most ${use.limits[kind]} ${WORDS[kind]}`;
    const seconds = kind.endsWith('PerSecond') ? use.rate(kind as Rate).secondsUntilFilled : 1;
    this.#onLimited(name);
    const whose = use.prefix === '' ? 'A key' : 'All keys of a tenant together';
    return new Refusal(
      429,
      'OVERLOADED',
      `${whose} may make ${rule} (${name})`,
      { field: name, rule },
      { 'retry-after': String(seconds) },
    );
  }
}

function kindOf({ headers, url, method }: IncomingMessage): 'request' | 'stream' | 'poll' {
  if (method !== 'GET') return 'request';
  if (headers.accept?.includes(EVENT_STREAM) === true || STREAM_PATH.test(url!)) return 'stream';
  return WAIT.test(url!) ? 'poll' : 'request';
}
