/**
 * Pieces of an upload whose hash is not known yet. The hash determines the bucket, so the bucket is not known either. A
 * few pieces are held in memory. A longer upload is kept in Redis under a temporary key in a separate bucket.
 */
import { type EngineCall, sumBytes } from '@tidemark/core/engine';
import type { Commands } from './commands.ts';
import type { Layout } from './layout.ts';
import { ADD_PIECE } from './scripts.ts';

/** How long the pieces of an interrupted upload are kept. */
export const UPLOAD_LIVES_MS = 3_600_000;
/** The maximum number of pieces of 256 KiB that one upload holds in memory. */
const MAX_HELD = 4;

export class StagedPieces {
  readonly #commands: Commands;
  readonly #bucket: number;
  readonly #key: string;
  #held: Uint8Array[] = [];
  /** Checksums of the pieces in Redis, to detect a change before they become a blob. */
  readonly #sums: number[] = [];
  #isLost = false;

  constructor(commands: Commands, layout: Layout, tenantId: string) {
    const id = crypto.randomUUID();
    this.#commands = commands;
    this.#bucket = layout.bucketOf(tenantId, id);
    this.#key = `${layout.tenants(this.#bucket, 'blob-upload', tenantId)}:${id}`;
  }

  async add(piece: Uint8Array, call: EngineCall): Promise<void> {
    this.#held.push(new Uint8Array(piece));
    if (this.#held.length <= MAX_HELD && this.#sums.length === 0) return;
    const held = this.#held;
    this.#held = [];
    for (const it of held) await this.#store(it, call);
  }

  /** If the pieces have expired, the source is still read to its end, because only then is its hash known. */
  async #store(piece: Uint8Array, call: EngineCall): Promise<void> {
    const args = [String(this.#sums.length), Buffer.from(piece), String(UPLOAD_LIVES_MS)];
    this.#sums.push(sumBytes(piece, 0));
    if (!this.#isLost)
      this.#isLost = (await this.#commands.write(this.#bucket, ADD_PIECE, [this.#key], args, call)) !== 1;
  }

  /** Yields the pieces in order, or ends early with `null` when they have expired or were changed. */
  async *read(call: EngineCall): AsyncGenerator<Uint8Array | null> {
    yield* this.#held;
    for (const [at, sum] of this.#sums.entries()) {
      const piece = this.#isLost ? null : await this.#load(at, call);
      const isIntact = piece !== null && sumBytes(piece, 0) === sum;
      yield isIntact ? piece : null;
      if (!isIntact) return;
    }
  }

  #load(at: number, call: EngineCall): Promise<Buffer | null> {
    return this.#commands.read(this.#bucket, ['LINDEX', this.#key, String(at)], call) as Promise<Buffer | null>;
  }

  async discard(call: EngineCall): Promise<void> {
    if (this.#sums.length > 0) await this.#commands.put(this.#bucket, ['UNLINK', this.#key], call);
  }
}
