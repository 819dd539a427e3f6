/** Sessions of the OpenAI Agents SDK in a Tidemark store. */

export { TidemarkSession, type TidemarkSessionOptions } from './session.ts';
