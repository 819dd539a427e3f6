/**
 * Keeps all processes that use a file on the same clock after the machine's clock was set back. Processes that had the
 * file open continue ahead of the machine's clock and store their time in the file. Processes that open it later, or
 * notice later, follow. A stored time is valid while its process renews it, so once all processes are closed, the file
 * follows the machine's clock again.
 */
import type { EngineCall, SteadyClock } from '@tidemark/core/engine';
import type { Database } from './database.ts';

/** A smaller difference is ignored, because the two clocks are not read at the same moment. */
const AHEAD_MS = 1_000;
/**
 * How long a stored time is valid. Every round of the cleaner renews it, so a live process would have to miss several
 * renewals.
 */
const FRESH_MS = 30_000;

const LOOK = 'SELECT time, counter FROM @store_clock';
const NOTE = `
  INSERT INTO @store_clock AS stored (id, time, counter) VALUES (1, ?, ?)
  ON CONFLICT (id) DO UPDATE SET time = excluded.time, counter = excluded.counter`;

/** Milliseconds since the machine started, the same for all its processes. */
function machineUptime(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

export class SharedClock {
  readonly #database: Database;
  readonly #clock: SteadyClock;
  readonly #uptime: () => number;

  constructor(database: Database, clock: SteadyClock, uptime = machineUptime) {
    this.#database = database;
    this.#clock = clock;
    this.#uptime = uptime;
  }

  /** Follows a process that is ahead, and stores the time for others while this process is ahead. */
  async share(call: EngineCall): Promise<void> {
    const [note] = await this.#database.read<{ time: number; counter: number }>(LOOK, [], call);
    const ageMs = note ? this.#uptime() - note.counter : -1;
    if (note && ageMs >= 0 && ageMs <= FRESH_MS) this.#clock.advanceTo(note.time + ageMs);
    if (this.#clock.aheadMs() < AHEAD_MS) return;
    await this.#database.write(async (tx) => {
      await tx.all(NOTE, [this.#clock.now(), this.#uptime()]);
    }, call);
  }
}
