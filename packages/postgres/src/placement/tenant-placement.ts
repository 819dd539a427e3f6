/** Lists the placement of tenants, places new tenants and moves tenants between servers. */
import { invalidArgument, type Store, TidemarkError } from '@tidemark/core';
import { checkId, cursorKey, pageOf } from '@tidemark/core/engine';
import type { Move } from './directory.ts';
import { Mover, MoverLease } from './mover.ts';
import { type MoveOptions, type OpenMove, type PlacedTenant, setPlacement } from './placement.ts';
import type { Placements } from './placements.ts';
import type { PlacedServer } from './servers.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
/** Servers for a mover, with separate connections. */
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

  setPlacement(store, {
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
