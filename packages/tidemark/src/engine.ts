/** `tidemark/engine`: the ports that a backend implements, and the tools that help to. */
export * from '@tidemark/core/engine';
