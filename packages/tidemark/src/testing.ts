/** `tidemark/testing`: a store in memory whose clock and random bytes a test can set. */
export { memoryStore, type StoreOptions } from '@tidemark/core';
