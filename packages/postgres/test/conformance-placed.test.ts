/**
 * A part of the conformance kit on a store whose tenants are placed on two servers. `npm run test:matrix` runs all of it
 * on two and on four.
 */
import { ALL_CASES } from '@tidemark/conformance';
import { partOfKit } from '../../../scripts/kit-sample.ts';
import { registerKit } from './conformance.ts';
import { startPlaced } from './placed.ts';

registerKit('Tenants on two servers', () => startPlaced(2), partOfKit(ALL_CASES, 0));
