/** Permissions of files that hold secrets. */
import { statSync } from 'node:fs';

/** Returns the files that users other than the owner may read or write. Skips missing files. */
export function openToOthers(paths: readonly (string | undefined)[]): string[] {
  if (process.platform === 'win32') return [];
  const open = paths.filter((path) => path && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  return [...new Set(open as string[])];
}

/** Returns the command that removes these permissions. */
export function privacyFix(paths: readonly string[]): string {
  return `chmod go= ${paths.map((path) => `'${path.replaceAll("'", `'\\''`)}'`).join(' ')}`;
}
