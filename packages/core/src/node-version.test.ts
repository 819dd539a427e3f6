import { describe, expect, it } from 'vitest';
import { nodeVersionProblem } from './node-version.ts';

describe('the Node version check', () => {
  it.each(['20.20.2', '22.12.0', '18.0.0', '23.0.0', '23.4.0'])('refuses Node %s in one line', (version) => {
    expect(nodeVersionProblem(version)).toMatch(
      /^Tidemark needs Node 22\.13 or newer, but not 23\.0 to 23\.4, and this is Node [\d.]+: .*\.$/,
    );
  });

  it.each(['22.13.0', '22.13.1', '23.5.0', '24.0.0', undefined])('accepts %s', (version) => {
    expect(nodeVersionProblem(version)).toBeNull();
  });
});
