/** A part of the conformance kit on one of the five combinations of `npm test`. `npm run test:matrix` runs all of it. */
import { ALL_CASES } from '@tidemark/conformance';
import { partOfKit } from '../../../scripts/kit-sample.ts';
import { PAIRWISE } from './combinations.ts';
import { registerCombination } from './conformance.ts';

registerCombination(PAIRWISE.open, partOfKit(ALL_CASES, 2));
