/**
 * Follows the marker of a store: the newest format of the chain that its writers may use (UPG-1). The marker only
 * rises. A writer that has not read the raised marker yet writes the old format, which remains valid.
 */
import { type ChainFormat, NEWEST_CHAIN_FORMAT } from './chain.ts';

/** How long a marker may be out of date. */
const FRESH_MS = 5_000;

export class ChainMarker {
  #format: ChainFormat;
  readonly #read: () => Promise<ChainFormat>;
  #readAt = performance.now();

  /**
   * @param format the marker when the store was opened
   * @param read reads the marker again
   */
  constructor(format: ChainFormat, read: () => Promise<ChainFormat>) {
    this.#format = format;
    this.#read = read;
  }

  /**
   * Returns the format of the next commit. Until the marker is raised, reads it again in the background from time to
   * time.
   */
  readonly current = (): ChainFormat => {
    if (this.#format < NEWEST_CHAIN_FORMAT && performance.now() - this.#readAt > FRESH_MS) void this.refresh();
    return this.#format;
  };

  /** Reads the marker. A failed read is repeated later: the old format is always safe. */
  async refresh(): Promise<void> {
    this.#readAt = performance.now();
    const format = await this.#read().catch(() => this.#format);
    if (format > this.#format) this.#format = format;
  }
}
