/** Names of files in an archive: `archive/{tenant}/{YYYY}/{MM}/{DD}/{pack}`, with the tenant's id encoded. */
import { decodeId, encodeId } from '@tidemark/core/engine';

const UNDER_WAY = 'under-way/';
const ARCHIVE = 'archive/';
const MANIFEST = '.manifest.json';

/** Location of a run in an archive: the name of its pack and its byte range before compression. */
export interface Location {
  pack: string;
  start: number;
  end: number;
}

/** Returns a new name for a pack of runs of one tenant and day. Names sort by creation time. */
export function newPackName(tenantId: string, createdAt: string, suffix: string): string {
  const [year, month, day] = createdAt.slice(0, 10).split('-');
  const made = Date.now().toString(36).padStart(9, '0');
  return `${tenantPrefix(tenantId)}${year}/${month}/${day}/${made}-${crypto.randomUUID()}.jsonl${suffix}`;
}

/** Returns the common prefix of all packs of a tenant. */
export function tenantPrefix(tenantId: string): string {
  return `${ARCHIVE}${encodeId(tenantId)}/`;
}

export const ALL_PACKS = ARCHIVE;
export const ALL_UNDER_WAY = UNDER_WAY;

/** Name of the list of runs in a pack. */
export function manifestName(pack: string): string {
  return pack + MANIFEST;
}

export function isManifestName(name: string): boolean {
  return name.endsWith(MANIFEST);
}

/** Name of the list of runs while they are still in the store. */
export function underWayName(pack: string): string {
  return `${UNDER_WAY}${pack.slice(pack.lastIndexOf('/') + 1)}${MANIFEST}`;
}

export function locationText({ pack, start, end }: Location): string {
  return `${pack}#${start}-${end}`;
}

/**
 * Parses a location, or returns `null` for other text. Locations come from callers, so only valid pack names are
 * accepted.
 */
export function parseLocation(text: string): Location | null {
  const parts = /^(.+)#(\d{1,15})-(\d{1,15})$/.exec(text);
  const location = parts && { pack: parts[1]!, start: Number(parts[2]), end: Number(parts[3]) };
  return location && tenantOfPack(location.pack) !== null ? location : null;
}

/** Returns the tenant of a pack, or `null` if the name is not a pack name. */
export function tenantOfPack(pack: string): string | null {
  const encoded = /^archive\/([a-z0-9_%+/-]+)\/\d{4}\/\d{2}\/\d{2}\/[a-z0-9-]+\.jsonl(\.\w+)?$/.exec(pack)?.[1];
  if (encoded === undefined) return null;
  try {
    const tenantId = decodeId(encoded);
    return encodeId(tenantId) === encoded ? tenantId : null;
  } catch {
    return null;
  }
}
