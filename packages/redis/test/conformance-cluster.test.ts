/** A part of the conformance kit on a Redis Cluster of three masters. `npm run test:matrix` runs all of it. */
import { ALL_CASES } from '@tidemark/conformance';
import { partOfKit } from '../../../scripts/kit-sample.ts';
import { startRedisCluster } from '../../../scripts/servers/redis-cluster.ts';
import { registerKit } from './conformance.ts';

registerKit('Redis Cluster of three masters', () => startRedisCluster(), partOfKit(ALL_CASES, 0));
