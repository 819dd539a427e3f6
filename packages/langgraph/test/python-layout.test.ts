/** The saver for Python stores the same keys and bytes. Its tests read the same fixture. */
import { readFileSync } from 'node:fs';
import { cutIntoFields, keySegment, packFrames } from '@tidemark/core/adapters';
import { expect, it } from 'vitest';
import { isBlobField, keysOf, smallBlobId } from '../src/blobs.ts';
import { type CheckpointRecord, decodeCheckpoint, encodeCheckpoint } from '../src/checkpoint-record.ts';
import { checkpointKey, headKey, writesKey } from '../src/keys.ts';
import { decodeWrites } from '../src/pending-writes.ts';
import type { BlobRef } from '../src/value-refs.ts';

interface Fixture {
  fieldBytes: number;
  segments: [text: string, segment: string][];
  checkpointKey: string;
  writesKey: string;
  headKey: string;
  blobKeys: string[];
  checkpoint: Record<string, string>;
  /** As version 0.1 stored it. */
  firstCheckpoint: Record<string, string>;
  writes: Record<string, string>;
}

const path = new URL('../../../clients/python/tests/langgraph-layout.json', import.meta.url);
const fixture = JSON.parse(readFileSync(path, 'utf8')) as Fixture;
const branch = { thread: 'chat-7', namespace: 'child:1' };
const frame = (type: string, text: string) => ({ type, bytes: Buffer.from(text) });

it('has the same keys', () => {
  for (const [text, segment] of fixture.segments) expect(keySegment(text)).toBe(segment);
  expect(checkpointKey(branch, '1f0-a')).toBe(fixture.checkpointKey);
  expect(writesKey(branch, '1f0-a', 'task 1')).toBe(fixture.writesKey);
  expect(headKey(branch)).toBe(fixture.headKey);
  expect(keysOf(branch, ['1f0-a', 'c text', 2])).toEqual(fixture.blobKeys);
  expect(keysOf(branch, ['1f0-a', 'p.0', 0, 9])).toEqual([fixture.checkpointKey]);
});

it('has the same bytes', () => {
  const old: BlobRef = ['1f0-0', 'p.0123456789ab', 0, 900];
  const fresh: BlobRef = ['1f0-a', 'c log ba9876543210', 1, 20_000];
  const pieces = [
    { blob: old, from: 0, length: 899 },
    { blob: fresh, from: 0, length: 15_000 },
    { blob: old, from: 899, length: 1 },
    { blob: fresh, from: 15_000, length: 5_000 },
  ];
  const record: CheckpointRecord = {
    branch,
    id: '1f0-a',
    parentId: '1f0-0',
    storedAt: 1_700_000_000_000,
    channels: new Map([
      ['short', { version: 3, value: 0 }],
      ['text', { version: '3.5', value: ['1f0-0', 'c text', 2] }],
      ['blob', { version: 4, value: old }],
      ['log', { version: 5, value: { id: 'aabbccddeeff', type: 'json', pieces } }],
    ]),
    checkpoint: frame('json', '{"v":4}'),
    metadata: frame('json', '{}'),
    values: [{ type: 'msgpack', bytes: Buffer.from(Array.from({ length: 200 }, (_, at) => at)) }],
  };
  const encoded = encodeCheckpoint(record, { compress: false, fieldBytes: fixture.fieldBytes, sealed: false });
  const base64 = Object.entries(encoded).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  expect(Object.fromEntries(base64)).toEqual(fixture.checkpoint);
  expect(decodeCheckpoint(bytesOf(fixture.checkpoint))).toEqual(record);
  expect(isBlobField('p.0123456789ab.1')).toBe(true);
  expect(smallBlobId('1f0-0', 'p.0123456789ab.1')).toBe('1f0-0 p.0123456789ab');
  const writes = decodeWrites(bytesOf(fixture.writes));
  expect(writes.map(({ task, index, channel, blob }) => [task, index, channel, blob])).toEqual([
    ['task 1', 0, 'text', ['1f0-a', 'w task 1 0 x', 1]],
    ['task 1', 1, 'short', null],
  ]);
  expect(Buffer.from(writes[1]!.value.bytes).toString()).toBe('1');
});

it('reads checkpoints of earlier versions, and rejects those of later ones', () => {
  const record = decodeCheckpoint(bytesOf(fixture.firstCheckpoint))!;
  expect([...record.channels]).toEqual([
    ['short', { version: 3, value: 0 }],
    ['text', { version: '3.5', value: ['1f0-0', 'c text', 2] }],
  ]);
  expect(record.values).toHaveLength(1);
  const later = cutIntoFields('c', packFrames([frame('tidemark.checkpoint.3', '{}')]), 1_000);
  expect(() => decodeCheckpoint(later)).toThrow('is not known to this version');
});

function bytesOf(fields: Record<string, string>): Record<string, Uint8Array> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, Buffer.from(value, 'base64')]));
}
