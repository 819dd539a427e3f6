/**
 * Copies the runs of a tenant from one server to another, with their events. A run that has only grown is copied from
 * where its copy ends; one that was rewritten is copied again.
 */
import { TidemarkError } from '@tidemark/core';
import { type Passage, removeRuns, type TenantTable, type TextRow, translated, writeRows } from './copy-rows.ts';
import { changeRows, type MoverTransaction, moverTransaction } from './fences.ts';

const RUNS_AT_ONCE = 500;
const EVENTS_AT_ONCE = 1_000;

/** The state of a run, to be compared. `copied` is the last sequence that a server has. */
interface RunState {
  run_id: string;
  hash: string;
  life: number;
  rewrites: number;
  is_removed: boolean;
  copied: number;
}

/** The result of a copy. */
export interface CopiedRuns {
  /** The runs that differed. */
  runs: string[];
  events: number;
}

export async function copyRuns(passage: Passage, tables: ReadonlyMap<string, TenantTable>): Promise<CopiedRuns> {
  const [runs, events] = [tables.get('runs')!, tables.get('run_events')!];
  const copied: CopiedRuns = { runs: [], events: 0 };
  const there = runs.columns.map(({ name }) => `t.${name}`);
  for (let after = ''; ; ) {
    passage.check();
    const page = await moverTransaction(passage.from, 'REPEATABLE READ READ ONLY', (tx) =>
      readStates(tx, translated(runs, passage), passage.tenant, after, null),
    );
    const upTo = page.length < RUNS_AT_ONCE ? null : page.at(-1)!.run_id;
    const known = await moverTransaction(passage.to, 'REPEATABLE READ READ ONLY', (tx) =>
      readStates(tx, there, passage.tenant, after, upTo, false),
    );
    const stored = new Map(known.map((state) => [state.run_id, state]));
    const changed: [now: RunState, stored: RunState | undefined][] = [];
    for (const state of page) {
      const copy = stored.get(state.run_id);
      stored.delete(state.run_id);
      if (!copy || copy.hash !== state.hash || copy.copied !== state.copied) changed.push([state, copy]);
    }
    const gone = [...stored.keys()];
    if (gone.length > 0)
      await changeRows(passage.to, passage, 'incoming', (tx) => removeRuns(tx, passage.tenant, gone));
    for (const some of byEvents(changed)) copied.events += await copySome(passage, runs, events, some);
    copied.runs.push(...gone, ...changed.map(([{ run_id }]) => run_id));
    if (upTo === null) return copied;
    after = upTo;
  }
}

function readStates(
  tx: MoverTransaction,
  columns: readonly string[],
  tenant: string,
  after: string,
  upTo: string | null,
  isPage = true,
): Promise<RunState[]> {
  return tx.query(
    `SELECT t.run_id, md5(ROW(${columns.join(', ')})::text) AS hash, t.life, t.rewrites, t.removed IS NOT NULL AS is_removed,
       coalesce((SELECT max(e.run_seq) FROM @run_events e WHERE e.run_id = t.run_id AND e.tenant_id = t.tenant_id), 0) AS copied
     FROM @runs t
     WHERE t.tenant_id = $1 AND t.run_id > $2 AND ($3::text IS NULL OR t.run_id <= $3)
     ORDER BY t.run_id ${isPage ? `LIMIT ${RUNS_AT_ONCE}` : ''}`,
    [tenant, after, upTo],
  );
}

/** Divides runs into parts whose events fit into one statement. */
function* byEvents(
  changed: readonly [RunState, RunState | undefined][],
): Generator<[RunState, RunState | undefined][]> {
  let [some, events]: [[RunState, RunState | undefined][], number] = [[], 0];
  for (const it of changed) {
    some.push(it);
    events += it[0].copied - (it[1]?.copied ?? 0);
    if (events < EVENTS_AT_ONCE && some.length < RUNS_AT_ONCE) continue;
    yield some;
    [some, events] = [[], 0];
  }
  if (some.length > 0) yield some;
}

/** Copies some runs as they are in one snapshot of the old server. Returns the number of events. */
function copySome(
  passage: Passage,
  runs: TenantTable,
  events: TenantTable,
  changed: readonly [RunState, RunState | undefined][],
): Promise<number> {
  const { from, to, tenant } = passage;
  const stored = new Map(changed.map(([{ run_id }, copy]) => [run_id, copy]));
  return moverTransaction(from, 'REPEATABLE READ READ ONLY', async (source) => {
    const found = await source.query<RunState & { row: TextRow }>(
      `SELECT t.run_id, t.life, t.rewrites, t.removed IS NOT NULL AS is_removed, ARRAY[${texts(runs, passage)}] AS row
       FROM @runs t WHERE t.tenant_id = $1 AND t.run_id = ANY ($2)`,
      [tenant, [...stored.keys()]],
    );
    const anew = found.filter((run) => !continues(run, stored.get(run.run_id))).map(({ run_id }) => run_id);
    await changeRows(to, passage, 'incoming', async (tx) => {
      await removeRuns(tx, tenant, anew);
      await writeRows(
        tx,
        runs,
        found.map(({ row }) => row),
      );
    });
    let count = 0;
    const next = new Map(
      found.map(({ run_id }) => [run_id, anew.includes(run_id) ? 0 : (stored.get(run_id)?.copied ?? 0)]),
    );
    while (next.size > 0) {
      passage.check();
      const read = await source.query<{ run_id: string; run_seq: number; row: TextRow; hash: string }>(
        `SELECT t.run_id, t.run_seq, ARRAY[${texts(events, passage)}] AS row, md5(ROW(${translated(events, passage).join(', ')})::text) AS hash
         FROM unnest($2::text[], $3::bigint[]) AS wanted (run_id, after)
         CROSS JOIN LATERAL (
           SELECT e.* FROM @run_events e
           WHERE e.run_id = wanted.run_id AND e.tenant_id = $1 AND e.run_seq > wanted.after ORDER BY e.run_seq LIMIT ${EVENTS_AT_ONCE}
         ) AS t
         ORDER BY t.run_id, t.run_seq LIMIT ${EVENTS_AT_ONCE}`,
        [tenant, [...next.keys()], [...next.values()]],
      );
      if (read.length > 0)
        await changeRows(to, passage, 'incoming', async (tx) => {
          await writeNewRows(
            tx,
            events,
            read.map(({ row }) => row),
          );
          await compareEvents(tx, events, tenant, read);
        });
      count += read.length;
      if (read.length < EVENTS_AT_ONCE) break;
      // Everything of the runs before the last one has been read.
      for (const { run_id } of read) next.delete(run_id);
      next.set(read.at(-1)!.run_id, read.at(-1)!.run_seq);
    }
    return count;
  });
}

function texts(table: TenantTable, passage: Passage): string {
  return translated(table, passage)
    .map((column) => `(${column})::text`)
    .join(', ');
}

/** Whether the events of a copy are the first ones of the current run. */
function continues(now: RunState, copy: RunState | undefined): boolean {
  if (!copy) return true;
  return !now.is_removed && !copy.is_removed && now.life === copy.life && now.rewrites === copy.rewrites;
}

/** Inserts events, except those that were copied before. A comparison follows. */
async function writeNewRows(tx: MoverTransaction, table: TenantTable, rows: readonly TextRow[]): Promise<void> {
  const names = table.columns.map(({ name }) => name);
  await tx.query(
    `INSERT INTO @${table.name} (${names.join(', ')})
     SELECT ${table.columns.map(({ name, type }) => `${name}::${type}`).join(', ')}
     FROM unnest(${names.map((_, at) => `$${at + 1}::text[]`).join(', ')}) AS sent (${names.join(', ')})
     ON CONFLICT DO NOTHING`,
    names.map((_, at) => rows.map((row) => row[at] ?? null)),
  );
}

/** Reads copied events back and compares them byte by byte. */
async function compareEvents(
  tx: MoverTransaction,
  events: TenantTable,
  tenant: string,
  sent: readonly { run_id: string; run_seq: number; hash: string }[],
): Promise<void> {
  const [differing] = await tx.query<{ run_id: string; run_seq: number }>(
    `SELECT s.run_id, s.run_seq FROM unnest($2::text[], $3::bigint[], $4::text[]) AS s (run_id, run_seq, hash)
     LEFT JOIN @run_events t ON t.run_id = s.run_id AND t.tenant_id = $1 AND t.run_seq = s.run_seq
     WHERE md5(ROW(${events.columns.map(({ name }) => `t.${name}`).join(', ')})::text) <> s.hash OR t.run_id IS NULL LIMIT 1`,
    [tenant, sent.map(({ run_id }) => run_id), sent.map(({ run_seq }) => run_seq), sent.map(({ hash }) => hash)],
  );
  if (!differing) return;
  throw new TidemarkError(
    'CORRUPT_EVENT',
    'A copied event differs from the one it was copied from; the move was stopped',
    {
      runId: differing.run_id,
      runSeq: differing.run_seq,
    },
  );
}
