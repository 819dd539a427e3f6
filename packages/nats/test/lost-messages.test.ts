/**
 * A server that starts with a damaged block drops the rest of the stream and continues after the last intact sequence.
 * The files are damaged as `faults/damage-flips.ts` does.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type DamagedEngine, damagedEngine } from '../../../faults/damage-engines.ts';
import { askServer, WITHOUT_NATS } from './servers.ts';
import { newStreams, openLink, openStore } from './stores.ts';

const LOST = 'lost messages';

/** Returns the doctor's finding about lost messages. */
async function lostIn(store: Store) {
  const { findings } = await store.doctor({ deep: true, timeoutMs: 60_000 });
  return findings.find(({ check }) => check === LOST)!;
}

/** Fills a store with something in each stream. */
async function fillStreams(store: Store): Promise<void> {
  for (let n = 0; n < 20; n++) {
    await store.runs.handle(`run-${n % 3}`).append('Progress', { n });
    await store.kv.put(`k.${n}`, { text: `value ${n}` });
    await store.agents.saveUpdate({
      ...{ sessionId: 's', taskId: 't', updateId: `u${n}`, updateType: 'PROGRESS', content: { n } },
      createdAt: '2026-02-16T09:30:00.000Z',
    });
    await store.artifacts.putBytes(Buffer.alloc(2_000, n), { filename: `${n}.bin`, ttl: null });
  }
}

async function filled(): Promise<DamagedEngine> {
  const engine = await damagedEngine('nats');
  onTestFinished(() => engine.remove());
  const store = await engine.open();
  await fillStreams(store);
  await store.close();
  await engine.settle('newest');
  return engine;
}

/**
 * Flips a bit of a stream's only block, `share` of the way through it. Without its index, the server reads the block
 * when it starts, as it does after a crash.
 */
function flip(engine: DamagedEngine, stream: string, share: number): void {
  const { path } = engine.targets().find((target) => target.path.includes(`/${stream}/msgs/`))!;
  const folder = dirname(path);
  for (const file of readdirSync(folder)) if (!file.endsWith('.blk')) rmSync(join(folder, file));
  const bytes = readFileSync(path);
  bytes[Math.floor(bytes.length * share)]! ^= 4;
  writeFileSync(path, bytes);
}

describe.skipIf(WITHOUT_NATS)('messages that a server dropped at the end of a stream', () => {
  it('are found by the doctor in every stream', { timeout: 240_000 }, async () => {
    const engine = await filled();
    await engine.restore();
    const whole = await engine.reopen();
    expect(await lostIn(whole)).toMatchObject({ status: 'ok' });
    await whole.close();
    for (const kind of ['runs', 'journals', 'records', 'bytes']) {
      for (const share of [0.02, 0.98]) {
        await engine.restore();
        flip(engine, `tidemark-${kind}`, share);
        const store = await engine.reopen();
        const message = expect.stringContaining(`tidemark-${kind}`);
        expect(await lostIn(store), `${kind} at ${share}`).toMatchObject({ status: 'fail', message });
        await store.close();
      }
    }
  });

  it('are found after others have taken their sequences', { timeout: 120_000 }, async () => {
    const engine = await filled();
    await engine.restore();
    flip(engine, 'tidemark-runs', 0.5);
    const store = await engine.reopen();
    for (let n = 0; n < 40; n++) await store.runs.handle('another').append('Progress', { n });
    const message = expect.stringMatching(/tidemark-runs lost its last messages: it had reached 20 and was at 1\d/);
    expect(await lostIn(store)).toMatchObject({ status: 'fail', message });
    // Closing keeps no later end, which would hide the loss.
    await store.close();
    const later = await engine.open();
    expect(await lostIn(later)).toMatchObject({ status: 'fail', message });
    await later.close();
  });
});

describe.skipIf(WITHOUT_NATS)('the end that is kept of a stream', () => {
  it('is not missed when its message was removed, and is kept by each of two processes', async () => {
    const streams = newStreams();
    for (const runId of ['first', 'second', 'first']) {
      const store = await openStore(streams);
      await store.runs.handle(runId).append('Progress', {});
      await store.kv.put('k', { runId });
      await store.close();
    }
    const store = await openStore(streams);
    expect(await lostIn(store)).toMatchObject({ status: 'ok' });
    await store.runs.deleteRun('first');
    await store.kv.delete('k');
    expect(await lostIn(store)).toMatchObject({ status: 'ok' });
  });

  it('is accepted as lost when it is removed as the doctor says', async () => {
    const streams = newStreams();
    const first = await openStore(streams);
    await fillStreams(first);
    await first.close();
    const { url, prefix } = streams;
    // The recorded end names a message that does not exist, as after a loss.
    const other = `${prefix}.bytes.ends.records`;
    await askServer(url, `STREAM.PURGE.${prefix}-bytes`, { filter: other });
    await (await openLink(url)).ask(other, '9999 lost.1', {});
    const store = await openStore(streams);
    const found = await lostIn(store);
    expect(found).toMatchObject({ status: 'fail', message: expect.stringContaining('it had reached 9999') });
    const [, ...purges] = found.fix!.split('nats stream purge ');
    for (const purge of purges) {
      const [, stream, filter] = /^(\S+) --subject '([^']+)'/.exec(purge)!;
      await askServer(url, `STREAM.PURGE.${stream}`, { filter });
    }
    expect(await lostIn(store)).toMatchObject({ status: 'ok' });
  });
});
