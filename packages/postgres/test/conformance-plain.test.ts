/**
 * The whole conformance kit on the simplest of the five combinations of `npm test`. The others run a part each, and
 * `npm run test:matrix` runs the whole kit on every combination.
 */
import { PAIRWISE } from './combinations.ts';
import { registerCombination } from './conformance.ts';

registerCombination(PAIRWISE.plain);
