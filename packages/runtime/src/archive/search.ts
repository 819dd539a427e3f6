/**
 * Finds runs in the manifests of an archive. Used for stores that have no tombstone of the run, such as another store,
 * or a new store after a data loss.
 */
import { TidemarkError } from '@tidemark/core';
import { readManifest } from './manifest.ts';
import { ALL_PACKS, isManifestName, type Location, tenantPrefix } from './names.ts';
import type { ArchiveTarget } from './target.ts';

/**
 * Returns the newest copy of a run, or `null`. Reads every manifest, or only the tenant's manifests if a tenant is
 * named.
 */
export async function searchRun(
  target: ArchiveTarget,
  runId: string,
  tenantId: string | undefined,
): Promise<(Location & { tenantId: string }) | null> {
  const found = new Map<string, Location & { tenantId: string }>();
  for await (const name of target.list(tenantId === undefined ? ALL_PACKS : tenantPrefix(tenantId))) {
    const manifest = isManifestName(name) ? await readManifest(target, name) : null;
    const run = manifest?.runs.find((it) => it.runId === runId && it.tenantId === (tenantId ?? it.tenantId));
    const known = run && found.get(run.tenantId);
    if (run && (!known || madeAt(known.pack) < madeAt(manifest!.pack)))
      found.set(run.tenantId, { tenantId: run.tenantId, pack: manifest!.pack, start: run.start, end: run.end });
  }
  if (found.size > 1)
    throw new TidemarkError('AMBIGUOUS_RUN', `Several tenants have a run ${JSON.stringify(runId)} in the archive`, {
      field: 'tenantId',
      rule: 'given when several tenants have a run of this id',
      runId,
    });
  return [...found.values()][0] ?? null;
}

/** The last part of the name starts with the creation time. */
function madeAt(pack: string): string {
  return pack.slice(pack.lastIndexOf('/') + 1);
}
