/** A real graph: interrupt and resume, time travel, subgraphs, and processes that are killed between steps. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { openTarget } from '../../../scripts/adapters/targets.ts';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { TidemarkSaver } from '../src/index.ts';
import { buildGraph, resumeWith, WHOLE_LOG } from './graph.ts';

for (const [engine, openStore] of Object.entries(ENGINES)) {
  describe(`a graph on ${engine}`, () => {
    let store: Store;
    beforeAll(async () => {
      store = await openStore();
    });
    afterAll(() => store?.close());

    it('stops at an interrupt and continues in another process, from another saver', async () => {
      const config = { configurable: { thread_id: 'interrupt' } };
      await buildGraph(new TidemarkSaver(store)).invoke({ log: [] }, config);
      const state = await buildGraph(new TidemarkSaver(store)).getState(config);
      expect(state.next).toEqual(['ask']);
      expect(state.tasks[0]!.interrupts[0]!.value).toBe('May I?');
      const result = await buildGraph(new TidemarkSaver(store)).invoke(resumeWith('yes'), config);
      expect(result.log).toEqual(WHOLE_LOG);
    });

    it('returns to an earlier checkpoint and takes another branch', async () => {
      const config = { configurable: { thread_id: 'travel' } };
      const graph = buildGraph(new TidemarkSaver(store));
      await graph.invoke({ log: [] }, config);
      const waiting = await graph.getState(config);
      await graph.invoke(resumeWith('yes'), config);
      const fork = await graph.updateState(waiting.config, { log: ['changed'] }, 'research');
      await graph.invoke(null, fork);
      const other = await graph.invoke(resumeWith('no'), config);
      expect(other.log).toEqual(['planned', 'looked', 'thought', 'changed', 'refused', 'acted']);
      const logs = (await Array.fromAsync(graph.getStateHistory(config))).map(
        ({ values }) => values.log?.join(' ') ?? '',
      );
      expect(logs.filter((log) => log.endsWith('approved acted'))).toHaveLength(1);
      expect(logs.filter((log) => log.endsWith('refused acted'))).toHaveLength(1);
    });
  });
}

const SERVERS = (['postgres', 'redis'] as const).filter((engine) => offeredUrl(engine) !== undefined);
/** Every step on SQLite; on servers one within the subgraph and one after the interrupt. */
const KILLS = [
  ...['plan', 'look', 'think', 'ask', 'act'].map((step) => [step, 'sqlite'] as const),
  ...SERVERS.flatMap((engine) => [['think', engine] as const, ['act', engine] as const]),
];

describe('a process that is killed', () => {
  it.each(KILLS)('at the step %s on %s continues where it was', { timeout: 120_000 }, async (step, engine) => {
    const directory = mkdtempSync(join(tmpdir(), 'tidemark-graph-'));
    const name = `graph_${crypto.randomUUID().slice(0, 8)}`;
    const target = `${engine}:${engine === 'sqlite' ? join(directory, 'state.db') : name}`;
    const steps = join(directory, 'steps.txt');
    writeFileSync(steps, '');
    const run = (killAt: string) =>
      spawnSync(
        process.execPath,
        [...process.execArgv, join(import.meta.dirname, 'graph-child.ts'), target, steps, killAt],
        {
          encoding: 'utf8',
        },
      );
    let isKilled = false;
    // Two calls of the graph, one before and one after the interrupt, and one more for the kill.
    for (let call = 0; call < 3; call++) {
      const { signal, status, stderr } = run(isKilled ? '' : step);
      if (signal === 'SIGKILL') isKilled = true;
      else expect(stderr + status).toBe('0');
    }
    expect(isKilled).toBe(true);
    const store = await openTarget(target);
    const state = await buildGraph(new TidemarkSaver(store)).getState({ configurable: { thread_id: 'killed' } });
    await store.close();
    expect(state.values.log).toEqual(WHOLE_LOG);
    expect(state.next).toEqual([]);
    // Only the step that was killed ran again, also within the subgraph.
    const ran = readFileSync(steps, 'utf8').trim().split('\n');
    const repeated = ran.length - new Set(ran).size;
    expect(repeated).toBe(1);
  });
});
