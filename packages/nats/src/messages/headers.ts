/**
 * Headers of our messages: the data that mirrors and indexes need without the body. Each value is one line of ASCII.
 */
import type { Msg, MsgHdrs } from '@nats-io/nats-core';

/** Header names in the driver's spelling: it finds them only by this spelling. */
export const HEADER = {
  /** The last sequence that the subject must have. The server compares it and keeps it in the message. */
  expected: 'Nats-Expected-Last-Subject-Sequence',
  /** The server stores only one of all messages with the same value within two minutes. */
  once: 'Nats-Msg-Id',
  /** Identifies the write, to find it again when its acknowledgement was lost. */
  write: 'Tidemark-Write',
  /** The name, if the subject contains only its hash. */
  name: 'Tidemark-Name',
  /** `removed`, `archived`, …: the message ends what came before it. */
  end: 'Tidemark-End',
  /** Beside `end`: the name stays known, so that errors can name where its content is. */
  kept: 'Tidemark-Kept',
  /** Where the body is, if it was too large for one message. */
  parts: 'Tidemark-Parts',
  /** Of a commit: first sequence, number of entries, time, time of the first commit. */
  commit: 'Tidemark-Commit',
  /** The same for a step of a restore that is not the last: hidden by the tombstone in `end` until then. */
  part: 'Tidemark-Part',
  /** Of steps of a restore after the first: the stream sequence of the first. */
  restored: 'Tidemark-Restored',
  /**
   * How often the journal was rewritten or restored; absent if never. Commits, ends and steps of a restore carry it on.
   */
  rewrites: 'Tidemark-Rewrites',
  /** Of a commit that replaced all before it: the sequence up to which their spilled parts are removed with them. */
  rewritten: 'Tidemark-Rewritten',
  state: 'Tidemark-State',
  keys: 'Tidemark-Keys',
  /** Of a record: its expiry. */
  expires: 'Tidemark-Expires',
  places: 'Tidemark-Places',
  /** Of a record: its body holds request ids. */
  requests: 'Tidemark-Requests',
  /** Of a record or a chunk: the checksum of the message. */
  sum: 'Tidemark-Sum',
} as const;

/** A server refuses headers over 64 KiB. */
export const LARGEST_HEADERS = 60 * 1024;

export type HeaderValues = Record<string, string>;

/** Encodes headers. The driver's own class costs more than the rest of a publish. */
export function headersFor(values: Readonly<Record<string, string | undefined>>): MsgHdrs {
  let text = 'NATS/1.0\r\n';
  for (const name in values) if (values[name] !== undefined) text += `${name}: ${values[name]}\r\n`;
  const bytes = Buffer.from(`${text}\r\n`, 'latin1');
  return { encode: () => bytes } as unknown as MsgHdrs;
}

/** Decodes the headers of a message. */
export function readHeaders(bytes: Uint8Array): HeaderValues {
  const values: HeaderValues = {};
  for (const line of Buffer.from(bytes).toString('latin1').split('\r\n').slice(1)) {
    const at = line.indexOf(':');
    if (at > 0) values[line.slice(0, at)] = line.slice(at + 1).trim();
  }
  return values;
}

export function headersOf(msg: Msg): HeaderValues {
  const values: HeaderValues = {};
  for (const [name, texts] of msg.headers ?? []) values[name] = texts[0]!;
  return values;
}

/** Encodes JSON in ASCII without line ends, as a header requires. */
export function headerJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (text) => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
