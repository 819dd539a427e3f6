/**
 * Names of files in an archive: `archive/{tenant}/{YYYY}/{MM}/{DD}/{pack}`. Tenants may be called anything (GEN-5), so their
 * names are encoded: any two stay apart on every file system, and each can be read back.
 */

/** File systems take 255 bytes a name. */
const LONGEST_PART = 200;
/** A part that ends so goes on in the next one. */
const CONTINUED = '+';
const UNDER_WAY = 'under-way/';
const ARCHIVE = 'archive/';
const MANIFEST = '.manifest.json';

/** Where a run lies in an archive: the name of its pack, and its bytes in the pack as it was before compression. */
export interface Location {
  pack: string;
  start: number;
  end: number;
}

/** A new name for a pack of runs of one tenant and day; names sort by the time they were made. */
export function newPackName(tenantId: string, createdAt: string, suffix: string): string {
  const [year, month, day] = createdAt.slice(0, 10).split('-');
  const made = Date.now().toString(36).padStart(9, '0');
  return `${tenantPrefix(tenantId)}${year}/${month}/${day}/${made}-${crypto.randomUUID()}.jsonl${suffix}`;
}

/** What the names of all packs of a tenant begin with. */
export function tenantPrefix(tenantId: string): string {
  return `${ARCHIVE}${encodeId(tenantId)}/`;
}

export const ALL_PACKS = ARCHIVE;
export const ALL_UNDER_WAY = UNDER_WAY;

/** The list of what a pack holds. */
export function manifestName(pack: string): string {
  return pack + MANIFEST;
}

export function isManifestName(name: string): boolean {
  return name.endsWith(MANIFEST);
}

/** The same list while its runs are still in the store. */
export function underWayName(pack: string): string {
  return `${UNDER_WAY}${pack.slice(pack.lastIndexOf('/') + 1)}${MANIFEST}`;
}

export function locationText({ pack, start, end }: Location): string {
  return `${pack}#${start}-${end}`;
}

/** Parses a location; `null` for any other text. Locations come from callers, so only names that packs can have are accepted. */
export function parseLocation(text: string): Location | null {
  const parts = /^(.+)#(\d{1,15})-(\d{1,15})$/.exec(text);
  const location = parts && { pack: parts[1]!, start: Number(parts[2]), end: Number(parts[3]) };
  return location && tenantOfPack(location.pack) !== null ? location : null;
}

/** The tenant whose runs a pack holds; `null` when the name is not that of a pack. */
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

/** Lowercase letters, digits, `_` and `-` stay; every other byte is `%` and two digits, so that no two names meet anywhere. */
export function encodeId(id: string): string {
  let text = '';
  for (const byte of Buffer.from(id)) {
    const character = String.fromCharCode(byte);
    text += /[a-z0-9_-]/.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`;
  }
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += LONGEST_PART) parts.push(text.slice(at, at + LONGEST_PART));
  return parts.join(`${CONTINUED}/`);
}

export function decodeId(encoded: string): string {
  return decodeURIComponent(encoded.replaceAll(`${CONTINUED}/`, ''));
}
