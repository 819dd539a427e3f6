/** A tree that is updated step by step has the same root as a tree that is built at once. */
import { expect, it } from 'vitest';
import type { RunPoint } from './format.ts';
import { PointTree } from './point-tree.ts';

function pointOf(n: number, lastEventSeq: number): RunPoint {
  // The order of the ids differs from the order of the numbers.
  const runId = `run-${(n * 7_919) % 1_009}-é`;
  return { tenantId: `tenant-${n % 3}`, runId, life: 1, lastEventSeq, head: '0'.repeat(64), at: '2026-01-01' };
}

function builtAtOnce(points: Iterable<RunPoint>): string {
  const tree = new PointTree();
  tree.set(points);
  return tree.root;
}

it('has the root of all its points after every step', () => {
  const tree = new PointTree();
  const points = new Map<number, RunPoint>();
  expect(tree.root).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  let next = 1;
  const random = (below: number) => {
    next = (next * 48_271) % 2_147_483_647;
    return next % below;
  };
  for (let step = 1; step <= 150; step++) {
    const changed = new Map<number, RunPoint>();
    for (let count = random(6); count > 0; count--) {
      const n = random(2) === 0 ? points.size + count : random(points.size + 1);
      changed.set(n, pointOf(n, step));
    }
    for (const [n, point] of changed) points.set(n, point);
    tree.set(changed.values());
    expect(tree.size).toBe(points.size);
    expect(tree.root, `after step ${step}`).toBe(builtAtOnce(points.values()));
  }
  expect(points.size).toBeGreaterThan(100);
});
