/**
 * The blobs primitive on JetStream: chunks under an upload of their own, then a record under the hash that names the upload.
 * Uploads that no record names are removed a day later.
 */
import type {
  BlobInfo,
  BlobSource,
  Blobs,
  EngineCall,
  RecordName,
  RecordSpace,
  StoredRecord,
} from '@tidemark/core/engine';
import type { Messages } from './messages.ts';
import type { NatsRecords } from './records.ts';
import type { Writer } from './writer.ts';

export interface BlobParts {
  messages: Messages;
  writer: Writer;
  records: NatsRecords;
  clock: () => number;
  random: (length: number) => Uint8Array;
}

/** The records of blobs have a space of their own, and one tenant, so that they are listed over all tenants. */
const SPACE = 'blobs' as RecordSpace;
const EVERYBODY = 'all';
const ABANDONED_AFTER_MS = 24 * 60 * 60_000;
/** Chunks read ahead. */
const AHEAD = 4;

export class NatsBlobs implements Blobs {
  readonly #parts: BlobParts;

  constructor(parts: BlobParts) {
    this.#parts = parts;
  }

  async put(tenantId: string, source: BlobSource, call: EngineCall): Promise<void> {
    const { records, clock, random } = this.#parts;
    const upload = `${clock().toString(36)}-${Buffer.from(random(12)).toString('hex')}`;
    let sizeBytes = 0;
    let chunks = 0;
    try {
      for await (const chunk of source.chunks) {
        await this.#parts.writer.publish({ subject: this.#chunk(upload, chunks++), headers: {}, body: chunk }, call);
        sizeBytes += chunk.length;
      }
    } catch (error) {
      await this.#remove(upload, call).catch(() => {});
      throw error;
    }
    const name = nameOf(tenantId, source.sha256());
    const info = fieldsOf({ upload, chunks, sizeBytes });
    const renewedAt = fieldsOf({ renewedAt: clock() });
    const { applied } = await records.write(
      { name, mode: 'merge', expect: { exists: false }, set: new Map([...info, ...renewedAt]) },
      call,
    );
    if (applied) return;
    const renewed = await records.write({ name, mode: 'merge', expect: { exists: true }, set: renewedAt }, call);
    // Swept between the two steps: the bytes that were just stored take its place.
    if (!renewed.applied) await records.write({ name, mode: 'merge', set: new Map([...info, ...renewedAt]) }, call);
    else if (textOf(renewed.record!, 'upload') !== upload) await this.#remove(upload, call);
  }

  async get(tenantId: string, sha256: string, call: EngineCall): Promise<AsyncIterable<Uint8Array> | null> {
    const [record] = await this.#parts.records.get([nameOf(tenantId, sha256)], call);
    return record ? this.#chunks(textOf(record, 'upload'), Number(textOf(record, 'chunks')), call) : null;
  }

  async *#chunks(upload: string, count: number, call: EngineCall): AsyncGenerator<Uint8Array> {
    const reads: Promise<Uint8Array>[] = [];
    const read = async (at: number) => {
      const message = await this.#parts.messages.last(this.#chunk(upload, at), call);
      if (!message) throw new Error(`Chunk ${at} of an artifact is gone: it was removed while it was read`);
      return new Uint8Array(message.data);
    };
    for (let at = 0; at < count; at++) {
      while (reads.length < Math.min(count, at + AHEAD)) {
        const reading = read(reads.length);
        reading.catch(() => {});
        reads.push(reading);
      }
      yield await reads[at]!;
    }
  }

  async list(after: { tenantId: string; sha256: string } | null, limit: number, call: EngineCall): Promise<BlobInfo[]> {
    if (after === null) await this.#removeAbandoned(call);
    const from = after && nameOf(after.tenantId, after.sha256).key;
    const found = await this.#parts.records.scan(SPACE, EVERYBODY, { prefix: '', after: from, limit }, call);
    return found.map((record) => {
      const [tenantId, sha256] = record.key.split('\0') as [string, string];
      const [sizeBytes, renewedAt] = [Number(textOf(record, 'sizeBytes')), Number(textOf(record, 'renewedAt'))];
      return { tenantId, sha256, sizeBytes, renewedAt };
    });
  }

  async remove(tenantId: string, sha256: string, renewedBefore: number, call: EngineCall): Promise<boolean> {
    const name = nameOf(tenantId, sha256);
    const [record] = await this.#parts.records.get([name], call);
    if (!record || Number(textOf(record, 'renewedAt')) >= renewedBefore) return false;
    const expect = { revision: record.revision };
    const { applied } = await this.#parts.records.write({ name, mode: 'delete', expect, set: new Map() }, call);
    if (applied) await this.#remove(textOf(record, 'upload'), call);
    return applied;
  }

  clear(tenantId: string, call: EngineCall): Promise<void> {
    return this.#parts.records.clear(SPACE, EVERYBODY, nameOf(tenantId, '').key, call);
  }

  /** Uploads whose process ended before it could name them. */
  async #removeAbandoned(call: EngineCall): Promise<void> {
    const subjects = await this.#parts.messages.subjects(`${this.#uploads}.*.0`, call);
    const old = subjects
      .map((subject) => subject.split('.').at(-2)!)
      .filter((upload) => Number.parseInt(upload, 36) < this.#parts.clock() - ABANDONED_AFTER_MS);
    if (old.length === 0) return;
    const named = new Set<string>();
    let after: string | null = null;
    do {
      const page = await this.#parts.records.scan(SPACE, EVERYBODY, { prefix: '', after, limit: 1_000 }, call);
      for (const record of page) named.add(textOf(record, 'upload'));
      after = page.at(-1)?.key ?? null;
    } while (after !== null);
    for (const upload of old) if (!named.has(upload)) await this.#remove(upload, call);
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

/** Tenants have no NUL, so keys sort by tenant, then hash. */
function nameOf(tenantId: string, sha256: string): RecordName {
  return { space: SPACE, tenantId: EVERYBODY, key: `${tenantId}\0${sha256}` };
}

function fieldsOf(values: Record<string, string | number>): Map<string, Uint8Array> {
  return new Map(Object.entries(values).map(([name, value]) => [name, Buffer.from(String(value))]));
}

function textOf({ fields }: StoredRecord, name: string): string {
  return Buffer.from(fields.get(name)!).toString();
}
