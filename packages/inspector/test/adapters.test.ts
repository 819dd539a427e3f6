/** The data of framework adapters: named by their framework, and readable. */
import { TidemarkSessionStore } from '@tidemark/claude';
import { TidemarkSaver } from '@tidemark/langgraph';
import { TidemarkSession } from '@tidemark/openai-agents';
import { bytesOfWire } from '@tidemark/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formsOf, textIn } from '../src/kv/decoders.ts';
import { expectAccessible } from './accessible.ts';
import { type Rig, startRig } from './browser.ts';
import { watchedPages } from './pages.ts';

let rig: Rig;
const newPage = watchedPages(() => rig);

beforeAll(async () => {
  rig = await startRig();
  const { store } = rig;
  await store.runs.handle('order-1').append('RunStarted');
  const sessions = new TidemarkSessionStore(store);
  const entry = { type: 'user', uuid: 'u-1', message: { content: 'Fix the failing test' } };
  await sessions.append({ projectKey: 'shop', sessionId: 'session-1' }, [entry]);
  await new TidemarkSession(store, { sessionId: 'chat-7' }).addItems([{ role: 'user', content: 'Hello' }]);
  const checkpoint = {
    v: 4,
    id: '1f0-a',
    ts: '2026-01-02T03:04:05.678Z',
    channel_values: { topic: 'tides' },
    channel_versions: { topic: 1 },
    versions_seen: {},
  };
  const thread = { configurable: { thread_id: 'thread-1' } };
  const saver = new TidemarkSaver(store);
  const first = await saver.put(thread, checkpoint, { source: 'loop', step: 0, parents: {} }, { topic: 1 });
  // The value grows, and only what is new is stored.
  const log = Array.from({ length: 200 }, (_, at) => `entry ${at} – done`);
  const grown = { ...checkpoint, channel_versions: { topic: 1, log: 2 } };
  const second = { ...grown, id: '1f0-b', channel_values: { topic: 'tides', log } };
  const third = { ...grown, id: '1f0-c', channel_values: { topic: 'tides', log: [...log, 'the newest entry – done'] } };
  const parent = await saver.put(first, second, { source: 'loop', step: 1, parents: {} }, { log: 2 });
  await saver.put(parent, third, { source: 'loop', step: 2, parents: {} }, { log: 3 });
}, 120_000);
afterAll(() => rig?.stop());

describe('the data of adapters', { timeout: 60_000 }, () => {
  it('is not among the runs, until the reader asks for a framework', async () => {
    const { page, visit } = await newPage();
    await visit('/runs', '.rows [role=row]');
    await page.getByText('1 run', { exact: true }).waitFor();
    expect(await page.locator('.rows [role=row]').innerText()).toContain('order-1');
    await page.getByLabel('Framework that owns the runs').selectOption({ label: 'Claude sessions' });
    await page.getByText('shop / session-1').waitFor();
    expect(page.url()).toContain('owner=claude');
    expect(await page.locator('.rows [role=row]').innerText()).toContain('Claude');
    await expectAccessible(page);
    await page.getByLabel('Framework that owns the runs').selectOption('any');
    await page.getByText('3 runs').waitFor();
    await page.getByText('chat-7').click();
    await page.getByText('OpenAI Agents · chat-7').waitFor();
    await page.getByText('HistoryChanged').first().waitFor();
  });

  it('is grouped by framework among the records', async () => {
    const { page, visit } = await newPage();
    await visit('/kv?prefix=tidemark.', 'text=LangGraph');
    for (const name of ['Claude', 'OpenAI Agents']) await page.getByText(name, { exact: true }).waitFor();
    await expectAccessible(page);
  });

  it('is shown as the values that the adapter stored', async () => {
    const shown: unknown[] = [];
    for await (const { record } of rig.store.kv.scan('tidemark.langgraph.')) {
      for (const value of Object.values(record.fields)) {
        const wire = { base64: Buffer.from(value).toString('base64') };
        if (formsOf(wire)[0] === 'adapter') shown.push(JSON.parse(textIn('adapter', wire)));
      }
    }
    expect(JSON.stringify(shown)).toContain('"tides"');
    expect(JSON.stringify(shown)).toContain('"source":"loop"');
    expect(JSON.stringify(shown)).toContain('entry 17 – done');
    expect(JSON.stringify(shown)).toContain('the newest entry – done');
  });

  it('is nothing that ordinary values look like', () => {
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.alloc(4),
      Buffer.from([0, 0, 0, 1, 0, 9]),
      Buffer.from([0, 0, 0, 1, 7]),
    ]) {
      const wire = { base64: bytes.toString('base64') };
      expect(formsOf(wire)).toEqual(['hex', 'base64']);
      expect(bytesOfWire(wire)).toHaveLength(bytes.length);
    }
  });
});
