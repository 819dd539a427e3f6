/**
 * The stored form of a checkpoint: one record with the checkpoint, its metadata, its small channel values and its small
 * blobs. A checkpoint that did not change a channel refers to the blobs of the checkpoints that did.
 */
import { TidemarkError } from '@tidemark/core';
import { cutIntoFields, type Frame, joinFields, packFrames, unpackFrames } from '@tidemark/core/adapters';
import { isBlobField, type RecordFields } from './blobs.ts';
import type { Encoding } from './encoding.ts';
import type { Branch } from './keys.ts';
import { parseRef, type StoredRef, storedRef, type ValueRef } from './value-refs.ts';

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

interface Header {
  thread: string;
  namespace: string;
  id: string;
  parent: string | null;
  at: number;
  channels: [name: string, version: string | number | null, value: StoredRef][];
}

const HEADER = 'tidemark.checkpoint.2';
/** Until 0.2. Its references are those of format 2 without pieces, sizes and small blobs. */
const FIRST_HEADER = 'tidemark.checkpoint.1';
/** A record with this field is a checkpoint. */
export const BODY_FIELD = 'c';

/** Returns the fields of a record, without its blobs. */
export function encodeCheckpoint(record: CheckpointRecord, options: Encoding): Record<string, Uint8Array> {
  const header: Header = {
    thread: record.branch.thread,
    namespace: record.branch.namespace,
    id: record.id,
    parent: record.parentId,
    at: record.storedAt,
    channels: [...record.channels].map(([name, { version, value }]) => [name, version, storedRef(value)]),
  };
  const frames = [
    { type: HEADER, bytes: Buffer.from(JSON.stringify(header)) },
    record.checkpoint,
    record.metadata,
    ...record.values,
  ];
  return cutIntoFields(BODY_FIELD, packFrames(frames, options), options.fieldBytes);
}

/** Returns the checkpoint of a record, or `null` if the record is not a checkpoint. */
export function decodeCheckpoint(fields: RecordFields): CheckpointRecord | null {
  const body = joinFields(BODY_FIELD, fields);
  if (body === null) return null;
  const [first, checkpoint, metadata, ...values] = unpackFrames(body);
  if (first?.type !== HEADER && first?.type !== FIRST_HEADER) throw unknownFormat(first?.type);
  const header = JSON.parse(Buffer.from(first.bytes).toString('utf8')) as Header;
  return {
    branch: { thread: header.thread, namespace: header.namespace },
    id: header.id,
    parentId: header.parent,
    storedAt: header.at,
    channels: new Map(header.channels.map(([name, version, value]) => [name, { version, value: parseRef(value) }])),
    checkpoint: checkpoint!,
    metadata: metadata!,
    values,
  };
}

/** Returns the names of the fields that a record loses when its checkpoint is deleted and its small blobs are still needed. */
export function fieldsWithoutBlobs(fields: RecordFields): string[] {
  return Object.keys(fields).filter((name) => !isBlobField(name));
}

function unknownFormat(type: string | undefined): TidemarkError {
  const rule = `the format ${JSON.stringify(type)} is not known to this version of @tidemark/langgraph`;
  return new TidemarkError('UNSUPPORTED', `A checkpoint cannot be read: ${rule}`, { rule });
}
