/**
 * The files in `migrations/` by name. The build replaces this module with their contents, so that bundles need no
 * files.
 */
import { readdirSync, readFileSync } from 'node:fs';

const DIRECTORY = new URL('../migrations/', import.meta.url);

export const TEXTS: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(DIRECTORY)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => [file, readFileSync(new URL(file, DIRECTORY), 'utf8')]),
);
