/**
 * Security events for operators: wrong keys, refusals, limits, revocations and admin actions. The number of lines is
 * limited by kind and address, so that an attacker cannot flood the log. Omitted lines are counted. The log never
 * contains secrets.
 */
import type { IncomingMessage } from 'node:http';
import { Bucket } from './limits/bucket.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

export type SecurityKind =
  | 'wrong_key'
  | 'refused_token'
  | 'refused_host'
  | 'refused_scope'
  | 'refused_tenant'
  | 'limit'
  | 'credential_ended'
  | 'admin_action'
  | 'admin_refused';

/** Ids and names. They are truncated, because callers choose some of them. */
export interface SecurityDetails {
  by?: string;
  tenant?: string | null;
  /** The path pattern of a route. */
  route?: string;
  /** The missing scope, or the limit that was exceeded. */
  reason?: string;
  /** The number of requests that the event concerns. */
  requests?: number;
}

/** The limit on lines of one kind per address: this many at once, then one every ten seconds. */
const AT_ONCE = 10;
const PER_SECOND = 0.1;
/** The limit on lines of one kind for all addresses together. */
const KIND_AT_ONCE = 100;
const KIND_PER_SECOND = 5;
const MAX_SOURCES = 10_000;
const FLUSH_MS = 60_000;
const MAX_TEXT = 200;

interface Source {
  kind: SecurityKind;
  address: string;
  bucket: Bucket;
  leftOut: number;
}

export class SecurityLog {
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #sources = new Map<string, Source>();
  readonly #kinds = new Map<SecurityKind, Source>();
  readonly #addressOf: (request: IncomingMessage) => string;
  readonly #timer: NodeJS.Timeout;

  constructor(logger: Logger, metrics: Metrics, addressOf: (request: IncomingMessage) => string) {
    this.#logger = logger;
    this.#metrics = metrics;
    this.#addressOf = addressOf;
    this.#timer = setInterval(() => this.flush(), FLUSH_MS).unref();
  }

  /**
   * Counts an event, and logs it unless too many similar events were logged. `request` is `null` for events without a
   * request.
   */
  note(kind: SecurityKind, request: IncomingMessage | null, details: SecurityDetails = {}): void {
    this.#metrics.count('security', { kind });
    const address = request ? this.#addressOf(request) : 'none';
    const source = this.#sourceOf(kind, address);
    const ofKind = this.#kindOf(kind);
    if (!source.bucket.take()) {
      source.leftOut++;
      return;
    }
    if (!ofKind.bucket.take()) {
      ofKind.leftOut++;
      return;
    }
    const leftOut = source.leftOut > 0 ? { leftOut: source.leftOut } : {};
    source.leftOut = 0;
    this.#logger.info({ event: 'security', kind, address: cut(address), ...cutDetails(details), ...leftOut });
  }

  /** Logs the number of lines omitted since the last report. */
  flush(): void {
    for (const source of [...this.#sources.values(), ...this.#kinds.values()]) this.#logLeftOut(source);
    for (const [name, { bucket }] of this.#sources) if (bucket.isFull) this.#sources.delete(name);
  }

  close(): void {
    clearInterval(this.#timer);
    this.flush();
  }

  #logLeftOut(source: Source): void {
    if (source.leftOut === 0) return;
    const { kind, address, leftOut } = source;
    source.leftOut = 0;
    this.#logger.info({ event: 'security_left_out', kind, address: cut(address), leftOut });
  }

  #sourceOf(kind: SecurityKind, address: string): Source {
    const name = `${kind} ${address}`;
    let source = this.#sources.get(name);
    if (!source) {
      source = { kind, address, bucket: new Bucket(PER_SECOND, AT_ONCE), leftOut: 0 };
      this.#sources.set(name, source);
      if (this.#sources.size > MAX_SOURCES) this.#forgetFirst();
    }
    return source;
  }

  #forgetFirst(): void {
    const [name, source] = this.#sources.entries().next().value!;
    this.#logLeftOut(source);
    this.#sources.delete(name);
  }

  #kindOf(kind: SecurityKind): Source {
    let ofKind = this.#kinds.get(kind);
    if (!ofKind) {
      ofKind = { kind, address: 'all', bucket: new Bucket(KIND_PER_SECOND, KIND_AT_ONCE), leftOut: 0 };
      this.#kinds.set(kind, ofKind);
    }
    return ofKind;
  }
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}

function cutDetails(details: SecurityDetails): SecurityDetails {
  const entries = Object.entries(details).map(([name, it]) => [name, typeof it === 'string' ? cut(it) : it]);
  return Object.fromEntries(entries) as SecurityDetails;
}
