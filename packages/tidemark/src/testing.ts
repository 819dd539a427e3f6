/** `tidemark/testing`: an in-memory store whose clock and random bytes a test can set. */
export { memoryStore, type StoreOptions } from '@tidemark/core';
