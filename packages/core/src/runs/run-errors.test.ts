/** Errors about removed and damaged runs: what they name. */
import { expect, it } from 'vitest';
import { damagedHead, undecodable } from './chain.ts';
import { tombstoneError } from './lives.ts';

const RUN = { tenantId: 't', runId: 'r' };

it('names the archive of an archived run, if it is known', () => {
  const known = tombstoneError('r', { kind: 'archived', at: 1, archive: 's3://bucket/r' });
  expect(known).toMatchObject({ code: 'RUN_ARCHIVED', runId: 'r', archive: 's3://bucket/r' });
  expect(known.message).toBe('Run "r" is archived at s3://bucket/r; restore it first');
  const unknown = tombstoneError('r', { kind: 'archived', at: 1 });
  expect(unknown.message).toBe('Run "r" is archived; restore it first');
});

it('tells deleted runs and runs that are being restored apart', () => {
  expect(tombstoneError('r', { kind: 'deleted', at: 1 })).toMatchObject({ code: 'RUN_DELETED', runId: 'r' });
  const restoring = tombstoneError('r', { kind: 'restoring', at: 1 } as never);
  expect(restoring).toMatchObject({ code: 'RUN_ARCHIVED', runId: 'r' });
  expect(restoring.message).toContain('is being restored');
});

it('names the damaged event, and for a damaged head the sequence after the last event', () => {
  expect(undecodable(RUN, 4)).toMatchObject({ code: 'CORRUPT_EVENT', runSeq: 4 });
  expect(damagedHead(RUN, 4)).toMatchObject({ code: 'CORRUPT_EVENT', runSeq: 5 });
});
