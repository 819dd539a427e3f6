/**
 * Manifests: a small file next to each pack that lists its runs, so that an archive can be verified and searched
 * without the store.
 */
import { corrupt } from './block.ts';
import { manifestName, underWayName } from './names.ts';
import type { PackContent } from './pack.ts';
import { type ArchiveTarget, readText, writeText } from './target.ts';

const FORMAT = 'tidemark-manifest-1';

export interface Manifest extends PackContent {
  format: typeof FORMAT;
  /** Name of the pack file. */
  pack: string;
}

export function manifestOf(pack: string, content: PackContent): Manifest {
  return { format: FORMAT, pack, ...content };
}

/**
 * Writes the manifest of a pack in progress, before the first run leaves the store, so that another archiver can finish
 * the pack.
 */
export function writeUnderWay(target: ArchiveTarget, manifest: Manifest): Promise<void> {
  return writeText(target, underWayName(manifest.pack), textOf(manifest));
}

/** Writes the final manifest, after the last run has left the store. */
export async function writeManifest(target: ArchiveTarget, manifest: Manifest): Promise<void> {
  await writeText(target, manifestName(manifest.pack), textOf(manifest));
}

/** Reads a manifest. Returns `null` if it was deleted in the meantime. */
export async function readManifest(target: ArchiveTarget, name: string): Promise<Manifest | null> {
  const text = await readText(target, name);
  if (text === null) return null;
  try {
    const manifest = JSON.parse(text) as Manifest;
    if (manifest.format === FORMAT) return manifest;
  } catch {
    // Reported below.
  }
  throw corrupt(`${name} is not a manifest`);
}

function textOf(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 1)}\n`;
}
