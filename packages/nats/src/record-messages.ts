/** How a record is written into one message: what mirrors need in the headers, fields and remembered requests in the body. */
import { placesOf, type RecordName, type RecordState } from '@tidemark/core/engine';
import { HEADER, type HeaderValues, headerJson, LARGEST_HEADERS } from './headers.ts';

/** Why there is no record any more. */
export type RecordEnd = 'delete' | 'expire';

/** What the headers say of a record. */
export interface RecordHead {
  end: RecordEnd | null;
  expiresAt: number | null;
  places: string[];
}

/** A line of JSON with the name and length of each field and the requests, then the fields. */
export function recordBody({ fields, requests }: RecordState): Buffer {
  const lengths = Array.from(fields, ([field, value]) => [field, value.length]);
  return Buffer.concat([Buffer.from(`${JSON.stringify([lengths, requests])}\n`), ...fields.values()]);
}

export function recordHeaders(
  name: RecordName,
  { fields, expiresAt }: RecordState,
  hashed: boolean,
): Record<string, string | undefined> {
  const places = name.space === 'kv' ? placesOf(name.key, fields) : [];
  return {
    [HEADER.expires]: expiresAt === null ? undefined : String(expiresAt),
    [HEADER.places]: places.length === 0 ? undefined : headerJson(places),
    [HEADER.name]: nameHeader(name, hashed),
  };
}

export function endHeaders(name: RecordName, end: RecordEnd, hashed: boolean): Record<string, string | undefined> {
  return { [HEADER.end]: end, [HEADER.name]: nameHeader(name, hashed) };
}

function nameHeader({ tenantId, key }: RecordName, hashed: boolean): string | undefined {
  const text = hashed ? headerJson([tenantId, key]) : undefined;
  if (text !== undefined && text.length > LARGEST_HEADERS) throw new Error('The name of a record is too long');
  return text;
}

export function readRecordHead(headers: HeaderValues): RecordHead {
  const [expires, places] = [headers[HEADER.expires], headers[HEADER.places]];
  return {
    end: (headers[HEADER.end] as RecordEnd | undefined) ?? null,
    expiresAt: expires === undefined ? null : Number(expires),
    places: places === undefined ? [] : (JSON.parse(places) as string[]),
  };
}

export function readRecord(body: Buffer, revision: number, expiresAt: number | null): RecordState {
  const end = body.indexOf(10);
  const [lengths, requests] = JSON.parse(body.toString('utf8', 0, end)) as [[string, number][], string[]];
  const fields = new Map<string, Uint8Array>();
  let at = end + 1;
  for (const [field, length] of lengths) {
    fields.set(field, Uint8Array.prototype.slice.call(body, at, at + length));
    at += length;
  }
  return { fields, revision, expiresAt, requests };
}
