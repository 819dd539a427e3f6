/**
 * The stored form of a checkpoint: one record with the checkpoint, its metadata and its small channel values. Large
 * values are blobs. A checkpoint that did not change a channel refers to the blob of the checkpoint that did.
 */
import { cutIntoFields, type Frame, joinFields, packFrames, unpackFrames } from '@tidemark/core/adapters';
import type { Encoding } from './encoding.ts';
import type { Branch } from './keys.ts';

/** A blob, identified by the checkpoint that wrote it, its name, and the number of records that store it. */
export type BlobRef = readonly [checkpointId: string, name: string, parts: number];

/** Where a channel value is stored: in a frame of the checkpoint's record (its index), or in a blob. */
export type ValueRef = number | BlobRef;

/** A channel of a checkpoint: the channel's version, and where its value is stored. */
export interface ChannelRef {
  version: string | number | null;
  value: ValueRef;
}

export interface CheckpointRecord {
  branch: Branch;
  id: string;
  parentId: string | null;
  /** When the checkpoint was stored, in milliseconds. */
  storedAt: number;
  channels: ReadonlyMap<string, ChannelRef>;
  /** The checkpoint without its channel values. */
  checkpoint: Frame;
  metadata: Frame;
  /** The small channel values, by the index in their `ValueRef`. */
  values: readonly Frame[];
}

/** The fields of a checkpoint's record. */
export type CheckpointFields = Record<string, Uint8Array | string>;

interface Header {
  thread: string;
  namespace: string;
  id: string;
  parent: string | null;
  at: number;
  channels: [name: string, version: string | number | null, value: ValueRef][];
}

const HEADER = 'tidemark.checkpoint.1';
/** A separate field, so that a writer can check for a checkpoint without reading it. */
export const PRESENCE_FIELD = 'id';
const BODY_FIELD = 'c';

/** Returns the fields of a record. */
export function encodeCheckpoint(record: CheckpointRecord, options: Encoding): CheckpointFields {
  const header: Header = {
    thread: record.branch.thread,
    namespace: record.branch.namespace,
    id: record.id,
    parent: record.parentId,
    at: record.storedAt,
    channels: [...record.channels].map(([name, { version, value }]) => [name, version, value]),
  };
  const frames = [
    { type: HEADER, bytes: Buffer.from(JSON.stringify(header)) },
    record.checkpoint,
    record.metadata,
    ...record.values,
  ];
  return {
    [PRESENCE_FIELD]: record.id,
    ...cutIntoFields(BODY_FIELD, packFrames(frames, options), options.fieldBytes),
  };
}

/** Returns the checkpoint of a record, or `null` if the record is not a checkpoint. */
export function decodeCheckpoint(fields: Record<string, Uint8Array>): CheckpointRecord | null {
  const body = joinFields(BODY_FIELD, fields);
  if (body === null) return null;
  const [first, checkpoint, metadata, ...values] = unpackFrames(body);
  const header = JSON.parse(Buffer.from(first!.bytes).toString('utf8')) as Header;
  return {
    branch: { thread: header.thread, namespace: header.namespace },
    id: header.id,
    parentId: header.parent,
    storedAt: header.at,
    channels: new Map(header.channels.map(([name, version, value]) => [name, { version, value }])),
    checkpoint: checkpoint!,
    metadata: metadata!,
    values,
  };
}
