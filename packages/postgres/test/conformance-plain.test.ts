/** The whole conformance kit on one of the five combinations that `npm test` covers; `npm run test:matrix` has all. */
import { PAIRWISE } from './combinations.ts';
import { registerCombination } from './conformance.ts';

registerCombination(PAIRWISE.plain);
