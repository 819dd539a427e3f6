/** The conformance kit on one server, for records and artifacts. */
import { ALL_CASES } from '@tidemark/conformance';
import { registerKit } from './kit.ts';
import { onSharedServer } from './servers.ts';

const cases = ALL_CASES.filter(({ domain }) => domain === 'kv' || domain === 'artifacts');
registerKit('On one server', onSharedServer, cases);
