/** Nightly warehouse loads with many parts and row counts, and one backfill of 20 000 events. */
import type { RunEventInput } from '@tidemark/core';
import type { Random } from './random.ts';
import { type RunScope, RunScript } from './script.ts';

const TABLES = ['customers', 'orders', 'parcels', 'payments', 'visits', 'stock'];

type Outcome = 'completed' | 'failed' | 'moving';

function scopeOf(runId: string, planId: string): RunScope {
  return {
    ...{ runId, planId, tenantId: 'initech', projectId: 'warehouse', environmentId: 'production', planVersion: '21' },
    labels: { source: 'postgres', team: 'data' },
  };
}

export function loadRun(random: Random, number: number, startsAt: number, outcome: Outcome): RunScript {
  const script = new RunScript(random, scopeOf(`load-${String(number).padStart(3, '0')}`, 'nightly-load'), startsAt);
  script.event('RunStarted', { tables: TABLES.length });
  const last = outcome === 'completed' ? TABLES.length : random.between(1, TABLES.length - 1);
  for (const table of TABLES.slice(0, last)) loadTable(random, script, table);
  if (outcome === 'completed') return script.wait(50, 500).event('RunCompleted', { tables: last });
  const stepId = `load-${TABLES[last]}`;
  script
    .wait(50, 500)
    .event('StepStarted', {}, { stepId })
    .event('Progress', { rows: random.between(0, 9_000) }, { stepId });
  if (outcome === 'moving') return script;
  const failure = {
    errorCode: 'SCHEMA_CHANGED',
    errorMessage: `column "vat" of ${TABLES[last]} is gone`,
    retryable: false,
  };
  return script.wait(900, 9_000).event('StepFailed', failure, { stepId }).event('RunFailed', failure);
}

function loadTable(random: Random, script: RunScript, table: string): void {
  const stepId = `load-${table}`;
  const rows = random.between(2_000, 900_000);
  script.wait(50, 300).event('StepStarted', { table }, { stepId });
  for (const share of [0.25, 0.5, 0.75])
    script.wait(2_000, 40_000).event('Progress', { rows: Math.round(rows * share), of: rows }, { stepId });
  script.wait(2_000, 40_000).event('StepCompleted', { rows }, { stepId });
}

const BACKFILL_PARTS = 2_500;
const PARTS_AT_ONCE = 100;
const COUNTS = 6;

/** A run of 20 002 events. Parts are loaded a hundred at a time. Each part starts, reports its row counts and ends. */
export function backfillRun(random: Random, startsAt: number): RunScript {
  const script = new RunScript(random, scopeOf('backfill-2019', 'backfill'), startsAt);
  script.event('RunStarted', { parts: BACKFILL_PARTS });
  for (let first = 1; first <= BACKFILL_PARTS; first += PARTS_AT_ONCE) {
    script.wait(15_000, 60_000);
    const parts = Array.from({ length: PARTS_AT_ONCE }, (_, at) => backfillPart(random, script, first + at));
    script.together(parts.flat());
  }
  return script.event('RunCompleted', { parts: BACKFILL_PARTS });
}

function backfillPart(random: Random, script: RunScript, part: number): RunEventInput[] {
  const stepId = `part-${String(part).padStart(4, '0')}`;
  const started = script.wait(0, 3).input('StepStarted', { day: part }, { stepId });
  const counted = Array.from({ length: COUNTS }, (_, at) =>
    script.wait(0, 3).input('RowsLoaded', { rows: (at + 1) * random.between(800, 1_200) }, { stepId }),
  );
  return [started, ...counted, script.wait(0, 3).input('StepCompleted', {}, { stepId })];
}
