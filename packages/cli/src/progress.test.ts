/** Progress prints nothing for short operations, a bar on a terminal, and otherwise a line every ten seconds. */
import { describe, expect, it } from 'vitest';
import type { Io } from './io.ts';
import { startProgress } from './progress.ts';

function watched(isTerminal: boolean) {
  const printed = { stderr: '' };
  let time = 0;
  const sink = {
    ...{ isTerminal, columns: 80 },
    async write(chunk: string | Uint8Array) {
      printed.stderr += chunk;
    },
  };
  const progress = startProgress({ stderr: sink } as unknown as Io, 'copying', () => time);
  const pass = (ms: number) => {
    time += ms;
  };
  return { printed, progress, pass };
}

describe('progress', () => {
  it('shows nothing in the first 300 ms', () => {
    const { printed, progress, pass } = watched(true);
    pass(299);
    progress.to(1, 2);
    progress.end();
    expect(printed.stderr).toBe('');
  });

  it('draws a bar on a terminal and clears it at the end', () => {
    const { printed, progress, pass } = watched(true);
    pass(301);
    progress.to(5, 10);
    expect(printed.stderr).toContain(`[${'#'.repeat(12)}${'·'.repeat(12)}] 5 of 10`);
    progress.end();
    expect(printed.stderr.endsWith('\r\u001b[K')).toBe(true);
  });

  it('redraws at most ten times a second', () => {
    const { printed, progress, pass } = watched(true);
    pass(301);
    for (let done = 0; done < 100; done++, pass(1)) progress.to(done, 100);
    expect(printed.stderr.match(/\r/g)!.length).toBeLessThanOrEqual(2);
  });

  it('prints a plain line every ten seconds without a terminal', () => {
    const { printed, progress, pass } = watched(false);
    pass(9_999);
    progress.to(1, 3);
    expect(printed.stderr).toBe('');
    pass(2);
    progress.to(2, 3);
    progress.end();
    expect(printed.stderr).toBe('copying: 2 of 3\n');
  });
});
