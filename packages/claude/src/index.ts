/** Sessions of the Claude Agent SDK in a Tidemark store. */

export { TidemarkSessionStore } from './session-store.ts';
