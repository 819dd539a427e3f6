/** A short version of the fault rig that kills archivers and restores. */
import { expect, it } from 'vitest';
import { startNode } from '../../sqlite/test/programs.ts';

it('no run is lost or incomplete after an archiver or a restore is killed (RUN-15)', {
  timeout: 180_000,
}, async () => {
  const { code, stdout, stderr } = await startNode({ script: 'faults/keeping.ts' }, '--crashes', '4').ended;
  expect(code, `faults/keeping failed:\n${stderr}${stdout}`).toBe(0);
  expect(stdout).toMatch(/4 crashes, .* 0 problems/);
});
