/**
 * Sends requests to one bucket, each with a time limit, and retries them for a while. The AWS SDK signs and encodes the
 * requests. The SDK's own retries are off, because they hide whether an earlier attempt may have succeeded.
 */
import { S3Client } from '@aws-sdk/client-s3';
import { TidemarkError } from '@tidemark/core';
import { type EngineCall, sleep } from '@tidemark/core/engine';
import { type Failure, failureOf, isExpired, isRefusedForNow, isUnsettled, type Purpose, translate } from './errors.ts';
import type { Settings } from './options.ts';

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 2_000;
const CONNECT_WITHIN_MS = 5_000;

type Attempt<T> = (client: S3Client, options: { abortSignal: AbortSignal }) => Promise<T>;

/** A request: the permission that it needs, the key that it concerns, and whether it changes anything. */
export interface Request {
  permission: string;
  key?: string;
  kind: 'read' | 'write';
}

/** The result of a request that succeeded, perhaps after retries. */
export interface Answer<T> {
  value: T;
  attempts: number;
}

/** Thrown when S3 refuses a request for a reason that the caller handles. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly failure: Failure;
  /** Whether an earlier attempt of the same request may have succeeded. */
  readonly mayHaveWorked: boolean;

  constructor(failure: Failure, mayHaveWorked: boolean) {
    super(failure.message);
    this.failure = failure;
    this.mayHaveWorked = mayHaveWorked;
  }
}

export class Connection {
  readonly settings: Settings;
  #client: S3Client;

  constructor(settings: Settings) {
    this.settings = settings;
    this.#client = clientOf(settings);
  }

  get location(): string {
    return `s3://${this.settings.bucket}/${this.settings.prefix}`.replace(/\/$/, '');
  }

  get client(): S3Client {
    return this.#client;
  }

  keyOf(name: string): string {
    return this.settings.prefix + name;
  }

  /**
   * Sends a request until it succeeds, fails permanently, or runs out of time. Rejects with `Refused` for the given
   * codes and status codes, and otherwise with a `TidemarkError`: `OUTCOME_UNKNOWN` if a write may have succeeded.
   */
  async send<T>(
    request: Request,
    attempt: Attempt<T>,
    call: EngineCall,
    handled: readonly (string | number)[] = [],
  ): Promise<Answer<T>> {
    const deadline = Math.min(call.deadline ?? Number.POSITIVE_INFINITY, Date.now() + this.settings.retryForMs);
    let mayHaveWorked = false;
    let hasRenewed = false;
    for (let attempts = 1; ; attempts++) {
      if (call.signal?.aborted || isPast(call.deadline)) throw this.#gaveUp(request, call, mayHaveWorked);
      const started = this.#client;
      try {
        return { value: await attempt(started, { abortSignal: this.#limitOf(call) }), attempts };
      } catch (error) {
        const failure = failureOf(error);
        if (handled.includes(failure.code) || (failure.status !== null && handled.includes(failure.status)))
          throw new Refused(failure, mayHaveWorked);
        const unsettled = isUnsettled(failure);
        if (request.kind === 'write' && unsettled) mayHaveWorked = true;
        const mayRenew: boolean = isExpired(failure) && !hasRenewed;
        const delay = mayRenew ? 0 : delayAfter(attempts);
        const mayRetry = mayRenew || unsettled || isRefusedForNow(failure);
        if (!mayRetry || call.signal?.aborted || Date.now() + delay >= deadline)
          throw call.signal?.aborted || isPast(call.deadline)
            ? this.#gaveUp(request, call, mayHaveWorked, error)
            : translate(error, this.#purposeOf(request), mayHaveWorked);
        if (mayRenew) this.#renew(started);
        hasRenewed ||= mayRenew;
        await sleep(delay, call.signal);
      }
    }
  }

  /** Reads the credentials again, because the SDK caches credentials until they expire by its own clock. */
  #renew(used: S3Client): void {
    if (this.#client !== used) return;
    this.#client = clientOf(this.settings);
  }

  #limitOf({ signal, deadline }: EngineCall): AbortSignal {
    const { requestTimeoutMs } = this.settings;
    const within = deadline === undefined ? requestTimeoutMs : Math.min(requestTimeoutMs, deadline - Date.now());
    const limit = AbortSignal.timeout(Math.max(1, Math.ceil(within)));
    return signal ? AbortSignal.any([signal, limit]) : limit;
  }

  #purposeOf({ permission, key }: Request): Purpose {
    const { bucket } = this.settings;
    return { permission, bucket, location: key === undefined ? `s3://${bucket}` : `s3://${bucket}/${key}` };
  }

  #gaveUp(request: Request, call: EngineCall, mayHaveWorked: boolean, cause?: unknown): TidemarkError {
    const { location } = this.#purposeOf(request);
    if (mayHaveWorked)
      return new TidemarkError('OUTCOME_UNKNOWN', `The object ${location} may have been stored`, { cause });
    if (call.signal?.aborted) return new TidemarkError('ABORTED', `The request for ${location} was aborted`, { cause });
    return new TidemarkError('TIMEOUT', `S3 did not answer in time about ${location}`, { cause });
  }

  close(): void {
    this.#client.destroy();
  }
}

function clientOf(settings: Settings): S3Client {
  const { endpoint, region, credentials, pathStyle, requestTimeoutMs } = settings;
  return new S3Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined && endpoint === undefined ? {} : { region: region ?? 'us-east-1' }),
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle: pathStyle,
    maxAttempts: 1,
    // The SDK's default adds trailers to uploads, which servers other than AWS refuse. Uploads carry an MD5 and a
    // SHA-256 instead.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: Math.min(CONNECT_WITHIN_MS, requestTimeoutMs) },
  });
}

function isPast(deadline: number | undefined): boolean {
  return deadline !== undefined && Date.now() >= deadline;
}

function delayAfter(attempts: number): number {
  const longest = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempts - 1, 10));
  return longest * (0.5 + Math.random() / 2);
}
