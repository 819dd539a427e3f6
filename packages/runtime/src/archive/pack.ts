/** Packs: files with the blocks of several runs, written in one go and verified while they are read. */
import { createHash } from 'node:crypto';
import { type ExportedRun, isTidemarkError, type RunPart, type TidemarkError } from '@tidemark/core';
import { BlockReader, corrupt, encodeBlock } from './block.ts';
import { compressed, decompressed } from './compression.ts';
import type { Location } from './names.ts';
import type { ArchiveTarget } from './target.ts';

/** A run of a pack. `start` and `end` are its byte range before compression. */
export interface PackedRun {
  tenantId: string;
  runId: string;
  events: number;
  /** The last link, in hex. */
  head: string;
  /** The `rewrites` of the exported run. Packs of older versions omit it, which means 0. */
  rewrites?: number;
  start: number;
  end: number;
}

/** Contents and checksum of a pack. */
export interface PackContent {
  runs: PackedRun[];
  /** Hash of the file. */
  sha256: string;
  bytes: number;
  /** Size before compression. */
  plainBytes: number;
}

/** The tenant and id of a run. */
export interface RunRef {
  tenantId: string;
  runId: string;
}

export interface PackWriting {
  exportRun(run: RunRef): AsyncIterable<RunPart>;
  /** Called for a run that could not be exported. The others are still packed. */
  onSkipped(run: RunRef, error: TidemarkError): void;
  /** Called after each run; returning `false` ends the pack. */
  goOn(plainBytes: number): boolean;
}

/** Writes runs to a pack until `goOn` returns `false`. */
export async function writePack(
  target: ArchiveTarget,
  name: string,
  runs: Iterable<RunRef>,
  writing: PackWriting,
): Promise<PackContent> {
  const content: PackContent = { runs: [], sha256: '', bytes: 0, plainBytes: 0 };
  const hash = createHash('sha256');
  const counted = async function* () {
    for await (const chunk of compressed(blocksOf(runs, content, writing))) {
      hash.update(chunk);
      content.bytes += chunk.length;
      yield chunk;
    }
  };
  await target.put(name, counted());
  content.sha256 = hash.digest('hex');
  return content;
}

async function* blocksOf(runs: Iterable<RunRef>, content: PackContent, writing: PackWriting): AsyncGenerator<Buffer> {
  for (const run of runs) {
    const start = content.plainBytes;
    let exported: ExportedRun | undefined;
    const parts = async function* () {
      for await (const part of writing.exportRun(run)) {
        exported = part.run;
        yield part;
      }
    };
    try {
      for await (const line of encodeBlock(parts())) {
        content.plainBytes += line.length;
        yield line;
      }
    } catch (error) {
      if (!isTidemarkError(error) || error.retryable) throw error;
      writing.onSkipped(run, error);
      continue;
    }
    const { tenantId, runId, lastEventSeq: events, head, rewrites } = exported!;
    content.runs.push({ tenantId, runId, events, head, rewrites, start, end: content.plainBytes });
    if (!writing.goOn(content.plainBytes)) return;
  }
}

/**
 * Yields the parts of one run of a pack. The identity of the run is checked in the same bytes that are yielded, so that
 * replacing the file after the check cannot expose another run. If they belong to another run, throws `onOther()`
 * before the first part.
 */
export async function* readPacked(
  target: ArchiveTarget,
  location: Location,
  { tenantId, runId }: RunRef,
  onOther: () => TidemarkError,
): AsyncGenerator<RunPart, void, undefined> {
  const reader = new BlockReader();
  let blocks = 0;
  for await (const { bytes } of linesOf(plainOf(await contentOf(target, location.pack), location.pack), location)) {
    const part = reader.take(bytes);
    const { opened } = reader;
    if (opened && (opened.tenantId !== tenantId || opened.runId !== runId)) throw onOther();
    if (opened && ++blocks > 1) throw corrupt(`${location.pack} has several runs where one was expected`);
    if (part) yield part;
  }
  if (!reader.finished) throw corrupt(`${location.pack} ends within a run`);
}

/** Reads a whole pack and returns its problems. The list is empty if the pack is intact. */
export async function problemsOf(target: ArchiveTarget, name: string, content: PackContent): Promise<string[]> {
  const hash = createHash('sha256');
  const missing = new Map(content.runs.map((run) => [`${run.start}-${run.end}`, run]));
  const hashed = async function* () {
    for await (const chunk of await contentOf(target, name)) {
      hash.update(chunk);
      yield chunk;
    }
  };
  try {
    const reader = new BlockReader();
    let start = 0;
    for await (const { bytes, at } of linesOf(plainOf(hashed(), name))) {
      reader.take(bytes);
      if (reader.opened) start = at;
      const key = `${start}-${at + bytes.length}`;
      const run = reader.finished && missing.get(key);
      if (run && isSame(run, reader.finished!)) missing.delete(key);
    }
  } catch (error) {
    return [`${name}: ${(error as Error).message}`];
  }
  if (hash.digest('hex') !== content.sha256) return [`${name} does not match its checksum`];
  return [...missing.values()].map(({ runId }) => `${name} lacks run ${JSON.stringify(runId)}`);
}

function isSame(run: PackedRun, found: ExportedRun): boolean {
  return (
    run.tenantId === found.tenantId &&
    run.runId === found.runId &&
    run.events === found.lastEventSeq &&
    run.head === found.head
  );
}

async function contentOf(target: ArchiveTarget, name: string): Promise<AsyncIterable<Uint8Array>> {
  const content = await target.get(name);
  if (!content) throw corrupt(`${name} is missing`);
  return content;
}

async function* plainOf(content: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  try {
    yield* decompressed(name, content);
  } catch (error) {
    throw isTidemarkError(error) ? error : corrupt(`${name} cannot be read: ${(error as Error).message}`);
  }
}

/** Yields the complete lines of a file or of a byte range, with their offsets. */
async function* linesOf(
  content: AsyncIterable<Uint8Array>,
  { start, end }: { start: number; end: number } = { start: 0, end: Number.POSITIVE_INFINITY },
): AsyncGenerator<{ bytes: Buffer; at: number }> {
  let pieces: Uint8Array[] = [];
  let [at, offset] = [start, 0];
  for await (const chunk of content) {
    let from = Math.max(0, start - offset);
    for (let stop = chunk.indexOf(10, from); stop !== -1 && offset + stop < end; stop = chunk.indexOf(10, from)) {
      const bytes = Buffer.concat([...pieces, chunk.subarray(from, stop + 1)]);
      yield { bytes, at };
      at += bytes.length;
      from = stop + 1;
      pieces = [];
    }
    offset += chunk.length;
    if (offset >= end) return;
    if (from < chunk.length) pieces.push(chunk.subarray(from));
  }
  if (pieces.length > 0) throw corrupt('its last line has no end');
}
