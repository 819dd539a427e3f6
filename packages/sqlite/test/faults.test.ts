/** Short versions of the programs in `faults/`. The long ones are run by hand, see faults/README.md. */
import { describe, expect, it } from 'vitest';
import { startNode } from './programs.ts';

/** Much longer than they take, for busy machines. */
const LIMIT = { timeout: 180_000 };

async function run(name: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await startNode({ script: `faults/${name}.ts` }, ...args).ended;
  expect(code, `faults/${name} ${args.join(' ')} failed:\n${stderr}${stdout}`).toBe(0);
  return stdout;
}

describe('the SQLite store keeps acknowledged writes', () => {
  it('when its writer is killed at random moments (F1, GEN-8)', LIMIT, async () => {
    const summary = await run('kill', '--rounds', '5');
    expect(summary).toMatch(/^kill: 5 rounds, [1-9]\d* acked, \d+ unknown, 0 lost, 0 duplicated, 0 problems/);
  });

  it('when the power is cut, where an unsafe setting loses writes (F3, GEN-9)', LIMIT, async (context) => {
    const summary = await run('power-cut', '--cuts', '2');
    if (summary.includes('skipped')) context.skip(summary.trim());
    expect(summary).toMatch(
      /^power-cut: 2 cuts, [1-9]\d* acked, \d+ unknown, 0 lost, 0 problems; control: .*NORMAL lost [1-9]/,
    );
  });

  it('and never returns wrong data for a flipped bit, which verify finds (F5, RUN-17)', LIMIT, async () => {
    const summary = await run('bit-flip', '--flips', '15');
    expect(summary).toMatch(/^bit-flip: 15 in payloads: 15 found; 15 anywhere: .*; 0 problems/);
  });

  it(
    'and never returns a changed record, document or artifact, which a deep check finds (F5, KV-12)',
    LIMIT,
    async () => {
      const summary = await run('damage-flips', '--engine', 'sqlite', '--flips', '12', '--seed', '7');
      expect(summary).toMatch(/^damage-flips: sqlite: 12: .*; 0 problems/);
    },
  );
});
