/**
 * Short versions of the fault rigs that kill consumers of the log: subscriptions, the projector, a projection's
 * rebuild.
 */
import { describe, expect, it } from 'vitest';
import { startNode } from '../../sqlite/test/programs.ts';

const LIMIT = { timeout: 180_000 };

async function run(name: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await startNode({ script: `faults/${name}.ts` }, ...args).ended;
  expect(code, `faults/${name} ${args.join(' ')} failed:\n${stderr}${stdout}`).toBe(0);
  return stdout;
}

describe('consumers of the log lose nothing when they are killed at a named point (RUN-14)', () => {
  it('a subscription', LIMIT, async () => {
    expect(await run('crash-points', '--what', 'subscription', '--crashes', '2')).toMatch(/2 crashes, .* 0 problems/);
  });

  it('the projector', LIMIT, async () => {
    expect(await run('crash-points', '--what', 'projector', '--crashes', '3')).toMatch(/3 crashes, .* 0 problems/);
  });

  it('the rebuild of a projection', LIMIT, async () => {
    expect(await run('rebuild', '--rounds', '5')).toMatch(/0 problems/);
  });

  it('the erasure of a tenant', LIMIT, async () => {
    expect(await run('erasure', '--crashes', '4')).toMatch(/[4-9] crashes, 0 problems/);
  });

  it('and a tail needs no extra memory for a slow reader', LIMIT, async () => {
    expect(await run('tail-memory', '--events', '15000')).toMatch(/slow reader: \{"events":15000,"inOrder":true/);
  });
});
