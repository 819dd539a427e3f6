/** The projection that the rebuild rig kills: each version counts in units of its own, so that none passes for another. */
import { defineProjection } from '@tidemark/core';

export function countsOf(version: number) {
  return defineProjection({
    name: 'counts',
    version,
    initial: { events: 0, byRound: {} as Record<string, number> },
    on: {
      Progress(state, event) {
        const round = String(event.payload?.round);
        state.events += version;
        state.byRound[round] = (state.byRound[round] ?? 0) + version;
      },
    },
  });
}
