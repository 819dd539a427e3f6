/** `tenants servers`, `tenants place` and `tenants move`: the placement of tenants on several PostgreSQL servers. */
import { type Store, TidemarkError } from '@tidemark/core';
import { missingPackage } from '@tidemark/core/engine';
import type { PlacedTenant, TenantPlacement } from '@tidemark/postgres';
import { at, state } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { one, toggle } from '../options.ts';
import type { View } from '../output.ts';
import { limitOption, upTo } from '../pages.ts';

const PLACED: View<PlacedTenant> = {
  columns: [
    { title: 'TENANT', of: ({ tenantId }) => tenantId },
    { title: 'SERVER', of: ({ server }) => server },
    { title: 'MOVE', of: ({ move }) => (move ? state(move.phase) : null) },
    { title: 'TO', of: ({ move }) => move?.to ?? null },
    { title: 'SINCE', of: ({ move }) => at(move?.startedAt ?? null) },
  ],
  id: ({ tenantId }) => tenantId,
};

async function placementOf(store: Store): Promise<TenantPlacement> {
  const postgres = await import('@tidemark/postgres').catch((cause) => {
    throw missingPackage(cause, '@tidemark/postgres', 'postgres:');
  });
  const placement = postgres.placementOf(store);
  if (placement) return placement;
  throw new TidemarkError(
    'UNSUPPORTED',
    'The tenants of this store are on one server; name more in the URL of a PostgreSQL store: ?servers=north=postgres%3A%2F%2F…',
  );
}

const servers = defineCommand({
  name: 'tenants servers',
  summary: 'List tenants with their PostgreSQL servers, and unfinished moves',
  effect: 'ro',
  options: { limit: limitOption },
  examples: [{ line: 'tenants servers', shows: 'UNSUPPORTED', exit: 1 }],
  async run({ store, out, options }) {
    const placement = await placementOf(await store({ withoutRetries: true }));
    await out.list(
      upTo(options.limit, (page) => placement.list(page), out),
      PLACED,
      'No tenant has a server yet.',
    );
  },
});

const args = { tenant: one('the tenant'), server: one('name of the server') };

const place = defineCommand({
  name: 'tenants place',
  summary: 'Assign a new tenant to a PostgreSQL server',
  details: 'A tenant that has data is already on a server: move it instead.',
  effect: 'rw',
  args,
  options: {},
  examples: [{ line: 'tenants place acme north', shows: 'UNSUPPORTED', exit: 1 }],
  async run({ store, out, args: { tenant, server }, dryRun }) {
    const placement = await placementOf(await store({ mustExist: true, withoutRetries: true }));
    if (dryRun) return out.report({ dryRun: true, would: 'place', tenantId: tenant, server });
    await placement.place(tenant, server);
    await out.report({ tenantId: tenant, server });
  },
});

const move = defineCommand({
  name: 'tenants move',
  summary: 'Move a tenant to another PostgreSQL server',
  details:
    'The tenant can be read and written during the move. At its end, writes fail with UNAVAILABLE for a moment and can be retried. Run the command again to continue an interrupted move; with --undo, the tenant stays where it was.',
  effect: 'rw',
  args,
  options: { undo: toggle('undo an unfinished move to this server') },
  examples: [{ line: 'tenants move acme north', shows: 'UNSUPPORTED', exit: 1 }],
  async run({ store, out, io, args: { tenant, server }, options: { undo }, dryRun, progress }) {
    const placement = await placementOf(await store({ mustExist: true, withoutRetries: true }));
    if (dryRun) return out.report({ dryRun: true, would: undo ? 'undo the move' : 'move', tenantId: tenant, server });
    if (undo) {
      await placement.undoMove(tenant);
      return out.report({ tenantId: tenant, undone: true });
    }
    const bar = progress('moving');
    const onProgress = ({ copied }: { copied: number }) => bar.to(copied);
    const report = await placement.move(tenant, server, { signal: io.signal, onProgress });
    bar.end();
    await out.report({ ...report, pausedMs: Math.round(report.pausedMs) }, tenant);
  },
});

export const placementCommands = [servers, place, move];
