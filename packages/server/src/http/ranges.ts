/** Partial responses with `Range` and `If-Range`, as defined by RFC 9110. Supports a single byte range. */
import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';

/** A range of bytes from `start`, inclusive, to `end`, exclusive. */
export interface RequestedRange {
  start: number;
  end: number;
}

/**
 * Returns the requested part, or `null` if the whole artifact is to be sent: there is no range, there are several
 * ranges, the form is unknown, or `If-Range` names another version.
 *
 * Throws a refusal with status 416 if no byte of the range exists.
 */
export function rangeOf(request: IncomingMessage, sizeBytes: number, tag: string): RequestedRange | null {
  const { range, 'if-range': version } = request.headers;
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(range ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return null;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return null;
  if (version !== undefined && version !== tag) return null;
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1);
  if (start < end) return { start, end };
  const rule = `a range that begins before byte ${sizeBytes}`;
  throw new Refusal(
    416,
    'INVALID_ARGUMENT',
    `The range must be ${rule}`,
    { field: 'range', rule },
    {
      'content-range': `bytes */${sizeBytes}`,
    },
  );
}
