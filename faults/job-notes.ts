/** The notes of job workers, and checks that every job was completed once, by a valid claim. */
import { readFileSync } from 'node:fs';
import type { Job } from '@tidemark/core';

export const TASK_TYPE = 'fault';

/** A result that a worker got. */
export interface JobNote {
  kind: 'claimed' | 'completed' | 'lost';
  taskId: string;
  claimId: string;
}

/** Reads the notes in a file. Ignores a last line that was cut off by a kill. */
export function readJobNotes(file: string): JobNote[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as JobNote];
    } catch {
      return [];
    }
  });
}

/** Returns every contradiction between the stored jobs and the results that workers got. */
export function checkJobs(jobs: readonly Job[], notes: readonly JobNote[], expected: number): string[] {
  const problems: string[] = [];
  if (jobs.length !== expected) problems.push(`${jobs.length} of ${expected} jobs are completed`);
  const holders = Map.groupBy(
    notes.filter(({ kind }) => kind === 'completed'),
    ({ taskId }) => taskId,
  );
  const lost = new Set(notes.flatMap(({ kind, claimId }) => (kind === 'lost' ? claimId : [])));
  const claims = new Map(notes.map(({ taskId, claimId }) => [claimId, taskId]));
  for (const { taskId, resultRef = '' } of jobs) {
    const completions = holders.get(taskId) ?? [];
    if (completions.length > 1) problems.push(`${taskId} was completed ${completions.length} times`);
    const other = completions.find(({ claimId }) => claimId !== resultRef);
    if (other) problems.push(`${taskId} was completed by ${other.claimId}, but holds the result of ${resultRef}`);
    if (lost.has(resultRef)) problems.push(`${taskId} holds the result of ${resultRef}, whose worker got CLAIM_LOST`);
    if (claims.get(resultRef) !== taskId) problems.push(`${taskId} holds the result of ${resultRef}, who never had it`);
  }
  return problems;
}
