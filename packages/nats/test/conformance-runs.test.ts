/** The conformance kit on one server, for runs and everything that the other files exclude. */
import { registerKit } from './kit.ts';
import { onSharedServer } from './servers.ts';

registerKit('On one server', onSharedServer, (domain) => !['kv', 'artifacts', 'agents'].includes(domain));
