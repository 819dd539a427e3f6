/**
 * The blobs primitive on JetStream: the chunks of an upload are stored first, then a record under the blob's hash that
 * refers to the upload. Uploads without a record are removed after a day.
 */
import { TidemarkError } from '@tidemark/core';
import {
  type BlobInfo,
  type BlobSource,
  type Blobs,
  type ChunkRange,
  corruptValue,
  type EngineCall,
  type RecordName,
  type RecordSpace,
  type StagedBlob,
  type StoredRecord,
} from '@tidemark/core/engine';
import { HEADER } from './messages/headers.ts';
import { isIntact, messageSum } from './messages/message-sums.ts';
import type { Messages } from './messages/messages.ts';
import type { Writer } from './messages/writer.ts';
import type { NatsRecords } from './records.ts';

export interface BlobParts {
  messages: Messages;
  writer: Writer;
  records: NatsRecords;
  clock: () => number;
  random: (length: number) => Uint8Array;
}

/** Published chunks to which no record is known to refer. */
interface StagedUpload {
  upload: string;
  info: ReadonlyMap<string, Uint8Array>;
  startedAt: number;
  isReferenced: boolean;
}

/** The records of blobs have their own space and a single tenant, so that they can be listed across all tenants. */
const SPACE = 'blobs' as RecordSpace;
const EVERYBODY = 'all';
/** Records of removals in progress, by upload. A later sweep uses them to finish removals that a crash interrupted. */
const NOTES = 'removals';
const NOTED_FOR_MS = 24 * 60 * 60_000;
const ABANDONED_AFTER_MS = 24 * 60 * 60_000;
/** Number of chunks read ahead. */
const AHEAD = 4;

export class NatsBlobs implements Blobs {
  readonly #parts: BlobParts;

  constructor(parts: BlobParts) {
    this.#parts = parts;
  }

  async stage(tenantId: string, source: BlobSource, call: EngineCall): Promise<StagedBlob> {
    const { clock, random } = this.#parts;
    const startedAt = clock();
    const upload = `${startedAt.toString(36)}-${Buffer.from(random(12)).toString('hex')}`;
    let sizeBytes = 0;
    let chunks = 0;
    try {
      for await (const chunk of source.chunks) {
        const subject = this.#chunk(upload, chunks++);
        const headers = { [HEADER.sum]: messageSum(subject, {}, chunk) };
        await this.#parts.writer.publish({ subject, headers, body: chunk }, call);
        sizeBytes += chunk.length;
      }
    } catch (error) {
      await this.#remove(upload, call).catch(() => {});
      throw error;
    }
    const name = nameOf(tenantId, source.sha256());
    const staged = { upload, info: fieldsOf({ upload, chunks, sizeBytes }), startedAt, isReferenced: false };
    return {
      keep: (call) => this.#keep(name, staged, call),
      discard: async (call) => {
        if (!staged.isReferenced) await this.#remove(upload, call);
      },
    };
  }

  /** Writes a record that refers to the upload, or renews the existing record. */
  async #keep(name: RecordName, staged: StagedUpload, call: EngineCall): Promise<boolean> {
    const { records, clock } = this.#parts;
    for (;;) {
      const renewedAt = fieldsOf({ renewedAt: clock() });
      const renewed = await records.write({ name, mode: 'merge', expect: { exists: true }, set: renewedAt }, call);
      if (renewed.applied) return true;
      // An upload with a record is removed together with it. A sweep may already be removing an upload this old as
      // abandoned.
      if (staged.isReferenced || staged.startedAt < clock() - ABANDONED_AFTER_MS / 2) return false;
      // Set before the write, because the outcome of the write may stay unknown and an upload to which a record may
      // refer must not be discarded.
      staged.isReferenced = true;
      const set = new Map([...staged.info, ...renewedAt]);
      if ((await records.write({ name, mode: 'merge', expect: { exists: false }, set }, call)).applied) return true;
      staged.isReferenced = false;
    }
  }

  async get(
    tenantId: string,
    sha256: string,
    { from, to }: ChunkRange,
    call: EngineCall,
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const [record] = await this.#parts.records.get([nameOf(tenantId, sha256)], call);
    if (!record) return null;
    const range = { from, to: Math.min(to, Number(textOf(record, 'chunks'))) };
    return this.#chunks(nameOf(tenantId, sha256), textOf(record, 'upload'), range, call);
  }

  async *#chunks(
    name: RecordName,
    upload: string,
    { from, to }: ChunkRange,
    call: EngineCall,
  ): AsyncGenerator<Uint8Array> {
    const reads: Promise<Uint8Array>[] = [];
    const read = async (at: number) => {
      const message = await this.#parts.messages.last(this.#chunk(upload, at), call);
      if (!message) throw await this.#missingChunk(name, upload, at, call);
      if (!isIntact(message.subject, message.headers, message.data)) throw corruptValue('artifact chunk', String(at));
      return new Uint8Array(message.data);
    };
    for (let at = from; at < to; at++) {
      while (from + reads.length < Math.min(to, at + AHEAD)) {
        const reading = read(from + reads.length);
        reading.catch(() => {});
        reads.push(reading);
      }
      yield await reads[at - from]!;
    }
  }

  /**
   * The record that names the chunks is always removed before them, so a missing chunk that a record still names was
   * lost.
   */
  async #missingChunk(name: RecordName, upload: string, at: number, call: EngineCall): Promise<Error> {
    const [record] = await this.#parts.records.get([name], call);
    if (record && textOf(record, 'upload') === upload) return corruptValue('artifact chunk', String(at));
    return new TidemarkError('UNAVAILABLE', `Chunk ${at} of an artifact was removed while it was read`);
  }

  async info(tenantId: string, hashes: readonly string[], call: EngineCall): Promise<BlobInfo[]> {
    await this.#finishRemovals(call);
    const names = hashes.map((sha256) => nameOf(tenantId, sha256));
    const found = await this.#parts.records.get(names, call);
    return found.flatMap((record, at) => (record ? [infoOf(names[at]!.key, record)] : []));
  }

  async list(after: { tenantId: string; sha256: string } | null, limit: number, call: EngineCall): Promise<BlobInfo[]> {
    if (after === null) {
      await this.#finishRemovals(call);
      await this.#removeAbandoned(call);
    }
    const from = after && nameOf(after.tenantId, after.sha256).key;
    const found = await this.#parts.records.scan(SPACE, EVERYBODY, { prefix: '', after: from, limit }, call);
    return found.filter(({ damaged }) => !damaged).map((record) => infoOf(record.key, record));
  }

  async remove(
    { tenantId, sha256, version }: Pick<BlobInfo, 'tenantId' | 'sha256' | 'version'>,
    call: EngineCall,
  ): Promise<boolean> {
    const name = nameOf(tenantId, sha256);
    const [record] = await this.#parts.records.get([name], call);
    if (!record || String(record.revision) !== version) return false;
    const upload = textOf(record, 'upload');
    const note = noteOf(upload);
    const { records } = this.#parts;
    await records.write({ name: note, mode: 'replace', set: fieldsOf({ upload }), ttlMs: NOTED_FOR_MS }, call);
    const expect = { revision: record.revision };
    const { applied } = await records.write({ name, mode: 'delete', expect, set: new Map() }, call);
    if (applied) await this.#remove(upload, call);
    await records.write({ name: note, mode: 'delete', set: new Map() }, call);
    return applied;
  }

  /** Removes chunks that an interrupted removal left behind after removing the record. */
  async #finishRemovals(call: EngineCall): Promise<void> {
    const { records } = this.#parts;
    const notes = await records.scan(SPACE, NOTES, { prefix: '', after: null, limit: 1_000 }, call);
    if (notes.length === 0) return;
    // Another process may be in the middle of a removal and may not have removed the record yet.
    const named = await this.#named(call);
    for (const { key: upload } of notes) {
      if (named.has(upload)) continue;
      await this.#remove(upload, call);
      await records.write({ name: noteOf(upload), mode: 'delete', set: new Map() }, call);
    }
  }

  clear(tenantId: string, call: EngineCall): Promise<void> {
    return this.#parts.records.clear(SPACE, EVERYBODY, nameOf(tenantId, '').key, call);
  }

  /** Removes uploads whose process ended before writing their record. */
  async #removeAbandoned(call: EngineCall): Promise<void> {
    const subjects = await this.#parts.messages.subjects(`${this.#uploads}.*.0`, call);
    const old = subjects
      .map((subject) => subject.split('.').at(-2)!)
      .filter((upload) => Number.parseInt(upload, 36) < this.#parts.clock() - ABANDONED_AFTER_MS);
    if (old.length === 0) return;
    const named = await this.#named(call);
    for (const upload of old) if (!named.has(upload)) await this.#remove(upload, call);
  }

  /** Returns the uploads that have a record. */
  async #named(call: EngineCall): Promise<ReadonlySet<string>> {
    const named = new Set<string>();
    let after: string | null = null;
    do {
      const page = await this.#parts.records.scan(SPACE, EVERYBODY, { prefix: '', after, limit: 1_000 }, call);
      for (const record of page) {
        // The upload of a damaged record is unknown, so no upload is certain to be unreferenced.
        if (record.damaged) throw corruptValue('artifact', record.key.split('\0')[1]!);
        named.add(textOf(record, 'upload'));
      }
      after = page.at(-1)?.key ?? null;
    } while (after !== null);
    return named;
  }

  async #remove(upload: string, call: EngineCall): Promise<void> {
    await this.#parts.messages.purge(`${this.#uploads}.${upload}.>`, undefined, call);
  }

  #chunk(upload: string, at: number): string {
    return `${this.#uploads}.${upload}.${at}`;
  }

  get #uploads(): string {
    return `${this.#parts.messages.subject}.uploads`;
  }
}

/** Tenants contain no NUL, so keys sort by tenant, then hash. */
function nameOf(tenantId: string, sha256: string): RecordName {
  return { space: SPACE, tenantId: EVERYBODY, key: `${tenantId}\0${sha256}` };
}

function noteOf(upload: string): RecordName {
  return { space: SPACE, tenantId: NOTES, key: upload };
}

function infoOf(key: string, record: StoredRecord): BlobInfo {
  const [tenantId, sha256] = key.split('\0') as [string, string];
  const [sizeBytes, renewedAt] = [Number(textOf(record, 'sizeBytes')), Number(textOf(record, 'renewedAt'))];
  return { tenantId, sha256, sizeBytes, renewedAt, version: String(record.revision) };
}

function fieldsOf(values: Record<string, string | number>): Map<string, Uint8Array> {
  return new Map(Object.entries(values).map(([name, value]) => [name, Buffer.from(String(value))]));
}

function textOf({ fields }: StoredRecord, name: string): string {
  return Buffer.from(fields.get(name)!).toString();
}
