/** Large blobs in a directory: stored completely or not at all, under names that callers cannot choose (AGT-11). */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_CHUNKS, sha256Hex } from '@tidemark/core/engine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { directoryBlobs } from './blobs.ts';

const BYTES = new Uint8Array(600_000).fill(7);
const HASH = sha256Hex(BYTES);

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-blobs-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function source(bytes: Uint8Array) {
  async function* chunks() {
    for (let from = 0; from < bytes.length; from += 262_144) yield bytes.subarray(from, from + 262_144);
  }
  return { chunks: chunks(), sha256: () => sha256Hex(bytes) };
}

async function store(tenantId: string): Promise<void> {
  const staged = await directoryBlobs(directory).stage(source(BYTES));
  expect(await staged.place(tenantId)).toBe(true);
  await staged.discard();
}

async function read(tenantId: string): Promise<Buffer | null> {
  const chunks = await directoryBlobs(directory).get(tenantId, HASH, null, ALL_CHUNKS);
  if (chunks === null) return null;
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

function files(): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
}

describe('blobs in a directory', () => {
  it('are returned unchanged, per tenant; file names reveal neither tenant nor hash', async () => {
    await store('../evil');
    expect((await read('../evil'))?.equals(BYTES)).toBe(true);
    expect(await read('other')).toBe(null);
    expect(files()).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(files()[0]).not.toBe(HASH);
  });

  it('are invisible before they are placed, and gone when they are discarded', async () => {
    const staged = await directoryBlobs(directory).stage(source(BYTES));
    expect(staged.sizeBytes).toBe(BYTES.length);
    expect(await read('t')).toBe(null);
    await staged.discard();
    expect(files()).toEqual([]);
  });

  it('of a failing source leave nothing behind', async () => {
    async function* breaking() {
      yield BYTES;
      throw new Error('the source broke');
    }
    const stage = directoryBlobs(directory).stage({ chunks: breaking(), sha256: () => HASH });
    await expect(stage).rejects.toThrow('the source broke');
    expect(files()).toEqual([]);
  });

  it('are repaired by storing them again', async () => {
    await store('t');
    const path = join(directory, files()[0]!.slice(0, 2), files()[0]!);
    writeFileSync(path, readFileSync(path).fill(0, 10, 11));
    await store('t');
    expect((await read('t'))?.equals(BYTES)).toBe(true);
  });

  it('are removed, and removing absent ones succeeds', async () => {
    const blobs = directoryBlobs(directory);
    await store('t');
    await blobs.remove('t', HASH);
    expect(files()).toEqual([]);
    await blobs.remove('t', HASH);
    await blobs.remove('never stored', HASH);
  });

  it('stay readable for an open reader after they are removed', async () => {
    const blobs = directoryBlobs(directory);
    await store('t');
    const chunks = (await blobs.get('t', HASH, null, ALL_CHUNKS))![Symbol.asyncIterator]();
    const first = await chunks.next();
    await blobs.remove('t', HASH);
    let bytes = (first.value as Uint8Array).length;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) bytes += next.value.length;
    expect(bytes).toBe(BYTES.length);
  });

  it('that a sweep removed as abandoned are not placed', async () => {
    const blobs = directoryBlobs(directory);
    const staged = await blobs.stage(source(BYTES));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await blobs.removeLeft(10);
    expect(await staged.place('t')).toBe(false);
    expect(await read('t')).toBe(null);
  });

  it('of an interrupted upload are removed when they are old', async () => {
    const blobs = directoryBlobs(directory);
    await blobs.stage(source(BYTES));
    await blobs.removeLeft(60_000);
    expect(files()).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await blobs.removeLeft(10);
    expect(files()).toEqual([]);
    expect(existsSync(directory)).toBe(true);
  });
});
