/** Sessions for the inspector's tests: one that asks for approval, and a hostile one. */
import type { Store, TaskState } from '@tidemark/core';
import { memoryKey } from '@tidemark/core';
import { ATTACKS } from './data.ts';

const MINUTE = 60_000;
/** An image of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export const SESSION = 'support-42';
export const TASK = 'refund-1';
export const TRACE = 'trace-42';
export const TOKEN = 'a-secret-token-that-nobody-may-see';
export const MEMORY = memoryKey('acme', 'ada', SESSION);

interface SessionSpec {
  sessionId: string;
  taskId: string;
  traceId: string;
  /** Returns the text to write instead of the given one. */
  textFor(words: string): string;
}

const at = (minutesAgo: number) => new Date(Date.now() - minutesAgo * MINUTE).toISOString();

function taskOf({ sessionId, taskId, traceId, textFor }: SessionSpec): TaskState {
  return {
    ...{ sessionId, taskId, traceId, status: 'PAUSED', taskType: 'FOREGROUND', priority: 1 },
    ...{ description: textFor('refund order 1042'), contextSnapshot: { [textFor('order')]: textFor('1042') } },
    ...{ createdAt: at(20), updatedAt: at(10) },
  };
}

async function write(store: Store, spec: SessionSpec): Promise<void> {
  const { agents } = store;
  const { sessionId, taskId, traceId, textFor } = spec;
  const ids = { sessionId, taskId };
  await agents.saveTask(taskOf(spec));
  await agents.saveSteering({
    ...{ ...ids, eventId: textFor('ask'), eventType: 'USER_MESSAGE', source: textFor('chat'), createdAt: at(19) },
    payload: { text: textFor('The kettle came broken. I want my money back.') },
  });
  const updates = [
    { updateType: 'THINKING', content: { text: textFor('Look for the order of the customer.') } },
    {
      updateType: 'TOOL_CALL',
      content: { [textFor('tool')]: textFor('orders.find'), [textFor('customer')]: textFor('ada') },
    },
    { updateType: 'RESULT', content: { text: textFor('I found order 1042: a kettle, 129.00.') } },
    { updateType: 'ERROR', content: textFor('The bank did not answer; a person has to approve.') },
  ] as const;
  for (const [step, one] of updates.entries())
    await agents.saveUpdate({
      ...ids,
      traceId,
      ...one,
      updateId: `${textFor('step')} ${step}`,
      createdAt: at(18 - step),
    });
  await writeTrace(store, spec);
  await writeArtifacts(store, spec);
}

async function writeTrace({ agents }: Store, { sessionId, traceId, textFor }: SessionSpec): Promise<void> {
  const steps = [
    { thought: textFor('Which order is it about?'), node: textFor('orders') },
    {
      thought: textFor('Ask the bank for the refund.'),
      node: textFor('bank'),
      error: textFor('the bank did not answer'),
    },
  ];
  await agents.saveTrajectory(traceId, sessionId, { [textFor('query')]: textFor('refund the kettle'), steps });
  for (const [step, { thought, node, error }] of steps.entries()) {
    const ts = Date.now() / 1_000 + step;
    const about = { trajectoryStep: step + 1, thought, nodeName: node, latencyMs: 840, tokenEstimate: 312 };
    await agents.savePlannerEvent(traceId, { eventType: textFor('step_complete'), ts, ...about, error: error ?? null });
    const event = { traceId, ts, nodeName: node, nodeId: textFor(`${node}-1`) };
    await agents.saveEvent({ ...event, kind: textFor('node_start'), payload: { text: textFor('first try') } });
  }
}

async function writeArtifacts({ artifacts }: Store, { sessionId, traceId, textFor }: SessionSpec): Promise<void> {
  const scope = { sessionId, traceId };
  const report = `# Report\n\n${textFor('The kettle of order 1042 arrived broken.\nThe customer asks for 129.00 back.')}`;
  await artifacts.putText(report, { filename: `${textFor('refund')} report.md`, mimeType: 'text/markdown', scope });
  const order = JSON.stringify({ [textFor('order')]: [textFor('1042')] });
  await artifacts.putText(order, { filename: textFor('order.json'), mimeType: 'application/json', scope });
  const page = `<!doctype html><script>alert('${textFor('page')}')</script><img src="//evil.test/x">`;
  await artifacts.putText(page, { filename: 'page.html', mimeType: 'text/html', scope });
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>`;
  await artifacts.putText(drawing, { filename: 'drawing.svg', mimeType: 'image/svg+xml', scope });
  await artifacts.putBytes(PIXEL, { filename: 'pixel.png', mimeType: 'image/png', scope });
  const octets = { filename: 'core.bin', mimeType: 'application/octet-stream' };
  await artifacts.putBytes(Uint8Array.from([0xca, 0xfe]), { ...octets, scope });
}

export async function writeSession(store: Store): Promise<void> {
  await write(store, { sessionId: SESSION, taskId: TASK, traceId: TRACE, textFor: (words) => words });
  await store.agents.saveMemoryState(MEMORY, { user: 'ada', facts: ['asked for a refund'], turns: 1 });
  const task = { sessionId: SESSION, taskId: TASK };
  await store.agents.savePlannerState(
    TOKEN,
    { reason: 'approve a refund of 129.00', amount: 12_900 },
    { ...task, ttl: '12m' },
  );
  await store.agents.savePlannerState('another-token', { reason: 'send the letter' }, { ...task, ttl: '45m' });
  await store.agents.savePlannerState('lonely-token', { reason: 'has no task' }, { ttl: '2h' });
}

/** Writes many sessions for the list. */
export async function writeManySessions({ agents }: Store, count: number): Promise<void> {
  for (let number = 1; number <= count; number++) {
    const sessionId = `chat-${String(number).padStart(3, '0')}`;
    await agents.saveTask(
      taskOf({ sessionId, taskId: 'task-1', traceId: `trace-${number}`, textFor: (words) => words }),
    );
  }
}

export const HOSTILE_SESSION = `/..?#${ATTACKS[1]}`;

export async function writeHostileSession(store: Store): Promise<void> {
  const text = ATTACKS.join(' ');
  const [taskId, traceId] = [ATTACKS[0]!, ATTACKS[4]!];
  await write(store, { sessionId: HOSTILE_SESSION, taskId, traceId, textFor: () => text });
  await store.agents.saveMemoryState(memoryKey(ATTACKS[0]!, ATTACKS[2]!, HOSTILE_SESSION), {
    [text]: { [text]: text },
  });
  await store.agents.savePlannerState(
    'hostile-token',
    { reason: text, [text]: text },
    { sessionId: HOSTILE_SESSION, taskId, ttl: '5m' },
  );
}
