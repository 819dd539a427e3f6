/**
 * The artifact engine of keyed backends (AGT-11): one record per reference, index entries by session and trace, and
 * blobs by hash.
 */

import type { ArtifactEngine, ArtifactRow } from '../engine/artifacts.ts';
import type { Blobs, StagedBlob } from '../engine/blobs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Records } from '../engine/records.ts';
import type { StoreContext } from '../tools/context.ts';
import { blobsByTenant, KeyedBytes } from './artifact-bytes.ts';
import { type KeyedArtifactOptions, KeyedReferences } from './artifact-references.ts';

/** Sweeps repair only references younger than this, which allows for several sweeps after a crash. */
const REPAIRED_FOR_MS = 24 * 3_600_000;

export interface KeyedArtifacts extends ArtifactEngine {
  /** Removes all unreferenced bytes of a tenant, regardless of age. */
  removeUnreferenced(tenantId: string, call: EngineCall): Promise<void>;
}

export function keyedArtifacts(
  context: Pick<StoreContext, 'random' | 'uuid'>,
  records: Records,
  blobs: Blobs,
  options: KeyedArtifactOptions = {},
): KeyedArtifacts {
  const references = new KeyedReferences(context, records, options);
  const bytes = new KeyedBytes(context, records, blobs, references);

  const refer = async (tenantId: string, staged: StagedBlob, row: ArtifactRow, call: EngineCall) => {
    const retract = await bytes.announce(tenantId, row.sha256, call);
    if (!(await staged.keep(call))) {
      await retract();
      return false;
    }
    // If this fails, the announcement stays until it expires, because the reference may still be written.
    const takeBack = await references.put(tenantId, row, call);
    // If the announcement expired before it was retracted, a sweep may have removed the bytes, so store them again.
    if ((await retract()) || (await staged.keep(call))) return true;
    await takeBack();
    return false;
  };

  return {
    async stage(tenantId, source, call) {
      const staged = await blobs.stage(tenantId, source, call);
      return {
        refer: (row, call) => refer(tenantId, staged, row, call),
        discard: (call) => staged.discard(call),
      };
    },

    getRef: (tenantId, id, call) => references.getRef(tenantId, id, call),
    touchRef: (tenantId, id, at, call) => references.touchRef(tenantId, id, at, call),
    deleteRef: (tenantId, id, seen, call) => references.deleteRef(tenantId, id, seen, call),
    listRefs: (tenantId, match, range, call) => references.listRefs(tenantId, match, range, call),
    getBlob: (tenantId, sha256, range, call) => blobs.get(tenantId, sha256, range, call),

    async totals(tenantId, now, call) {
      const totals = { references: await references.count(tenantId, now, call), blobs: 0, bytes: 0 };
      for await (const stored of blobsByTenant(blobs, tenantId, call)) {
        totals.blobs += stored.length;
        for (const { sizeBytes } of stored) totals.bytes += sizeBytes;
      }
      return totals;
    },

    async eraseRefs(tenantId, match, limit, call) {
      const found = await references.listRefs(tenantId, match, { after: null, limit }, call);
      const hashes = found.map(({ sha256 }) => sha256);
      const unmark = await bytes.markErasing(tenantId, hashes, call);
      let removed = 0;
      for (const { id } of found) if (await references.deleteRef(tenantId, id, null, call)) removed++;
      if (match.sessionId !== undefined) await references.removeLoneEntries(tenantId, match.sessionId, call);
      await bytes.finishErasures(tenantId, call);
      await unmark();
      return removed;
    },

    async removeUnreferenced(tenantId, call) {
      for await (const stored of blobsByTenant(blobs, tenantId, call))
        await bytes.removeUnreferenced(tenantId, stored, null, call);
    },

    async sweep(only, now, graceMs, call) {
      const swept = { references: 0, blobs: 0, bytes: 0 };
      const oldest = (await records.now(call)) - graceMs;
      // Every reference has bytes, so the tenants of blobs are all tenants.
      for await (const stored of blobsByTenant(blobs, only, call)) {
        const { tenantId } = stored[0]!;
        const erased = await bytes.finishErasures(tenantId, call);
        const old = stored.filter(({ renewedAt }) => renewedAt < oldest);
        const removed = await bytes.removeUnreferenced(tenantId, old, now, call);
        swept.references += removed.references;
        for (const { sizeBytes } of [...erased.blobs, ...removed.blobs]) {
          swept.blobs++;
          swept.bytes += sizeBytes;
        }
        await references.addMissingEntries(tenantId, now - REPAIRED_FOR_MS, call);
        await references.removeLoneUnscoped(tenantId, call);
      }
      return swept;
    },
  };
}
