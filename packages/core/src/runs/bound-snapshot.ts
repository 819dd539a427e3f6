/**
 * Stored snapshots are bound to the history they were folded from: the stored text ends with the chain link at the
 * snapshot's sequence and a checksum over everything that was stored. A string that was changed by hand, damaged on disk
 * or written without the binding is not used.
 */
import { decodeJson } from '../checks/json.ts';
import type { RunSnapshot } from '../contracts/run-state.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { StoredSnapshot } from '../engine/runs.ts';
import { type Digest, digestBytes, digestOf, sha256Hex } from '../hash.ts';

const FORMAT = 'tidemark-snapshot-1\n';
const MEMBER = /^,"integrity":\{"link":"([0-9a-f]{64})","checksum":"([0-9a-f]{64})"\}\}$/;
const MEMBER_LENGTH = integrityMember('0'.repeat(64), '0'.repeat(64)).length;

/** A snapshot with the link of the event at its `lastEventSeq`. */
export interface BoundSnapshot {
  snapshot: RunSnapshot;
  link: Digest;
}

/** The result of reading a stored text that is not a bound snapshot. */
export interface UnboundSnapshot {
  problem: string;
  /** Written by version 0.1, which did not bind snapshots. */
  isOld: boolean;
  /** The version found in the text, or 0 when it cannot be read. */
  version: number;
}

/** Returns the JSON text to store for a snapshot. */
export function boundText(run: RunKey, { snapshot, link }: BoundSnapshot, rewrites: number): string {
  const text = JSON.stringify(snapshot);
  const hex = digestBytes(link).toString('hex');
  const checksum = checksumOf(run, { lastEventSeq: snapshot.lastEventSeq, rewrites }, hex, text);
  return text.slice(0, -1) + integrityMember(hex, checksum);
}

/** Reads a stored JSON text. Returns the problem if the text differs from the stored one. */
export function readBound(
  run: RunKey,
  text: string,
  stored: Pick<StoredSnapshot, 'lastEventSeq' | 'rewrites'>,
): BoundSnapshot | UnboundSnapshot {
  const [, hex, checksum] = MEMBER.exec(text.slice(-MEMBER_LENGTH)) ?? [];
  if (hex === undefined) return unbound(text);
  const plain = `${text.slice(0, -MEMBER_LENGTH)}}`;
  if (checksumOf(run, stored, hex, plain) !== checksum)
    return { problem: 'its checksum does not match', isOld: false, version: 0 };
  return { snapshot: decodeJson<RunSnapshot>(plain), link: digestOf(Buffer.from(hex, 'hex')) };
}

/** Version 0.1 stored snapshots without the binding. Any other unbound text was changed after it was stored. */
function unbound(text: string): UnboundSnapshot {
  try {
    const snapshot = decodeJson<Partial<RunSnapshot> & { integrity?: unknown }>(text);
    const version = Number.isSafeInteger(snapshot.version) ? snapshot.version! : 0;
    return { problem: 'it carries no checksum', isOld: snapshot.integrity === undefined, version };
  } catch {
    return { problem: 'it is not JSON', isOld: false, version: 0 };
  }
}

function integrityMember(link: string, checksum: string): string {
  return `,"integrity":{"link":"${link}","checksum":"${checksum}"}}`;
}

function checksumOf(
  { tenantId, runId }: RunKey,
  { lastEventSeq, rewrites }: Pick<StoredSnapshot, 'lastEventSeq' | 'rewrites'>,
  link: string,
  text: string,
): string {
  return sha256Hex(`${FORMAT}${JSON.stringify([tenantId, runId, lastEventSeq, rewrites, link])}${text}`);
}
