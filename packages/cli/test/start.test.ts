/** `npm start`: serves the embedded store, prints its address and exits cleanly; with --demo the data changes live. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'tidemark';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const RUN = join(import.meta.dirname, '../../../scripts/run.js');
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-start-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Starts the server, passes its address to `use`, then stops it with SIGTERM. */
async function started(args: readonly string[], use: (address: string) => Promise<void>): Promise<number | null> {
  const child = spawn(process.execPath, [RUN, 'start', '--port', '0', ...args], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((done) => child.once('close', (code) => done(code)));
  try {
    let printed = '';
    for await (const text of child.stdout.setEncoding('utf8')) {
      printed += text;
      if (printed.includes('Ctrl-C')) break;
    }
    await use(/Inspector +(\S+)/.exec(printed)![1]!);
  } finally {
    child.kill('SIGTERM');
  }
  return ended;
}

const liveRuns = async (address: string): Promise<number> => {
  const answer = (await (await fetch(`${address}/v1/runs?tenant=acme`)).json()) as { items: { runId: string }[] };
  return answer.items.filter(({ runId }) => runId.startsWith('live-')).length;
};

describe('npm start', { timeout: 90_000 }, () => {
  it('serves the embedded store and exits with 0', async () => {
    const code = await started([], async (address) => {
      expect(await (await fetch(`${address}/v1/info`)).json()).toMatchObject({ backend: 'sqlite' });
    });
    expect(code).toBe(0);
  });

  it('keeps an existing demo store and updates it live', async () => {
    await using store = await open(`sqlite:${directory}/.tidemark/demo.db`);
    await store.runs.handle('kept').append('RunStarted');
    const code = await started(['--demo'], async (address) => {
      while ((await liveRuns(address)) < 2) await new Promise((done) => setTimeout(done, 100));
    });
    expect(code).toBe(0);
    expect(await store.runs.headSeq('kept')).toBe(1);
  });
});
