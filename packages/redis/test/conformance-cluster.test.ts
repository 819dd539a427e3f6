/** The whole conformance kit on a Redis Cluster of three masters. */
import { startRedisCluster } from '../../../scripts/servers/redis-cluster.ts';
import { registerKit } from './conformance.ts';

registerKit('Redis Cluster of three masters', () => startRedisCluster());
