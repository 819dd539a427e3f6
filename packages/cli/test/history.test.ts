/** `history` and `replay` as the specification has them, on our stores and on anybody's. */
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
  it('prints one JSON object per event, members in order', async () => {
    const { stdout, code } = await tidemark('history trace-7');
    expect(code).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toBe(`{"kind":"node_start","nodeId":"n1",${FETCHED}`);
  });

  it('of an unknown trace exits 0 with nothing on stdout', async () => {
    for (const line of ['history nobody', 'replay nobody', 'history nobody --state-store ./stores.js#createStore'])
      expect(await tidemark(line), line).toMatchObject({ code: 0, stdout: '' });
    expect(await tidemark('history nobody', { terminal: true })).toMatchObject({ code: 0, stdout: '' });
  });

  it('takes the last N with --tail', async () => {
    const { stdout } = await tidemark('history trace-7 --tail 1');
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).kind),
    ).toEqual(['node_success']);
  });

  it('is a table on a terminal', async () => {
    const { stdout } = await tidemark('history trace-7', { terminal: true, env: { NO_COLOR: '1' } });
    expect(stdout).toMatch(/^WHEN +KIND +NODE +PAYLOAD\n/);
  });
});

describe('replay', () => {
  it('prints the same lines on stdout, and comments on stderr only', async () => {
    const { stdout } = await tidemark('history trace-7');
    expect(await tidemark('replay trace-7')).toEqual({
      code: 0,
      stdout,
      stderr: 'Replaying 2 events of trace trace-7.\n',
    });
  });

  it('pauses after each event', async () => {
    const began = performance.now();
    await tidemark('replay trace-7 --delay 0.15');
    expect(performance.now() - began).toBeGreaterThan(290);
  });

  it('can be interrupted in a pause', async () => {
    const interrupted = new AbortController();
    const replayed = tidemark('replay trace-7 --delay 60', {
      signal: interrupted.signal,
      onOutput: () => interrupted.abort(),
    });
    expect(await replayed).toMatchObject({ code: 130, stdout: expect.stringMatching(/^[^\n]+\n$/) });
  });
});

describe('--state-store', () => {
  it('takes snake_case and camelCase stores, #name and :name, sync and async factories', async () => {
    for (const factory of ['./stores.js#createStore', './stores.js:createStore', './stores.js#createPlain']) {
      const { stdout, code } = await tidemark(['history', 'trace-7', '--state-store', factory]);
      expect(code, factory).toBe(0);
      expect(stdout.split('\n')[0], factory).toBe(`{"kind":"node_start","nodeId":null,${FETCHED}`);
    }
  });

  it('names the required methods that are missing', async () => {
    const { code, stderr } = await tidemark('history trace-7 --state-store ./stores.js#createIncomplete');
    expect(code).toBe(2);
    expect(stderr).toContain('lacks saveRemoteBinding (or save_remote_binding)');
    expect(stderr).not.toContain('loadHistory (or');
  });

  it('says what is wrong with a module or name that is not there', async () => {
    for (const factory of ['./nowhere.js#create', './stores.js#nothing', 'no-such-package:create'])
      expect((await tidemark(['history', 'x', '--state-store', factory])).code, factory).toBe(2);
  });
});
