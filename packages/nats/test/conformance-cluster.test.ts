/**
 * A part of the conformance kit on a cluster of three servers, every stream with three replicas. `npm run test:matrix`
 * runs all of it.
 */
import { ALL_CASES } from '@tidemark/conformance';
import { partOfKit } from '../../../scripts/kit-sample.ts';
import { registerKit } from './kit.ts';
import { onOwnCluster } from './servers.ts';

registerKit('On a cluster of three', () => onOwnCluster('installed'), partOfKit(ALL_CASES, 1));
