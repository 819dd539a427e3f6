/** The projection of the rebuild rig. Each version counts in its own units, so that states cannot be confused. */
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
