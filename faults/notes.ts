/** The format of writers' notes, one line each, and reading a log back to compare it with the notes. */
import { existsSync, readFileSync } from 'node:fs';
import type { RunEventInput, Store } from '@tidemark/core';
import type { LogEvent, Logs, Note, Write } from './history.ts';

export function lineOf(note: Note): string {
  return `${JSON.stringify(note)}\n`;
}

/** Reads all notes in a file. A last line that was cut by a kill does not count. */
export function readNotes(file: string): Note[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Note);
}

/** Returns the event of a write. Everything in it follows from the key, so that a reader knows the expected content. */
export function eventOf({ run, key, eventId }: Write): RunEventInput {
  return {
    eventId,
    eventType: 'Progress',
    emittedAt: '2026-01-01T00:00:00.000Z',
    runId: run,
    tenantId: 'faults',
    projectId: 'faults',
    environmentId: 'test',
    planId: 'plan',
    planVersion: '1',
    engineAttemptId: 1,
    logicalAttemptId: 1,
    idempotencyKey: key,
    payload: payloadOf(key),
  };
}

function payloadOf(key: string): { of: string; filler: string } {
  return { of: key, filler: `${key}|`.repeat(8) };
}

/** Reads runs through the store, which checks every link. Also checks that the payloads match the keys. */
export async function readLogs(store: Store, runs: Iterable<string>): Promise<Logs> {
  const logs = new Map<string, LogEvent[]>();
  for (const run of runs) {
    const log: LogEvent[] = [];
    for await (const event of store.runs.readEvents(run, { tenantId: 'faults', limit: 10_000 })) {
      const { runSeq, idempotencyKey: key, eventId, persistedAt, payload } = event;
      if (JSON.stringify(payload) !== JSON.stringify(payloadOf(key))) {
        throw new Error(`Event ${runSeq} of ${run} came back with another payload than ${key} was sent with`);
      }
      log.push({ runSeq, key, eventId, persistedAt });
    }
    logs.set(run, log);
  }
  return logs;
}

/** Verifies the chain of every run that has events. Returns one sentence for each that does not verify. */
export async function verifyRuns(store: Store, logs: Logs): Promise<string[]> {
  const broken: string[] = [];
  for (const [run, log] of logs) {
    if (log.length === 0) continue;
    const report = await store.runs.verify(run, { tenantId: 'faults' });
    if (!report.ok) broken.push(`${run} does not verify: ${report.problem!.reason} at ${report.problem!.runSeq}`);
    if (report.events !== log.length) broken.push(`${run} has ${log.length} events, verify saw ${report.events}`);
  }
  return broken;
}
