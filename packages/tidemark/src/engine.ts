/** `tidemark/engine`: the interfaces that a backend implements, and tools to implement them. */
export * from '@tidemark/core/engine';
