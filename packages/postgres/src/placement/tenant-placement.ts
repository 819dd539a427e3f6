/** The placement of tenants, for operators: lists it, places new tenants and moves tenants between servers. */
import { invalidArgument, type Page, type PageOptions, type Store, TidemarkError } from '@tidemark/core';
import { checkId, cursorKey, engineOf, pageOf } from '@tidemark/core/engine';
import type { Move } from './directory.ts';
import { type MoveOptions, type MoveReport, Mover, MoverLease } from './mover.ts';
import type { Placements } from './placements.ts';
import type { PlacedServer } from './servers.ts';

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
   * Moves a tenant to another server while others read and write. Its writers fail with `UNAVAILABLE` and
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

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
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

/** Servers for a mover, with connections of their own. */
export interface MoverServers {
  servers: ReadonlyMap<number, PlacedServer>;
  close(): Promise<void>;
}

export function registerPlacement(
  store: Store,
  servers: readonly PlacedServer[],
  placements: Placements,
  openForMover: (ordinals: readonly number[]) => Promise<MoverServers>,
): void {
  const { directory } = placements;
  const nameOf = (ordinal: number) => servers.find((server) => server.ordinal === ordinal)?.name ?? String(ordinal);
  const ordinalOf = (name: string) => {
    const server = servers.find((it) => it.name === name);
    if (!server) throw invalidArgument('server', `one of ${servers.map((it) => it.name).join(', ')}`, name);
    return server.ordinal;
  };
  const findOpen = async (tenantId: string) => (await directory.openMoves()).find(({ tenant }) => tenant === tenantId);

  const carryOut = async <T>(
    lease: MoverLease,
    move: Move,
    options: MoveOptions,
    work: (mover: Mover) => Promise<T>,
  ) => {
    try {
      const { servers: own, close } = await openForMover([move.from, move.to]);
      try {
        return await work(new Mover(own, directory, lease, move, options));
      } finally {
        await close();
      }
    } finally {
      await lease.end();
      await placements.refresh().catch(() => {});
    }
  };

  placed.set(engineOf(store)!.runs!, {
    servers: servers.map(({ name }) => name),
    async list(options) {
      const limit = options?.limit ?? DEFAULT_PAGE;
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE)
        throw invalidArgument('limit', `an integer from 1 to ${MAX_PAGE}`, limit);
      const rows = await directory.list(cursorKey('placements', options?.cursor), limit + 1);
      const open = new Map((await directory.openMoves()).map((move) => [move.tenant, move]));
      const itemOf = ({ tenant, server }: (typeof rows)[number]): PlacedTenant => {
        const move = open.get(tenant);
        return { tenantId: tenant, server: nameOf(server), ...(move && { move: openMove(move, nameOf) }) };
      };
      return pageOf('placements', rows, limit, ({ tenant }) => tenant, itemOf);
    },
    async place(tenantId, server) {
      checkId(tenantId, 'tenantId');
      const home = await directory.place(tenantId, ordinalOf(server));
      if (home.server !== ordinalOf(server))
        throw new TidemarkError('CONFLICT', `Tenant ${tenantId} is on ${nameOf(home.server)}; move it instead`, {
          current: nameOf(home.server),
        });
    },
    async move(tenantId, server, options = {}) {
      checkId(tenantId, 'tenantId');
      const to = ordinalOf(server);
      const open = await findOpen(tenantId);
      if (open && open.to !== to)
        throw new TidemarkError(
          'CONFLICT',
          `A move of tenant ${tenantId} to ${nameOf(open.to)} is unfinished; finish or undo it first`,
          { current: nameOf(open.to) },
        );
      const home = (await directory.homesOf([tenantId])).get(tenantId);
      if (!home) throw new TidemarkError('NOT_FOUND', `Tenant ${tenantId} has no server yet; place it instead`);
      if (!open && home.server === to)
        return { tenantId, from: server, to: server, events: 0, rows: 0, runs: 0, pausedMs: 0 };
      const [lease, move] = open
        ? await MoverLease.takeOver(directory, open.no)
        : await MoverLease.begin(directory, tenantId, home.server, to);
      return carryOut(lease, move, options, (mover) => mover.run());
    },
    async undoMove(tenantId) {
      const open = await findOpen(tenantId);
      if (!open) throw new TidemarkError('NOT_FOUND', `No move of tenant ${tenantId} is unfinished`);
      const [lease, move] = await MoverLease.takeOver(directory, open.no);
      await carryOut(lease, move, {}, (mover) => mover.undo());
    },
  });
}

function openMove({ from, to, phase, startedAt }: Move, nameOf: (ordinal: number) => string): OpenMove {
  return {
    from: nameOf(from),
    to: nameOf(to),
    phase: phase as OpenMove['phase'],
    startedAt: new Date(startedAt).toISOString(),
  };
}
