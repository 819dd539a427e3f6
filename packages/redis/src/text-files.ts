/**
 * The files in `scripts/` by name. The build replaces this module with their contents, so that a bundle does not read
 * files at run time.
 */
import { readdirSync, readFileSync } from 'node:fs';

const DIRECTORY = new URL('../scripts/', import.meta.url);

export const TEXTS: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(DIRECTORY)
    .filter((file) => file.endsWith('.lua'))
    .sort()
    .map((file) => [file, readFileSync(new URL(file, DIRECTORY), 'utf8')]),
);
