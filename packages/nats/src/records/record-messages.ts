/** Encodes a record in one message: the data that mirrors need in the headers, fields and request ids in the body. */
import { indexKeysOf, type RecordName, type RecordState } from '@tidemark/core/engine';
import { HEADER, type HeaderValues, headerJson, MAX_HEADER_BYTES } from '../messages/headers.ts';

/** How the record ended. */
export type RecordEnd = 'delete' | 'expire';

/** The headers of a record. */
export interface RecordHead {
  end: RecordEnd | null;
  expiresAt: number | null;
  indexKeys: string[];
  /** Whether the body holds request ids. */
  hasRequests: boolean;
}

/** The request ids in the last message of a key. That message may also be the end of the record. */
export interface HeldRequests {
  /** From the oldest to the newest. */
  ids: readonly string[];
  /**
   * The last time that ids were moved out of the record because there were too many, on the writer's clock; 0 if never.
   */
  leftAt: number;
}

export const NO_REQUESTS: HeldRequests = { ids: [], leftAt: 0 };

/** Encodes a line of JSON with the name and length of each field and the request ids, then the fields. */
export function recordBody({ fields }: Pick<RecordState, 'fields'>, requests: HeldRequests): Buffer {
  const lengths = Array.from(fields, ([field, value]) => [field, value.length]);
  const line = [lengths, requests.ids, ...(requests.leftAt === 0 ? [] : [requests.leftAt])];
  return Buffer.concat([Buffer.from(`${JSON.stringify(line)}\n`), ...fields.values()]);
}

/** Encodes the body of a record's end marker. It contains the request ids, which outlive the record. */
export function endBody(requests: HeldRequests): Buffer {
  return holdsNone(requests) ? Buffer.alloc(0) : recordBody({ fields: new Map() }, requests);
}

export function recordHeaders(
  name: RecordName,
  { fields, expiresAt }: RecordState,
  requests: HeldRequests,
  hashed: boolean,
): Record<string, string | undefined> {
  const indexKeys = name.space === 'kv' ? indexKeysOf(name.key, fields) : [];
  return {
    [HEADER.expires]: expiresAt === null ? undefined : String(expiresAt),
    [HEADER.indexKeys]: indexKeys.length === 0 ? undefined : headerJson(indexKeys),
    [HEADER.requests]: holdsNone(requests) ? undefined : '1',
    [HEADER.name]: nameHeader(name, hashed),
  };
}

export function endHeaders(name: RecordName, end: RecordEnd, hashed: boolean): Record<string, string | undefined> {
  return { [HEADER.end]: end, [HEADER.name]: nameHeader(name, hashed) };
}

function nameHeader({ tenantId, key }: RecordName, hashed: boolean): string | undefined {
  const text = hashed ? headerJson([tenantId, key]) : undefined;
  if (text !== undefined && text.length > MAX_HEADER_BYTES) throw new Error('The name of a record is too long');
  return text;
}

function holdsNone({ ids, leftAt }: HeldRequests): boolean {
  return ids.length === 0 && leftAt === 0;
}

export function readRecordHead(headers: HeaderValues): RecordHead {
  const [expires, indexKeys] = [headers[HEADER.expires], headers[HEADER.indexKeys]];
  return {
    end: (headers[HEADER.end] as RecordEnd | undefined) ?? null,
    expiresAt: expires === undefined ? null : Number(expires),
    indexKeys: indexKeys === undefined ? [] : (JSON.parse(indexKeys) as string[]),
    hasRequests: headers[HEADER.requests] !== undefined,
  };
}

/** Decodes the fields and request ids in the body of a record or of its end marker. */
export function readBody(body: Buffer): { fields: Map<string, Uint8Array>; requests: HeldRequests } {
  const fields = new Map<string, Uint8Array>();
  const end = body.indexOf(10);
  if (end === -1) return { fields, requests: NO_REQUESTS };
  const [lengths, ids, leftAt = 0] = JSON.parse(body.toString('utf8', 0, end)) as BodyLine;
  let at = end + 1;
  for (const [field, length] of lengths) {
    fields.set(field, Uint8Array.prototype.slice.call(body, at, at + length));
    at += length;
  }
  return { fields, requests: { ids, leftAt } };
}

type BodyLine = [lengths: [string, number][], ids: string[], leftAt?: number];
