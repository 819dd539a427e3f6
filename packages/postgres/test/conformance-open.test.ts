/** The whole conformance kit on one of the five combinations of `npm test`. `npm run test:matrix` runs all. */
import { PAIRWISE } from './combinations.ts';
import { registerCombination } from './conformance.ts';

registerCombination(PAIRWISE.open);
