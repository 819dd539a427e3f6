import { describe, expect, it } from 'vitest';
import { nodeVersionProblem } from './node-version.ts';

describe('the oldest Node', () => {
  it.each(['20.20.2', '22.12.0', '18.0.0'])('says one sentence on Node %s', (version) => {
    expect(nodeVersionProblem(version)).toMatch(/^Tidemark needs Node 22\.13 or newer, and this is Node [\d.]+: .*\.$/);
  });

  it.each(['22.13.0', '22.13.1', '24.0.0', undefined])('has nothing against %s', (version) => {
    expect(nodeVersionProblem(version)).toBeNull();
  });
});
