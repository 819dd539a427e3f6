/**
 * The placement of tenants as operators see it. Its types need no database driver, so that they compile where none is
 * installed.
 */
import type { Page, PageOptions, Store } from '@tidemark/core';
import { engineOf } from '@tidemark/core/engine';

/** A tenant and the name of its server. */
export interface PlacedTenant {
  tenantId: string;
  server: string;
  /** The move that is under way. */
  move?: OpenMove;
}

/** A move that is neither done nor undone. */
export interface OpenMove {
  from: string;
  to: string;
  /** In `switched`, the tenant is on the new server and its old copy is being removed. */
  phase: 'copying' | 'switching' | 'switched';
  /** When it began. */
  startedAt: string;
}

/**
 * The placement of tenants on the servers of a store. `placementOf` returns it.
 *
 * Every call can fail with `UNAVAILABLE` when a server cannot be reached.
 */
export interface TenantPlacement {
  /** The names of the servers. */
  readonly servers: readonly string[];
  /** Returns a page of the tenants with their servers, in byte order: 1 to 1 000 per page, default 100. */
  list(options?: PageOptions): Promise<Page<PlacedTenant>>;
  /**
   * Places a tenant that has no server yet.
   *
   * @throws `CONFLICT` if it is on another server; `current` is its name.
   */
  place(tenantId: string, server: string): Promise<void>;
  /**
   * Moves a tenant to another server while it is read and written. Its writers fail with `UNAVAILABLE` and
   * `retryAfterMs` for a moment. Every copied run and row is verified before the tenant is switched.
   *
   * Continues a move to the same server that was interrupted.
   *
   * @throws `NOT_FOUND` if the tenant has no server. `CONFLICT` if another process is moving it, or a move to another
   *   server is unfinished. `CORRUPT_EVENT` if a copy differs. `TIMEOUT` if too much changes while the tenant is frozen.
   */
  move(tenantId: string, server: string, options?: MoveOptions): Promise<MoveReport>;
  /**
   * Undoes an unfinished move: the tenant stays on its server, and the copy is removed.
   *
   * @throws `NOT_FOUND` if no move of the tenant is unfinished. `CONFLICT` if another process is moving it, or if the
   *   tenant has been switched already.
   */
  undoMove(tenantId: string): Promise<void>;
}

/** Options of a move. */
export interface MoveOptions {
  signal?: AbortSignal;
  /** Called after each step. */
  onProgress?: (progress: MoveProgress) => void;
  /**
   * The longest time for which writes of the tenant are rejected without interruption, in milliseconds. Default 5 000.
   */
  maxPauseMs?: number;
  /**
   * How long the copy on the old server is kept after the switch, in milliseconds, for watches that compare. Default
   * 5 000.
   */
  keepOldMs?: number;
}

/** The progress of a move. */
export interface MoveProgress {
  step: 'copying' | 'verifying' | 'switching' | 'removing' | 'done';
  /** The number of rows and events that were copied so far. */
  copied: number;
}

/** The result of a move. */
export interface MoveReport {
  tenantId: string;
  from: string;
  to: string;
  /** The number of events that were copied, and of other rows. */
  events: number;
  rows: number;
  runs: number;
  /** How long writes of the tenant were rejected, in milliseconds. */
  pausedMs: number;
}

/** By the run engine, which stores that are made from this one share. */
const placed = new WeakMap<object, TenantPlacement>();

/**
 * Returns the placement of a store that was opened with `servers`, or `null` for any other store.
 *
 * @example
 * ```ts
 * const store = await postgresStore({ url: 'postgres://one/app', servers: { north: 'postgres://two/app' } });
 * const { pausedMs } = await placementOf(store)!.move('acme', 'north');
 * ```
 */
export function placementOf(store: Store): TenantPlacement | null {
  const runs = engineOf(store)?.runs;
  return (runs && placed.get(runs)) ?? null;
}

/** Sets the placement that `placementOf` returns for a store and for all stores made from it. */
export function setPlacement(store: Store, placement: TenantPlacement): void {
  placed.set(engineOf(store)!.runs!, placement);
}
