/**
 * Keeps the processes on one file on one clock after the machine's clock was set back. Those that were open go on ahead of it;
 * they note their time in the file, and those that open it later, or notice later, follow. A note counts as long as its
 * process renews it: when all were closed, the file goes by the machine's clock again.
 */
import type { EngineCall, SteadyClock } from '@tidemark/core/engine';
import type { Database } from './database.ts';

/** Less than this is a matter of when two clocks were read. */
const AHEAD_MS = 1_000;
/** A note is renewed with every round of the cleaner, so that a process that is alive misses several before this. */
const FRESH_MS = 30_000;

const LOOK = 'SELECT time, counter FROM @store_clock';
const NOTE = `
  INSERT INTO @store_clock AS stored (id, time, counter) VALUES (1, ?, ?)
  ON CONFLICT (id) DO UPDATE SET time = excluded.time, counter = excluded.counter`;

/** Milliseconds since the machine was started, the same for all its processes. */
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

  /** Follows a process that is ahead, and notes the time for others while this one is. */
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
