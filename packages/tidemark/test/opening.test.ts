/** Many processes that open the same empty store at the same moment, on every engine. */
import { describe, expect, it } from 'vitest';
import { runQuietly } from '../../../scripts/processes.ts';
import { neededServers } from '../../../scripts/servers/index.ts';

describe.skipIf(neededServers().length < 4)('eight processes', () => {
  it('all succeed in opening an empty store at once, on every engine', { timeout: 240_000 }, async () => {
    const { code, output } = await runQuietly(process.execPath, ['scripts/run.js', 'faults/opening', '--rounds', '1']);
    expect(code, output).toBe(0);
    expect(output.match(/1 rounds? of 8 processes, 0 problems/g)).toHaveLength(7);
  });
});
