/**
 * State shared by all parts of an open store: clock, randomness, limits, and the bounds of every call (GEN-3, GEN-8).
 */

import { checkInteger } from '../checks/numbers.ts';
import { Payloads } from '../codec/payloads.ts';
import type { StoreAlert } from '../contracts/alerts.ts';
import type { ArtifactRetention } from '../contracts/artifacts.ts';
import type { CallArgs, StoreDomain, WriteMethod } from '../contracts/calls.ts';
import type { PayloadCodec } from '../contracts/codec.ts';
import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { StoreLimits, StoreOptions } from '../contracts/store.ts';
import type { WriteArgs } from '../contracts/writes.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import { timeLimitOf } from './call-start.ts';
import { DeadlineWatch } from './deadlines.ts';
import { HeadMemory, headKey } from './head-memory.ts';
import { type WriteCall, writeCall } from './writes.ts';

const DEFAULT_LIMITS: StoreLimits = {
  eventPayloadBytes: 512 * 1024,
  documentBytes: 4 * 1024 * 1024,
  fieldBytes: 512 * 1024,
};

export const DEFAULT_RETENTION: ArtifactRetention = {
  ttlMs: 3_600_000,
  maxArtifactBytes: 50 * 1024 * 1024,
  maxSessionBytes: 500 * 1024 * 1024,
  maxTraceBytes: 100 * 1024 * 1024,
  maxTraceCount: 100,
  maxSessionCount: 1000,
  // Unlimited by default, because a limit evicts from existing stores and requires counting all of a tenant's
  // references.
  maxUnscopedBytes: Number.POSITIVE_INFINITY,
  maxUnscopedCount: Number.POSITIVE_INFINITY,
  strategy: 'lru',
};

const DEFAULT_TIMEOUT_MS = 5_000;

/** Throws for an invalid codec instead of ignoring it: ignoring it would store payloads in plain text. */
function checkCodec(codec: PayloadCodec | undefined): PayloadCodec | null {
  if (codec === undefined) return null;
  if (typeof codec?.encode === 'function' && typeof codec.decode === 'function') return codec;
  throw invalidArgument('codec', 'a payload codec, such as encryption(…) returns', codec);
}

type Decode<T, Answer> = (value: T) => Answer | Promise<Answer>;

export class StoreContext {
  readonly clock: () => number;
  readonly random: (length: number) => Uint8Array;
  /** Returns a version 4 UUID. */
  readonly uuid: () => string;
  readonly limits: StoreLimits;
  readonly retention: ArtifactRetention;
  readonly payloads: Payloads;
  readonly timeoutMs: number;
  private readonly onAlert: StoreOptions['onAlert'];
  readonly deadlines = new DeadlineWatch();
  readonly heads = new HeadMemory();
  /** Whether this process has seen a run that may expire. Shared by all views. */
  readonly expiry = { isUsed: false };
  /** The tenant of this context's view; `null` for the operator's view (GEN-10). */
  readonly tenantId: string | null = null;
  readonly closing = new AbortController();

  constructor(options: StoreOptions = {}) {
    this.clock = options.clock ?? Date.now;
    this.random = options.random ?? ((length) => globalThis.crypto.getRandomValues(new Uint8Array(length)));
    // Draws randomness for many ids at once, which takes a tenth of the time.
    this.uuid = options.random ? () => uuidOf(this.random(16)) : () => globalThis.crypto.randomUUID();
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.retention = { ...DEFAULT_RETENTION, ...options.artifacts };
    this.payloads = new Payloads(checkCodec(options.codec));
    this.timeoutMs = checkInteger(options.timeoutMs ?? DEFAULT_TIMEOUT_MS, 'timeoutMs', 1);
    if (options.onAlert !== undefined && typeof options.onAlert !== 'function')
      throw invalidArgument('onAlert', 'a function', options.onAlert);
    this.onAlert = options.onAlert;
  }

  /** Whether alerts have a listener. Without one, callers need not remember data that only alerts use. */
  get hasListener(): boolean {
    return this.onAlert !== undefined;
  }

  /** Passes an alert to `onAlert`. */
  alert(alert: StoreAlert): void {
    try {
      this.onAlert?.(alert);
    } catch {
      // A failing listener must not fail the call that raised the alert.
    }
  }

  /** Reports that a run lost events, once per loss. */
  reportWentBack(run: RunKey, knownSeq: number, currentSeq: number): void {
    const { tenantId, runId } = run;
    if (this.onAlert && this.heads.isNewLoss(headKey(run), { knownSeq, currentSeq }))
      this.alert({ code: 'HEAD_WENT_BACK', severity: 'P1', tenantId, runId, knownSeq, currentSeq });
  }

  /** Returns this context for a view confined to one tenant. Everything but the tenant is shared. */
  confinedTo(tenantId: string): StoreContext {
    return Object.create(this, { tenantId: { value: tenantId, enumerable: true } }) as StoreContext;
  }

  /** Returns this context with another codec. Everything else is shared. */
  encodingBy(codec: PayloadCodec): StoreContext {
    return Object.create(this, { payloads: { value: new Payloads(codec), enumerable: true } }) as StoreContext;
  }

  /** Returns this context with other artifact limits. Everything else is shared. */
  retaining(change: Partial<ArtifactRetention>): StoreContext {
    const retention = { ...this.retention, ...change };
    return Object.create(this, { retention: { value: retention, enumerable: true } }) as StoreContext;
  }

  /** Aborts when the store is closed, which ends live iterators. */
  get closed(): AbortSignal {
    return this.closing.signal;
  }

  close(): void {
    this.closing.abort();
  }

  /**
   * Runs a bounded read. Past its limit it fails with `TIMEOUT`; nothing has changed. `decode` makes the answer from the
   * result of the engine.
   */
  read<T, Answer = T>(
    options: CallOptions | undefined,
    run: (call: EngineCall) => Promise<T>,
    decode?: Decode<T, Answer>,
  ): Promise<Answer> {
    return this.bounded(options, run, null, decode);
  }

  /** Runs a bounded write. Past its limit it fails with `OUTCOME_UNKNOWN`, which carries the write to retry. */
  write<T, Answer = T>(
    options: CallOptions | undefined,
    write: WriteCall,
    run: (call: EngineCall) => Promise<T>,
    decode?: Decode<T, Answer>,
  ): Promise<Answer> {
    return this.bounded(options, run, write, decode);
  }

  /** Describes a write of this view, including the ids generated for it. */
  writeOf<D extends StoreDomain, M extends WriteMethod<D>>(
    domain: D,
    method: M,
    args: CallArgs<D, M> | WriteArgs<D, M>,
  ): WriteCall {
    return writeCall(this.tenantId, domain, method, args);
  }

  /**
   * Checks and starts a call. Throws when the store is closed, the signal is already aborted, or an option is invalid.
   */
  startCall(options: CallOptions | undefined): EngineCall {
    const timeoutMs = timeLimitOf(options, this.closed, this.timeoutMs);
    return { signal: options?.signal, deadline: Date.now() + timeoutMs, tenantId: this.tenantId };
  }

  /**
   * Every call passes here, so it creates as few promises and closures as possible. Not a `#method`: views made by
   * `confinedTo` would lack it.
   */
  private bounded<T, Answer>(
    options: CallOptions | undefined,
    run: (call: EngineCall) => Promise<T>,
    write: WriteCall | null,
    decode: Decode<T, Answer> | undefined,
  ): Promise<Answer> {
    try {
      const call = this.startCall(options);
      return this.deadlines.race(run(call), call, write, decode);
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

/** Formats 16 random bytes as a version 4 UUID. */
function uuidOf(bytes: Uint8Array): string {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
