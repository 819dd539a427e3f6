/** `tidemark/chain`: the hash chain of a run, for programs that verify exports themselves. */
export { leafOf, linkOf, rollOf } from '@tidemark/core';
