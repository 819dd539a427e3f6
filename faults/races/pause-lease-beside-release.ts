/**
 * Two runtimes claim the same pause with short leases. Each confirms or releases around the end of its lease, and some
 * calls are retried. Only one confirmed claim may resume the pause, and a release must never free another claim.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentStore, isTidemarkError } from '@tidemark/core';
import type { Random } from '../random.ts';
import type { Arena, Race, RoundResult } from './race.ts';

const PAUSES = 6;
const TRIES = 6;
const LEASE_MS = 12;

export const pauseLeaseBesideRelease: Race = {
  summary: 'claims of one pause are confirmed and released around the end of their leases',
  rounds: { short: 5, long: 400 },

  async round({ a, b, random, id }: Arena): Promise<RoundResult> {
    const total: RoundResult = { checks: 0, problems: [] };
    const raceFor = async (token: string) => {
      await a.agents.savePlannerState(token, { of: token });
      const resumed = (await Promise.all([a, b].map(({ agents }) => resume(agents, token, random, total)))).flat();
      if (resumed.length > 1) total.problems.push(`${token} was resumed by ${resumed.join(' and ')}`);
      if (resumed.length === 0) return;
      total.checks++;
      const left = await b.agents.loadPlannerState(token);
      if (Object.keys(left).length > 0) total.problems.push(`${token} was loaded again after it was confirmed`);
      // The successful confirmation stays confirmed and cannot be undone.
      await b.agents.confirmPause(token, resumed[0]!).catch(() => total.problems.push(`${token} was confirmed once`));
      if (await settled(() => a.agents.releasePause(token, resumed[0]!))) total.problems.push(`${token} was freed`);
    };
    await Promise.all(Array.from({ length: PAUSES }, (_, n) => raceFor(`pause-${id}-${n}`)));
    return total;
  },
};

/** Claims until it has resumed the pause or used up its attempts. Returns the claims it has confirmed. */
async function resume(agents: AgentStore, token: string, random: Random, total: RoundResult): Promise<string[]> {
  for (let tries = 0; tries < TRIES; tries++) {
    const claim = await agents.claimPause(token, { lease: LEASE_MS });
    await sleep(random.between(0, 2 * LEASE_MS));
    if (!claim) continue;
    total.checks++;
    const { claimId } = claim;
    if (random.next() < 0.3) {
      if (await settled(() => agents.confirmPause(token, claimId))) return [claimId];
    } else if (await settled(() => agents.releasePause(token, claimId))) {
      // A retried release finds the pause still released, or claimed by another.
      await settled(() => agents.releasePause(token, claimId));
    }
    const state = await agents.peekPause(token);
    if (state?.state === 'claimed' && (await settled(() => agents.confirmPause(token, claimId))))
      total.problems.push(`${token} was confirmed by a claim that had been settled or lost`);
  }
  return [];
}

/** Returns whether a claim was settled, or false if it was lost. */
async function settled(settle: () => Promise<void>): Promise<boolean> {
  try {
    await settle();
    return true;
  } catch (error) {
    if (isTidemarkError(error, 'CLAIM_LOST')) return false;
    throw error;
  }
}
