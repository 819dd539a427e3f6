/** `import v1`: imports events of version 1 of the event contract from JSON lines or a table. */
import type { AppendResult, RunEventInput } from '@tidemark/core';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { eventOf } from '../import-v1/events.ts';
import { readRows, type SourceRow } from '../import-v1/sources.ts';
import { one, text, withDefault } from '../options.ts';

/** The number of events per append. */
const MAX_AT_ONCE = 200;

const importV1 = defineCommand({
  name: 'import v1',
  summary: 'Import events of version 1 of the event contract',
  details:
    'Reads JSON lines, or the table of a database in order of run and sequence. Each event keeps its idempotency key, so an import that is repeated or continued stores nothing twice. Events whose key is already stored with different content are counted as conflicts and not imported.',
  effect: 'rw',
  args: { source: one('a file of JSON lines, - for stdin, or sqlite:FILE or postgres://… with the table') },
  options: {
    table: withDefault(text('name', 'table of the events'), 'run_events'),
    project: withDefault(text('id', 'project of the imported runs'), 'default'),
    environment: withDefault(text('id', 'environment of the imported runs'), 'default'),
    plan: withDefault(text('id', 'plan of the imported runs'), 'default'),
    planVersion: withDefault(text('version', 'version of the plan'), '1'),
    fromRun: text('id', 'continue with this run: in a file at its first line; in a table, skip runs with lower ids'),
  },
  examples: [
    { line: 'import v1 v1.jsonl --project shop --plan checkout', shows: '"imported":2' },
    { line: 'import v1 v1.jsonl --dry-run', shows: '"would":"import"' },
  ],
  async run({ store, out, io, args, options, settings, dryRun, longCall, progress }) {
    const { project: projectId, environment: environmentId, plan: planId, planVersion, table, fromRun } = options;
    const tenantId = settings.tenant ?? 'default';
    const scope = { tenantId, projectId, environmentId, planId, planVersion };
    const runs = dryRun ? undefined : (await store()).runs;
    const seen = new Set<string>();
    const counts = { events: 0, imported: 0, duplicates: 0, conflicts: 0 };
    const bar = progress('events');
    const rows = readRows(args.source, { table, ...(fromRun === undefined ? {} : { fromRun }) }, io);
    let lastRun: string | undefined;
    try {
      for await (const events of batches(rows, (row) => eventOf(row, scope))) {
        lastRun = events[0]!.runId;
        seen.add(lastRun);
        counts.events += events.length;
        for (const result of runs ? await runs.appendEvents(events, longCall) : []) counts[outcomeOf(result)]++;
        bar.to(counts.events);
      }
    } catch (error) {
      bar.end();
      if (lastRun !== undefined && runs)
        await out.note(`Stopped in run ${lastRun}: repeat with --from-run ${lastRun}.`);
      throw error;
    }
    bar.end();
    if (dryRun) return out.report({ dryRun: true, would: 'import', runs: seen.size, events: counts.events });
    await out.report({ runs: seen.size, ...counts });
    return counts.conflicts > 0 ? EXIT.conflict : EXIT.ok;
  },
});

function outcomeOf({ idempotent, payloadMatches }: AppendResult): 'imported' | 'duplicates' | 'conflicts' {
  if (!idempotent) return 'imported';
  return payloadMatches === false ? 'conflicts' : 'duplicates';
}

/** Collects consecutive events of one run. */
async function* batches(
  rows: AsyncIterable<SourceRow>,
  convert: (row: SourceRow) => RunEventInput,
): AsyncGenerator<RunEventInput[]> {
  let batch: RunEventInput[] = [];
  for await (const row of rows) {
    const event = convert(row);
    if (batch.length === MAX_AT_ONCE || (batch.length > 0 && batch[0]!.runId !== event.runId)) {
      yield batch;
      batch = [];
    }
    batch.push(event);
  }
  if (batch.length > 0) yield batch;
}

export const importCommands = [importV1];
