/** The conformance kit on one server, for records and artifacts. */
import { registerKit } from './kit.ts';
import { onSharedServer } from './servers.ts';

registerKit('On one server', onSharedServer, (domain) => domain === 'kv' || domain === 'artifacts');
