/** Reads argument values from the command line, from a file or from stdin. */
import { readFileSync } from 'node:fs';
import { invalidArgument, type JsonObject, parseJsonText } from '@tidemark/core';
import { noFile } from './failures.ts';
import { type Io, readAll } from './io.ts';

/** Returns the text itself, the content of `@file`, or stdin for `-`. */
export async function readText(given: string, io: Io): Promise<string> {
  if (given === '-') return readAll(io.stdin);
  return given.startsWith('@') ? readFile(given.slice(1)) : given;
}

/** Reads a JSON object from any of these sources. */
export async function readObject(given: string | undefined, flag: string, io: Io): Promise<JsonObject | undefined> {
  if (given === undefined) return undefined;
  const text = await readText(given, io);
  const value = parseJsonText(text, flag);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw invalidArgument(flag, 'a JSON object, @file or - for stdin', text);
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw noFile(`${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
