/** Destructive commands ask for confirmation, or need --yes without a terminal. A wrong answer changes nothing. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tidemark } from './command-line.ts';
import { makeSample, type Sample } from './sample.ts';

const home = process.cwd();
let sample: Sample;
beforeAll(async () => {
  sample = await makeSample();
});
beforeEach(() => process.chdir(sample.copy()));
afterEach(() => process.chdir(home));
afterAll(() => sample.remove());

const eventsLeft = async () =>
  (await tidemark('runs events order-42')).stdout.trim().split('\n').filter(Boolean).length;

describe('a destructive command', () => {
  it('runs when the user types the name', async () => {
    const ended = await tidemark('runs delete order-42', { terminal: true, input: 'order-42\n' });
    expect(ended.stderr).toContain('This will delete the run order-42 with its 3 events.\nType order-42 to continue: ');
    expect(ended.code).toBe(0);
    expect(await eventsLeft()).toBe(0);
  });

  it('stops at any other answer', async () => {
    for (const input of ['y\n', 'yes\n', '\n', 'order-4\n', '']) {
      const { code, stderr } = await tidemark('runs delete order-42', { terminal: true, input });
      expect(code, input).toBe(130);
      expect(stderr).toContain('nothing was changed');
    }
    expect(await eventsLeft()).toBe(3);
  });

  it('stops when interrupted at the question', async () => {
    const interrupted = new AbortController();
    const typed = { terminal: true, input: 'never', signal: interrupted.signal };
    const ended = tidemark('runs delete order-42', { ...typed, onQuestion: () => interrupted.abort() });
    expect(await ended).toMatchObject({ code: 130, stdout: '' });
    expect(await tidemark('runs delete order-42', typed), 'before the question').toMatchObject({ code: 130 });
    expect(await eventsLeft()).toBe(3);
  });

  it('names --yes and exits with 2 without a terminal', async () => {
    const { code, stderr } = await tidemark('runs delete order-42', { input: 'order-42\n' });
    expect(code).toBe(2);
    expect(stderr).toContain('--yes');
    expect(await eventsLeft()).toBe(3);
  });

  it('does not ask with --yes', async () => {
    expect(await tidemark('runs delete order-42 --yes')).toMatchObject({ code: 0, stderr: '' });
    expect(await eventsLeft()).toBe(0);
  });
});

describe('a pause', () => {
  it('is not consumed by list and peek, and its token is never printed', async () => {
    for (const line of ['pauses list', 'pauses peek', 'pauses consume --dry-run']) {
      const { stdout, stderr } = await tidemark(line, { env: { TIDEMARK_PAUSE_TOKEN: 'token-1' } });
      expect(stdout + stderr, line).not.toContain('token-1');
    }
    const { stdout } = await tidemark('pauses consume --yes', { env: { TIDEMARK_PAUSE_TOKEN: 'token-1' } });
    expect(JSON.parse(stdout)).toEqual({ reason: 'approve the refund' });
    expect((await tidemark('pauses consume --yes', { input: 'token-1\n' })).code).toBe(3);
  });
});
