/** Headers of our messages: what mirrors and indexes need without the body. Values are one line of ASCII each. */
import type { Msg, MsgHdrs } from '@nats-io/nats-core';

/** Header names, as the driver would write them: it reads them by this spelling only. */
export const HEADER = {
  /** The sequence the subject must end with; the server compares it, and keeps it in the message. */
  expected: 'Nats-Expected-Last-Subject-Sequence',
  /** Of all messages with the same value within two minutes the server stores one. */
  once: 'Nats-Msg-Id',
  /** Whose write it is, to find it again when its acknowledgement was lost. */
  write: 'Tidemark-Write',
  /** The name, where the subject has only its hash. */
  name: 'Tidemark-Name',
  /** `removed`, `archived`, …: the message ends what came before it. */
  end: 'Tidemark-End',
  /** Beside `end`: the name is still known, for readers to hear where its content is. */
  kept: 'Tidemark-Kept',
  /** Where the body is, when it was too large for one message. */
  parts: 'Tidemark-Parts',
  /** Of a commit: first sequence, number of entries, time, time of the first commit. */
  commit: 'Tidemark-Commit',
  /** The same of a step of a restore that is not the last: hidden behind the tombstone in `end` until then. */
  part: 'Tidemark-Part',
  /** Of steps of a restore after the first: where in the stream the first is. */
  restored: 'Tidemark-Restored',
  /** How often the journal was rewritten or restored; absent for never. Commits, ends and steps of a restore carry it on. */
  rewrites: 'Tidemark-Rewrites',
  /** Of a commit that took the place of all before it: up to where their spilled parts go with them. */
  rewritten: 'Tidemark-Rewritten',
  state: 'Tidemark-State',
  keys: 'Tidemark-Keys',
  /** Of a record. */
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

/** Headers on their way out. The driver's own class costs more than the rest of a publish. */
export function headersFor(values: Readonly<Record<string, string | undefined>>): MsgHdrs {
  let text = 'NATS/1.0\r\n';
  for (const name in values) if (values[name] !== undefined) text += `${name}: ${values[name]}\r\n`;
  const bytes = Buffer.from(`${text}\r\n`, 'latin1');
  return { encode: () => bytes } as unknown as MsgHdrs;
}

/** Headers as a message got them. */
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

/** JSON in ASCII without line ends, as a header can hold it. */
export function headerJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (text) => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
