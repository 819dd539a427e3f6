/** The projection for the tests of inline projections: counts the events of a run and refuses one type. */
import { defineProjection } from '@tidemark/core';

export const INLINE_RUNS = ['a', 'b', 'c'];

export const counts = defineProjection({
  name: 'counts',
  version: 1,
  initial: { events: 0 },
  on: {
    Counted(state) {
      state.events += 1;
    },
    Refused() {
      throw new Error('refused');
    },
  },
});
