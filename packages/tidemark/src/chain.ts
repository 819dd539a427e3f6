/** `tidemark/chain`: the hashes that connect the events of a run, for programs that verify exports themselves. */
export { leafOf, linkOf, rollOf } from '@tidemark/core';
