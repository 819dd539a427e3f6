/** The conformance kit on one server, for agents. */
import { registerKit } from './kit.ts';
import { onSharedServer } from './servers.ts';

registerKit('On one server', onSharedServer, (domain) => domain === 'agents');
