/**
 * The headers of Tidemark's messages, which contain the data that mirrors and indexes need without the body. Each value
 * is one line of ASCII.
 */
import type { Msg, MsgHdrs } from '@nats-io/nats-core';

/** Header names. The driver finds headers only in this spelling. */
export const HEADER = {
  /** The last sequence that the subject must have. The server checks it and keeps it in the message. */
  expected: 'Nats-Expected-Last-Subject-Sequence',
  /** Of all messages with the same value within two minutes, the server stores only one. */
  once: 'Nats-Msg-Id',
  /** Identifies the write, to find it again when its acknowledgement was lost. */
  write: 'Tidemark-Write',
  /** The name, if the subject contains only its hash. */
  name: 'Tidemark-Name',
  /** `removed`, `archived`, …: the message ends the record or journal that precedes it. */
  end: 'Tidemark-End',
  /** Set together with `end` if the name stays known, so that errors can report the location of the content. */
  kept: 'Tidemark-Kept',
  /** Refers to the body, if the body was too large for one message. */
  parts: 'Tidemark-Parts',
  /** For a commit: first sequence, number of entries, time, time of the first commit. */
  commit: 'Tidemark-Commit',
  /**
   * For a step of a restore that is not the last: the same values as `commit`. The tombstone in `end` hides the step
   * until the last step.
   */
  part: 'Tidemark-Part',
  /** For steps of a restore after the first: the stream sequence of the first step. */
  restored: 'Tidemark-Restored',
  /**
   * How often the journal was rewritten or restored; absent if never. Commits, end markers and steps of a restore
   * repeat it.
   */
  rewrites: 'Tidemark-Rewrites',
  /**
   * For a commit that replaced all earlier commits: the sequence up to which the spilled parts of those commits are
   * removed with them.
   */
  rewritten: 'Tidemark-Rewritten',
  /** For a removal, a rewrite or the last step of a restore: the notice for readers of the feed. */
  notice: 'Tidemark-Notice',
  /**
   * The number of carried notices in the body, which belong to rewrites of replaced messages; absent if there are none.
   */
  carried: 'Tidemark-Carried',
  state: 'Tidemark-State',
  keys: 'Tidemark-Keys',
  /** For a record: its expiry. */
  expires: 'Tidemark-Expires',
  indexKeys: 'Tidemark-Places',
  /** For a record: set when its body holds request ids. */
  requests: 'Tidemark-Requests',
  /** For a record or a chunk: the checksum of the message. */
  sum: 'Tidemark-Sum',
} as const;

/** A server refuses headers over 64 KiB. */
export const MAX_HEADER_BYTES = 60 * 1024;

export type HeaderValues = Record<string, string>;

/** Encodes headers. The driver's own class costs more than the rest of a publish. */
export function headersFor(values: Readonly<Record<string, string | undefined>>): MsgHdrs {
  let text = 'NATS/1.0\r\n';
  for (const name in values) if (values[name] !== undefined) text += `${name}: ${values[name]}\r\n`;
  const bytes = Buffer.from(`${text}\r\n`, 'latin1');
  return { encode: () => bytes } as unknown as MsgHdrs;
}

/** Parses the headers of a message. Each character of the text is one byte. The first line is the version. */
export function parseHeaders(text: string): HeaderValues {
  const values: HeaderValues = {};
  let start = text.indexOf('\r\n') + 2;
  for (let end = text.indexOf('\r\n', start); end !== -1; end = text.indexOf('\r\n', start)) {
    const colon = text.indexOf(':', start);
    if (colon > start && colon < end) values[text.slice(start, colon)] = text.slice(colon + 1, end).trim();
    start = end + 2;
  }
  return values;
}

export function headersOf(msg: Msg): HeaderValues {
  const values: HeaderValues = {};
  for (const [name, texts] of msg.headers ?? []) values[name] = texts[0]!;
  return values;
}

/** Encodes JSON as ASCII without line breaks, as headers require. */
export function headerJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (text) => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
