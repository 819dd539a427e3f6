/** The whole conformance kit on one Redis server. */
import { registerKit } from './conformance.ts';
import { sharedServer } from './servers.ts';

registerKit('Redis on one server', async () => ({ url: sharedServer(), stop: async () => {} }));
