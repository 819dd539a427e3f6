/** `history` and `replay` as specified, on Tidemark stores and on custom stores. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tidemark } from './command-line.ts';
import { makeSample, type Sample } from './sample.ts';

const home = process.cwd();
let sample: Sample;
beforeAll(async () => {
  sample = await makeSample();
});
beforeEach(() => process.chdir(sample.directory));
afterEach(() => process.chdir(home));
afterAll(() => sample.remove());

const FETCHED = '"nodeName":"fetch","payload":{"a":2,"b":1},"traceId":"trace-7","ts":1767225600.5}';

describe('history', () => {
  it('prints one JSON object per event, with sorted members', async () => {
    const { stdout, code } = await tidemark('history trace-7');
    expect(code).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toBe(`{"kind":"node_start","nodeId":"n1",${FETCHED}`);
  });

  it('prints nothing on stdout and exits with 0 for an unknown trace', async () => {
    for (const line of ['history nobody', 'replay nobody', 'history nobody --state-store ./stores.js#createStore'])
      expect(await tidemark(line), line).toMatchObject({ code: 0, stdout: '' });
    expect(await tidemark('history nobody', { terminal: true })).toMatchObject({ code: 0, stdout: '' });
  });

  it('shows the last N with --tail', async () => {
    const { stdout } = await tidemark('history trace-7 --tail 1');
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).kind),
    ).toEqual(['node_success']);
  });

  it('prints a table on a terminal', async () => {
    const { stdout } = await tidemark('history trace-7', { terminal: true, env: { NO_COLOR: '1' } });
    expect(stdout).toMatch(/^WHEN +KIND +NODE +PAYLOAD\n/);
  });
});

describe('replay', () => {
  it('prints the same lines on stdout, and notes only on stderr', async () => {
    const { stdout } = await tidemark('history trace-7');
    expect(await tidemark('replay trace-7')).toEqual({
      code: 0,
      stdout,
      stderr: 'Replaying 2 events of trace trace-7.\n',
    });
  });

  it('waits after each event', async () => {
    const began = performance.now();
    await tidemark('replay trace-7 --delay 0.15');
    expect(performance.now() - began).toBeGreaterThan(290);
  });

  it('can be interrupted while it waits', async () => {
    const interrupted = new AbortController();
    const replayed = tidemark('replay trace-7 --delay 60', {
      signal: interrupted.signal,
      onOutput: () => interrupted.abort(),
    });
    expect(await replayed).toMatchObject({ code: 130, stdout: expect.stringMatching(/^[^\n]+\n$/) });
  });
});

describe('--state-store', () => {
  it('accepts snake_case and camelCase stores, #name and :name, sync and async factories', async () => {
    for (const factory of ['./stores.js#createStore', './stores.js:createStore', './stores.js#createPlain']) {
      const { stdout, code } = await tidemark(['history', 'trace-7', '--state-store', factory]);
      expect(code, factory).toBe(0);
      expect(stdout.split('\n')[0], factory).toBe(`{"kind":"node_start","nodeId":null,${FETCHED}`);
    }
  });

  it('names missing required methods', async () => {
    const { code, stderr } = await tidemark('history trace-7 --state-store ./stores.js#createIncomplete');
    expect(code).toBe(2);
    expect(stderr).toContain('lacks saveRemoteBinding (or save_remote_binding)');
    expect(stderr).not.toContain('loadHistory (or');
  });

  it('rejects a missing module or export', async () => {
    for (const factory of ['./nowhere.js#create', './stores.js#nothing', 'no-such-package:create'])
      expect((await tidemark(['history', 'x', '--state-store', factory])).code, factory).toBe(2);
  });
});
