/** Files that hold secrets and should be their owner's alone. */
import { statSync } from 'node:fs';

/** Returns those of the files that others than their owner may read or write. Missing ones are no risk. */
export function openToOthers(paths: readonly (string | undefined)[]): string[] {
  if (process.platform === 'win32') return [];
  const open = paths.filter((path) => path && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  return [...new Set(open as string[])];
}

/** The command that closes them. */
export function privacyFix(paths: readonly string[]): string {
  return `chmod go= ${paths.map((path) => `'${path.replaceAll("'", `'\\''`)}'`).join(' ')}`;
}
