/** A part of the conformance kit through client and server, on PostgreSQL. `npm run test:matrix` runs all of it. */
import { ALL_CASES } from '@tidemark/conformance';
import { describe } from 'vitest';
import { partOfKit } from '../../../scripts/kit-sample.ts';
import { sharedServer, WITHOUT_POSTGRES } from '../../postgres/test/databases.ts';
import { registerKit } from './kit.ts';
import { onPostgres } from './kit-parts.ts';

describe.skipIf(WITHOUT_POSTGRES)('With PostgreSQL', () => {
  registerKit('Over HTTP on PostgreSQL', () => onPostgres(sharedServer()), partOfKit(ALL_CASES, 2));
});
