/**
 * The context of a problem response: whether the caller may learn storage locations, and the id under which hidden
 * details are logged.
 */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Bucket } from '../limits/bucket.ts';
import type { Logger } from '../logger.ts';

/**
 * The number of failures logged at once, and then per second, so that an outage does not fill the disk with one line
 * per request.
 */
const MAX_LINES = 100;
const LINES_PER_SECOND = 20;

/**
 * The key of the exchange on the response itself. An entry in a weak map for every request would cost the garbage
 * collector more than all other work.
 */
const EXCHANGE = Symbol('exchange');
type Exchanged = ServerResponse & { [EXCHANGE]?: Exchange };

/** Logs failures at a limited rate. */
export class FailureLog {
  readonly #logger: Logger;
  readonly #lines = new Bucket(LINES_PER_SECOND, MAX_LINES);
  #dropped = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  write(entry: { requestId: string; route: string; error: unknown }): void {
    if (!this.#lines.take()) {
      this.#dropped++;
      return;
    }
    const dropped = this.#dropped === 0 ? {} : { dropped: this.#dropped };
    this.#dropped = 0;
    this.#logger.error({ event: 'request_failed', ...entry, ...dropped });
  }
}

/** One request and its response. */
export class Exchange {
  readonly #failures: FailureLog;
  #seen: Set<string> | undefined;
  #requestId: string | undefined;
  /** The path pattern of the request's route. */
  route = '';
  /** Whether the caller of the request has the scope `admin`. */
  isByAdmin = false;

  constructor(failures: FailureLog) {
    this.#failures = failures;
  }

  /**
   * Returns the id under which the log has the details of the failure. Each kind of failure is logged once per request,
   * because a bulk request may have many failures.
   */
  noteFailure(kind: string, error: unknown): string {
    this.#requestId ??= randomUUID();
    this.#seen ??= new Set();
    if (!this.#seen.has(kind)) this.#failures.write({ requestId: this.#requestId, route: this.route, error });
    this.#seen.add(kind);
    return this.#requestId;
  }
}

export function beginExchange(response: ServerResponse, failures: FailureLog): Exchange {
  const exchange = new Exchange(failures);
  (response as Exchanged)[EXCHANGE] = exchange;
  return exchange;
}

/** Returns the exchange of a response; `undefined` if the application did not begin it. */
export function exchangeOf(response: ServerResponse | undefined): Exchange | undefined {
  return (response as Exchanged | undefined)?.[EXCHANGE];
}
