/** Loads large pages through a file in a bucket and `COPY INTO`, instead of inside a request. */
import { checkInteger } from '@tidemark/core/engine';
import { checkStageName, type SnowflakeStage } from './options.ts';
import type { SqlApi } from './sql-api.ts';
import { clearInbox, copyPage, mergeInbox, type TimeRange } from './statements.ts';

/** Files and rows that are older than this were left behind by a killed process. */
const LEFT_AFTER_MS = 24 * 60 * 60 * 1_000;
const PREFIX = 'page-';

export class Stage {
  readonly fromEvents: number;
  readonly #name: string;
  readonly #target: SnowflakeStage['target'];
  readonly #schemaName: string;

  constructor({ name, target, fromEvents }: SnowflakeStage, schemaName: string) {
    this.#name = checkStageName(name);
    this.#target = target;
    this.#schemaName = schemaName;
    this.fromEvents = checkInteger(fromEvents ?? 1_000, 'stage.fromEvents', 1);
  }

  /** Merges rows that are given as JSON texts. */
  async merge(rows: readonly string[], times: TimeRange, api: SqlApi, signal: AbortSignal): Promise<void> {
    const file = `${PREFIX}${Date.now()}-${crypto.randomUUID()}.jsonl`;
    await this.#target.put(
      file,
      (async function* () {
        yield Buffer.from(`${rows.join('\n')}\n`);
      })(),
    );
    try {
      for (const { text, binds } of [
        copyPage(this.#schemaName, this.#name, file),
        mergeInbox(this.#schemaName, file, times),
        clearInbox(this.#schemaName, file),
      ])
        await api.run(text, binds, signal);
    } finally {
      await this.#target.delete(file);
    }
  }

  /** Deletes files that killed processes left. */
  async purge(): Promise<void> {
    for await (const file of this.#target.list(PREFIX)) {
      const writtenAt = Number(file.slice(PREFIX.length).split('-')[0]);
      if (Date.now() - writtenAt > LEFT_AFTER_MS) await this.#target.delete(file);
    }
  }
}
