/** A short version of `faults/jobs.ts`, and proof that its checks can fail. */
import type { Job } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkJobs, type JobNote } from '../../../faults/job-notes.ts';
import { neededServers, offeredUrl } from '../../../scripts/servers/index.ts';
import { createDatabase, dropDatabase } from '../../postgres/test/servers.ts';
import { startNode } from '../../sqlite/test/programs.ts';

const LIMIT = { timeout: 180_000 };
const SHORT = ['--jobs', '400', '--workers', '20', '--processes', '4', '--lease', '700'];

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await startNode({ script: 'faults/jobs.ts' }, ...SHORT, ...args).ended;
  expect(code, `faults/jobs ${args.join(' ')} failed:\n${stderr}${stdout}`).toBe(0);
  return stdout;
}

const PROVED = /^jobs: 400 completed once, [1-9]\d* sent back, [1-9]\d* zombies heard CLAIM_LOST, 0 problems/;

describe('every job is completed once while workers are killed, suspended and oversleep (KV-7, KV-8)', () => {
  it('on SQLite', LIMIT, async () => {
    expect(await run()).toMatch(PROVED);
  });

  it.skipIf(!neededServers().includes('postgres'))('on PostgreSQL', LIMIT, async () => {
    const url = await createDatabase(offeredUrl('postgres')!);
    onTestFinished(() => dropDatabase(url));
    expect(await run('--url', url)).toMatch(PROVED);
  });
});

describe("the check of workers' notes", () => {
  const job = (taskId: string, resultRef: string) => ({ taskId, resultRef }) as Job;
  const note = (kind: JobNote['kind'], taskId: string, claimId: string): JobNote => ({ kind, taskId, claimId });
  const sound = [note('claimed', 'a', '1'), note('lost', 'a', '1'), note('claimed', 'a', '2')];

  it('accepts a job that one valid claim completed, even if its worker died before the reply', () => {
    expect(checkJobs([job('a', '2')], sound, 1)).toEqual([]);
    expect(checkJobs([job('a', '2')], [...sound, note('completed', 'a', '2')], 1)).toEqual([]);
  });

  it.each<[string, Job[], JobNote[]]>([
    ['a job that is not completed', [], sound],
    ['a job completed twice', [job('a', '2')], [note('completed', 'a', '1'), note('completed', 'a', '2')]],
    ['a result that was overwritten', [job('a', '2')], [...sound, note('completed', 'a', '3')]],
    ['a zombie whose result stands', [job('a', '1')], sound],
    ['a result of a claim on another job', [job('a', '2')], [note('claimed', 'b', '2')]],
  ])('rejects %s', (_, jobs, notes) => {
    expect(checkJobs(jobs, notes, 1)).not.toEqual([]);
  });
});
