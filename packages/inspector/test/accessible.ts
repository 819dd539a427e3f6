/** Checks the accessibility of a page with axe. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

interface AxeResult {
  violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** Fails with the violations that axe finds, each with its element. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<AxeResult> } }).axe.run(),
  );
  const found = violations.map(
    ({ id, help, nodes }) => `${id}: ${help}\n  ${nodes[0]?.html}\n  ${nodes[0]?.failureSummary}`,
  );
  expect(found).toEqual([]);
}
