/**
 * A part of the conformance kit, for setups that differ little from one on which `npm test` runs the whole kit.
 * `npm run test:matrix` runs the whole kit on them.
 */

/** The number of parts. */
const PARTS = 4;

/** Returns one of four parts of the kit. Each has cases of every domain, and together they are the whole kit. */
export function partOfKit<Case>(cases: readonly Case[], part: 0 | 1 | 2 | 3): Case[] {
  return cases.filter((_, at) => at % PARTS === part);
}
