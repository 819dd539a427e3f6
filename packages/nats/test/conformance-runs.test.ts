/** The conformance kit on one server, for runs and all that the files beside this one leave out. */
import { registerKit } from './kit.ts';
import { onSharedServer } from './servers.ts';

registerKit('On one server', onSharedServer, (domain) => !['kv', 'artifacts', 'agents'].includes(domain));
