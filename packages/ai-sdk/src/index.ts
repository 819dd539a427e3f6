/** Resumable streams for the AI SDK in a Tidemark store. */

export {
  createResumableStreamContext,
  type TidemarkStreamContext,
  type TidemarkStreamContextOptions,
} from './context.ts';
