/** The conformance kit on one server, for runs and everything that the other files exclude. */
import { ALL_CASES } from '@tidemark/conformance';
import { registerKit } from './kit.ts';
import { onSharedServer } from './servers.ts';

const cases = ALL_CASES.filter(({ domain }) => !['kv', 'artifacts', 'agents'].includes(domain));
registerKit('On one server', onSharedServer, cases);
