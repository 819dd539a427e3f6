/** HTTP conditions: `If-Match` and `If-None-Match` with tags, which are sequences, revisions or versions. */
import type { IncomingMessage } from 'node:http';
import { invalidArgument } from '@tidemark/core';

export function tagOf(number: number): string {
  return `"${number}"`;
}

/** Returns the number in `If-Match`. */
export function matchOf(request: IncomingMessage): number | undefined {
  const tag = request.headers['if-match'];
  if (tag === undefined) return undefined;
  const number = Number(/^"(\d{1,16})"$/.exec(tag)?.[1]);
  if (Number.isSafeInteger(number)) return number;
  throw invalidArgument('if-match', 'one number in double quotes, such as "17"', tag);
}

/** Whether the caller requires that the resource does not exist yet. */
export function wantsAbsent(request: IncomingMessage): boolean {
  const tag = request.headers['if-none-match'];
  if (tag === undefined) return false;
  if (tag === '*') return true;
  throw invalidArgument('if-none-match', '* when writing', tag);
}
