/** How many random call sequences the tests of adapters compare with an in-memory implementation. */

/** Few in `npm test`; `npm run test:matrix` sets the variable to 1 000. */
export function sequencesOn(engine: string): number {
  const wanted = process.env.TIDEMARK_TEST_SEQUENCES;
  if (wanted !== undefined) return Number(wanted);
  return engine === 'memory' ? 60 : 15;
}
