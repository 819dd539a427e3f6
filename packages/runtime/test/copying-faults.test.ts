/** Short versions of the fault rigs that kill copies and retention at named points. */
import { describe, expect, it } from 'vitest';
import { startNode } from '../../sqlite/test/programs.ts';

const LIMIT = { timeout: 180_000 };

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await startNode({ script: 'faults/copying.ts' }, ...args).ended;
  expect(code, `faults/copying ${args.join(' ')} failed:\n${stderr}${stdout}`).toBe(0);
  return stdout;
}

describe('when killed at a named point, nothing is lost or half removed, and the next run finishes (RUN-15)', () => {
  it('a copy', LIMIT, async () => {
    expect(await run('--what', 'copy', '--crashes', '4')).toMatch(/4 crashes, .* 0 problems/);
  });

  it('retention', LIMIT, async () => {
    expect(await run('--what', 'retention', '--crashes', '4')).toMatch(/4 crashes, .* 0 problems/);
  });
});
