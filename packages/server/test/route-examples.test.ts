/** The example of every route succeeds on a server that holds the data it names. */
import { memoryStore, type Store } from '@tidemark/core';
import { createServer } from '@tidemark/server';
import { ROUTE_DESCRIPTIONS, ROUTES, type RouteExample } from '@tidemark/wire/routes';
import { describe, expect, it, onTestFinished } from 'vitest';
import { curlOf } from '../src/curl.ts';

/** Routes whose example cannot succeed on a healthy store, and their status there. */
const REFUSED: Readonly<Record<string, number>> = { 'POST /v1/runs/{runId}/release': 404 };
const TIME = '2026-02-16T09:30:00.000Z';

/** Writes the data that examples name. Returns the values of their words in capitals. */
async function fill(store: Store): Promise<Record<string, unknown>> {
  const { runs, jobs, agents, artifacts, kv } = store;
  const run = runs.handle('order-42', { planId: 'checkout' });
  await run.append('RunStarted');
  await run.append('StepStarted', {}, { stepId: 'charge' });
  await run.append('StepCompleted', {}, { stepId: 'charge' });
  await run.snapshot();
  await runs.handle('order-900').append('RunStarted');
  await runs.archiveRun('order-900', { location: 's3://archive/order-900', expectedSeq: 1 });
  const exported = memoryStore();
  await exported.runs.handle('order-800').append('RunStarted');
  const parts = await Array.fromAsync(exported.runs.exportRun('order-800'));
  await exported.close();
  const mail = (taskId: string) => ({ taskType: 'email-send', taskId });
  for (const id of ['2', '3']) {
    await jobs.enqueue(mail(`mail-${id}`));
    await jobs.claim(mail(`mail-${id}`), { worker: 'w1', claimId: `claim-${id}`, lease: '1h' });
  }
  await jobs.fail({ ...mail('mail-3'), claimId: 'claim-3' }, { error: 'no such mailbox', retry: false });
  await jobs.enqueue(mail('mail-1'));
  await jobs.enqueue({ ...mail('mail-4'), delay: '1h' });
  await jobs.enqueue({ taskType: 'late', taskId: 'l' });
  await jobs.claim({ taskType: 'late' }, { worker: 'gone', lease: 1 });
  await new Promise((resolve) => setTimeout(resolve, 5));
  const [overdue] = await jobs.overdue('late', { threshold: '5m' });
  const of = { sessionId: 'session-1', taskId: 'task-1', createdAt: TIME };
  const task = {
    status: 'RUNNING',
    taskType: 'FOREGROUND',
    priority: 0,
    contextSnapshot: {},
    updatedAt: TIME,
  } as const;
  await agents.saveTask({ ...of, ...task });
  await agents.saveUpdate({ ...of, updateId: 'update-1', updateType: 'THINKING', content: {} });
  await agents.saveTrajectory('trace-7', 'session-1', { query: 'refund', steps: [] });
  await agents.saveMemoryState('acme:ada:session-1', { likes: 'tea' });
  await agents.savePlannerState('waiting-token', { step: 3 }, { sessionId: 'session-1' });
  await agents.savePlannerState('claimed-token', { step: 4 });
  const claim = await agents.claimPause('claimed-token');
  const { pauseId } = (await agents.peekPause('waiting-token'))!;
  const read = (await store.admin.readPause(pauseId))!;
  const { id } = await artifacts.putText('All is well.', { scope: { sessionId: 'session-1' } });
  const { revision } = await kv.put('config.limits', { max: 10, burst: 5 });
  return {
    EXPORTED_LINES: parts.map((part) => `${JSON.stringify(part)}\n`).join(''),
    OVERDUE_JOB: overdue,
    READ_PAUSE: read,
    PAUSE_ID: pauseId,
    ARTIFACT_ID: id,
    WAITING_TOKEN: 'waiting-token',
    CLAIMED_TOKEN: 'claimed-token',
    CLAIM_ID: claim!.claimId,
    RECORD_REVISION: revision,
  };
}

/** Returns the example with the values of its words in capitals. */
function filledIn({ path, body, text, headers = {} }: RouteExample, values: Record<string, unknown>) {
  const replace = (part: string) => part.replaceAll(/\b[A-Z]+_[A-Z]+\b/g, (word) => String(values[word] ?? word));
  const json = JSON.stringify(body, (_, value) =>
    typeof value === 'string' && value in values ? values[value] : value,
  );
  const sent = Object.entries(headers).map(([name, value]) => [name, replace(value)]);
  return {
    path: replace(path),
    ...(body === undefined ? (text === undefined ? {} : { body: replace(text) }) : { body: json }),
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...Object.fromEntries(sent) },
  };
}

describe('the example of', () => {
  it.each(Object.entries(ROUTE_DESCRIPTIONS))('%s', async (name, example) => {
    const store = memoryStore();
    const values = await fill(store);
    const server = createServer({ store, logger: { info() {}, error() {} }, inspector: false });
    onTestFinished(async () => {
      await server.close();
      await store.close();
    });
    const url = await server.listen();
    const { path, ...request } = filledIn(example, values);
    const answer = await fetch(url + path, { method: name.split(' ')[0]!, ...request });
    const expected =
      REFUSED[name] === undefined ? Object.keys(ROUTES[name as keyof typeof ROUTES].answers) : [`${REFUSED[name]}`];
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const shown = isStream ? await answer.body?.cancel() : await answer.text();
    expect(expected, String(shown)).toContain(String(answer.status));
    const [, pattern = ''] = name.split(' ');
    expect(example.path.split('?')[0]).toMatch(new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`));
  });
});

describe('a description', () => {
  it.each(Object.entries(ROUTE_DESCRIPTIONS))('of %s adds a sentence to the summary', (name, { details }) => {
    expect(details).toMatch(/^[A-Z`].*\.$/);
    expect(details).not.toBe(ROUTES[name as keyof typeof ROUTES].summary);
  });
});

it('an example is shown as a curl command', () => {
  expect(curlOf('PUT', { path: '/v1/x', body: { a: "it's" } })).toBe(
    `curl -X PUT 'http://127.0.0.1:7420/v1/x' -H 'content-type: application/json' -d '{"a":"it'\\''s"}'`,
  );
});
