/** The budget always leaves some memory for the next tenant, and released memory can be reserved again. */
import { describe, expect, it } from 'vitest';
import { MemoryBudget } from './memory-budget.ts';

const TOTAL = 1_200;

/** Reserves in small steps until refused, and returns the total. */
function fill(budget: MemoryBudget, tenantId: string | null): number {
  const lease = budget.lease(tenantId);
  while (lease.mayGrow(1)) lease.grow(1);
  return budget.usedBy(tenantId);
}

describe('a memory budget', () => {
  it('limits a single tenant to half, and leaves some for the next', () => {
    const budget = new MemoryBudget(TOTAL);
    const held = ['a', 'b', 'c', null].map((tenant) => fill(budget, tenant));
    expect(held).toEqual([600, 300, 150, 75]);
    expect(budget.usedBytes).toBe(1_125);
  });

  it('shares equally among tenants that all want everything', () => {
    const budget = new MemoryBudget(TOTAL);
    const leases = ['a', 'b', 'c'].map((tenant) => budget.lease(tenant));
    while (leases.some((lease) => lease.mayGrow(1))) for (const it of leases) if (it.mayGrow(1)) it.grow(1);
    expect(['a', 'b', 'c'].map((tenant) => budget.usedBy(tenant))).toEqual([300, 300, 300]);
  });

  it('rejects with 503 if it may fit later, and with 413 if it never fits', () => {
    const budget = new MemoryBudget(TOTAL);
    const first = budget.lease('a');
    first.grow(500);
    expect(() => budget.lease('a').grow(200)).toThrow(expect.objectContaining({ status: 503 }));
    expect(() => budget.lease('b').grow(601)).toThrow(expect.objectContaining({ status: 413 }));
    expect(() => first.grow(101)).toThrow(expect.objectContaining({ status: 413 }));
    expect(budget.refusals).toBe(3);
    first.release();
    budget.lease('a').grow(600);
  });

  it('counts nothing twice, even if leases are released several times', () => {
    const budget = new MemoryBudget(TOTAL);
    const lease = budget.lease('a');
    lease.grow(300);
    lease.shrink(100);
    expect(budget.usedBytes).toBe(200);
    lease.shrink(1_000);
    lease.release();
    lease.release();
    lease.grow(300);
    expect(budget.usedBytes).toBe(0);
    expect(budget.usedBy('a')).toBe(0);
  });
});
