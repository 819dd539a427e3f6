/** Envelopes of events appended by a handle: its defaults, and fields of a single event that replace them. */
import { expect, it } from 'vitest';
import { memoryStore } from '../memory/store.ts';

const DEFAULTS = {
  ...{ tenantId: 'acme', projectId: 'shop', environmentId: 'live', planId: 'order', planVersion: '7' },
  labels: { city: 'berlin' },
};

it('fills in its defaults, and lets an event replace them', async () => {
  const { runs } = memoryStore();
  const run = runs.handle('r', DEFAULTS);
  await run.append('Noted', { n: 1 });
  await run.append('Noted', undefined, { labels: { city: 'rome' }, planVersion: '8', logicalAttemptId: 2 });
  const [first, second] = await runs.fetchEvents('r');
  expect(first).toMatchObject({ ...DEFAULTS, payload: { n: 1 }, engineAttemptId: 1, logicalAttemptId: 1 });
  expect(second).toMatchObject({ ...DEFAULTS, labels: { city: 'rome' }, planVersion: '8', logicalAttemptId: 2 });
  expect(second).not.toHaveProperty('payload');
});

it('uses the default tenant, project, environment and plan, and no labels, when none are given', async () => {
  const { runs } = memoryStore();
  await runs.handle('r').append('Noted');
  const [event] = await runs.fetchEvents('r');
  const names = { tenantId: 'default', projectId: 'default', environmentId: 'default', planId: 'default' };
  expect(event).toMatchObject({ ...names, planVersion: '1' });
  expect(event).not.toHaveProperty('labels');
});
