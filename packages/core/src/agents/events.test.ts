/** Flow events that are not valid are refused by name, alone and in a list. */
import { expect, it, vi } from 'vitest';
import type { EventEngine } from '../engine/agents.ts';
import { memoryStore } from '../memory/store.ts';
import { StoreContext } from '../tools/context.ts';
import { createEvents } from './events.ts';

const EVENT = { traceId: 't', ts: 1, kind: 'node_start', nodeName: null, nodeId: null, payload: {} };

it.each([
  [null, 'event'],
  [[], 'event'],
  [{ ...EVENT, traceId: '' }, 'traceId'],
  [{ ...EVENT, ts: Number.NaN }, 'ts'],
  [{ ...EVENT, kind: '' }, 'kind'],
  [{ ...EVENT, nodeName: 7 }, 'nodeName'],
  [{ ...EVENT, nodeId: '' }, 'nodeId'],
])('%j is refused because of %s', async (event, field) => {
  const { agents } = memoryStore();
  const refusal = (name: string) => ({ code: 'INVALID_ARGUMENT', field: name });
  await expect(agents.saveEvent(event as never)).rejects.toMatchObject(refusal(field));
  const inList = field === 'event' ? 'events[1]' : `events[1].${field}`;
  await expect(agents.saveEvents([EVENT, event] as never)).rejects.toMatchObject(refusal(inList));
  expect(await Array.fromAsync(agents.readHistory('t'))).toEqual([]);
});

it('a list without events writes nothing, and a list that is too long is rejected', async () => {
  const append = vi.fn(async () => {});
  const events = createEvents(new StoreContext(), { append } as unknown as EventEngine, 't');
  await events.saveEvents([]);
  expect(append).not.toHaveBeenCalled();
  await events.saveEvents(Array.from({ length: 1_000 }, () => EVENT) as never);
  expect(append).toHaveBeenCalledOnce();
  for (const wrong of [Array.from({ length: 1_001 }, () => EVENT), null, EVENT])
    await expect(events.saveEvents(wrong as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'events',
    });
  expect(append).toHaveBeenCalledOnce();
});

it('a steering event may have no payload', async () => {
  const { agents } = memoryStore();
  const event = { eventId: 'e', sessionId: 's', taskId: 't', eventType: 'PAUSE', source: 'user' } as const;
  await agents.saveSteering({ ...event, createdAt: '2026-02-16T09:30:00.000Z' } as never);
  const [stored] = await agents.listSteering('s');
  expect(Object.keys(stored!)).not.toContain('payload');
});
